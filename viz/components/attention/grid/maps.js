// @ts-check
// All maps of an attention as the grid shows them: one byte per pixel, from the map's lowest to its highest value.

import { CLOSED, TOP } from "./pixels.js";

/**
 * @typedef {object} Maps
 * @property {[rows: number, columns: number]} size of a map, in pixels
 * @property {Uint8Array} levels
 * @property {ArrayLike<number>} low
 * @property {ArrayLike<number>} high
 * @property {ArrayLike<number>} strongest_query
 * @property {ArrayLike<number>} strongest_key
 * @property {boolean} isClosed whether any cell is closed
 * @property {boolean} isPooled whether Python pooled them from weights between tokens: a pixel may show several cells
 */

/**
 * The maps of all heads of a sheet; null while numbers are missing.
 * @param {import("../sheet.js").Sheet} sheet
 * @param {import("../choice.js").Measure} measure
 * @returns {Maps | null}
 */
export function mapsOf(sheet, measure) {
  const { attn, run } = sheet;
  const mayBePooled = run.pooledSide > 0 && !run.hasAll(attn);
  const arePooledEnough = mayBePooled && measure === "weights" && sheet.isPlain;
  if (!run.whole || arePooledEnough) return pooled(run, attn);
  if (!run.array(`weights:${attn.name}`, "values")) return null;
  const hasScores = measure === "scores" || measure === "masked";
  if (hasScores && !run.array(`scores:${attn.name}`, "values")) return null;
  const count = attn.layers * attn.heads;
  /** @type {[number, number]} */
  const size = [sheet.queries.length, sheet.keys.length];
  const cells = size[0] * size[1];
  const levels = new Uint8Array(count * cells);
  const [low, high] = [new Float32Array(count), new Float32Array(count)];
  const [strongest_query, strongest_key] = [new Int32Array(count), new Int32Array(count)];
  for (let map = 0; map < count; map++) {
    const layer = Math.floor(map / attn.heads);
    const values = sheet.values(measure, layer, map % attn.heads);
    if (!values) return null;
    const found = quantise(values, sheet.closed(layer), levels.subarray(map * cells, (map + 1) * cells));
    [low[map], high[map]] = [found.low, found.high];
    strongest_query[map] = found.strongest < 0 ? -1 : Math.floor(found.strongest / size[1]);
    strongest_key[map] = found.strongest < 0 ? -1 : found.strongest % size[1];
  }
  const isClosed = levels.includes(CLOSED);
  return { size, levels, low, high, strongest_query, strongest_key, isClosed, isPooled: false };
}

/**
 * Maps pooled by Python, which pools weights between tokens only.
 * @param {import("../run.js").ViewerRun} run
 * @param {import("../run.js").AttentionView} attn
 * @returns {Maps | null}
 */
function pooled(run, attn) {
  const piece = `pooled:${attn.name}`;
  const levels = run.array(piece, "levels");
  if (!levels) return null;
  const side = (/** @type {number} */ length) => Math.min(length, run.pooledSide);
  const [rows, columns] = run.size(attn).map(side);
  const [low, high] = [run.array(piece, "low"), run.array(piece, "high")];
  return {
    size: [rows, columns],
    levels,
    low,
    high,
    strongest_query: run.array(piece, "strongest_query"),
    strongest_key: run.array(piece, "strongest_key"),
    isClosed: levels.includes(CLOSED),
    isPooled: true,
  };
}

/**
 * Write each cell's level; return the lowest and highest value and the strongest cell.
 * @param {Float32Array} values
 * @param {Uint8Array} closed
 * @param {Uint8Array} levels
 */
function quantise(values, closed, levels) {
  let [low, high, strongest] = [Infinity, -Infinity, -1];
  for (let cell = 0; cell < values.length; cell++) {
    const value = values[cell];
    if (closed[cell] || !Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) [high, strongest] = [value, cell];
  }
  const span = high - low || 1;
  for (let cell = 0; cell < values.length; cell++) {
    const value = values[cell];
    const open = !closed[cell] && Number.isFinite(value);
    levels[cell] = open ? Math.round(((value - low) / span) * TOP) : CLOSED;
  }
  return strongest < 0 ? { low: NaN, high: NaN, strongest } : { low, high, strongest };
}
