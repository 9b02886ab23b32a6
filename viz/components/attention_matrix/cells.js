// @ts-check
// The cells of a matrix: their values, why they are closed, their colours. No layout in here.

import { pixel, ramp, shade, stopsOf } from "../shared/color.js";
import { clamp } from "../shared/numbers.js";

/**
 * What the cells are made of; `values` are exact, `levels` go from `low` to `high`.
 * @typedef {object} CellFields
 * @property {import("../shared/color.js").Colors} colors
 * @property {"weights" | "scores"} kind
 * @property {string[]} queries
 * @property {string[]} keys
 * @property {[number, number] | null} range
 * @property {string[]} reasons
 * @property {Uint32Array} run_starts
 * @property {Uint8Array} run_reasons
 * @property {Float32Array} [values]
 * @property {Uint16Array} [levels]
 * @property {number} [low]
 * @property {number} [high]
 * @property {number} [top]
 */
/** @typedef {[from: number, to: number, reason: number]} Run of closed cells in a row, its end excluded */

export class MatrixCells {
  /** @param {CellFields} data */
  constructor(data) {
    this.data = data;
    this.queries = data.queries.length;
    this.keys = data.keys.length;
    this.values = data.values ?? restored(data);
    this.closed = readClosed(data, this.values.length);
    this.range = data.range ?? this.measuredRange();
    this.ramp = ramp(stopsOf(data));
  }

  /**
   * What the open cells span. Weights begin at 0; scores reach equally far to both sides of it.
   * @returns {[number, number]}
   */
  measuredRange() {
    let [low, high] = [Infinity, -Infinity];
    for (const [i, value] of this.values.entries()) {
      if (this.closed[i] || !Number.isFinite(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    if (low > high) return [0, 1];
    const reach = Math.max(Math.abs(low), Math.abs(high)) || 1;
    return this.data.kind === "scores" ? [-reach, reach] : [Math.min(0, low), high > 0 ? high : 1];
  }

  /** The runs of closed cells in a row. @param {number} query */
  runs(query) {
    const row = this.closed.subarray(query * this.keys, (query + 1) * this.keys);
    /** @type {Run[]} */
    const runs = [];
    for (let from = 0, to = 0; from < this.keys; from = to) {
      while (to < this.keys && row[to] === row[from]) to++;
      if (row[from]) runs.push([from, to, row[from]]);
    }
    return runs;
  }

  /** @param {number} query @param {number} key */
  at(query, key) {
    return this.values[query * this.keys + key];
  }

  /**
   * Why a cell is closed; empty for an open one.
   * @param {number} query
   * @param {number} key
   */
  reason(query, key) {
    const number = this.closed[query * this.keys + key];
    return number ? this.data.reasons[number - 1] : "";
  }

  /** Where a value lies on the scale, from 0 to 1. @param {number} value */
  share(value) {
    const [low, high] = this.range;
    return clamp((value - low) / (high - low || 1), 0, 1);
  }

  /** @param {number} value */
  color(value) {
    return this.ramp[shade(this.share(value))];
  }

  /** One pixel per cell; closed cells stay transparent, so that the stripes below them show. */
  pixels() {
    const packed = this.ramp.map(pixel);
    const pixels = new Uint32Array(this.values.length);
    for (const [i, value] of this.values.entries()) {
      if (!this.closed[i]) pixels[i] = packed[shade(this.share(value))];
    }
    return pixels;
  }
}

/**
 * More than 128 tokens come as 16-bit levels from low to high; the level above the top is minus infinity.
 * @param {CellFields} data
 */
function restored({ levels = new Uint16Array(), low = 0, high = 0, top = 1 }) {
  return Float32Array.from(levels, (level) => (level > top ? -Infinity : low + (level / top) * (high - low)));
}

/**
 * Closed cells come as runs: where each begins, and the number of its reason (0 is open).
 * @param {CellFields} data
 * @param {number} length
 */
function readClosed({ run_starts, run_reasons }, length) {
  const closed = new Uint8Array(length);
  for (const [i, start] of run_starts.entries()) closed.fill(run_reasons[i], start, run_starts[i + 1]);
  return closed;
}
