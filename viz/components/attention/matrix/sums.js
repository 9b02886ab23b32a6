// @ts-check
// The sums of a matrix's columns and rows, as bars along its edges.

import { clipped, fillBox, write } from "../../shared/canvas.js";
import { stopsOf } from "../../shared/color.js";
import { fixed, format } from "../../shared/numbers.js";
import { SMALL, TITLE_GAPS } from "./layout.js";

/** @typedef {import("./paint.js").Scene} Scene */

/**
 * @typedef {object} Sums
 * @property {Float64Array} columns
 * @property {Float64Array} rows
 * @property {number} reach the value of the longest column bar, in this matrix and its neighbours
 * @property {boolean} hasRows whether row sums are shown, because they are not all 1
 * @property {string} title the name of a column's sum
 */

export const BELOW = 46;
export const BESIDE = 76;
const BAR = 24;
const NUMBER = 16;
/** Tolerance for a row of weights to sum to 1. */
const ROUNDING = 1e-3;

/**
 * Sum the open numbers of each column and row.
 * @param {Float32Array} values
 * @param {Uint8Array} closed
 * @param {number} n_columns
 */
export function sumsOf(values, closed, n_columns) {
  const columns = new Float64Array(n_columns);
  const rows = new Float64Array(values.length / n_columns);
  for (let row = 0, at = 0; row < rows.length; row++) {
    for (let column = 0; column < n_columns; column++, at++) {
      if (closed[at] || !Number.isFinite(values[at])) continue;
      columns[column] += values[at];
      rows[row] += values[at];
    }
  }
  return { columns, rows };
}

/** Whether every non-empty row sums to 1, so that the sums show nothing. @param {Float64Array} rows */
export const areOne = (rows) => rows.every((total) => total === 0 || Math.abs(total - 1) < ROUNDING);

/** @param {Scene} scene */
export function paintSums(scene) {
  const { data } = scene;
  if (!data.sums) return;
  if (data.sums.hasRows) paintRows(scene, data.sums);
  paintColumns(scene, data.sums);
}

/** @param {Scene} scene @param {Sums} sums */
function paintColumns(scene, { columns, reach, title }) {
  const { font, pen, data, at, scroll, view } = scene;
  const { colors } = data;
  const [right, bottom] = at.end(scroll, view);
  const [, , first, last] = at.visible(scroll, view);
  fillBox(pen, colors.background, [0, bottom, view[0], BELOW + 4]);
  const ink = { font: font(SMALL), color: colors.muted };
  const limit = at.left - TITLE_GAPS;
  write(pen, title, [at.left - 8, bottom + 6 + BAR / 2], { ...ink, align: "right", limit });
  pen.font = ink.font;
  const fits =
    !data.isRough && columns.every((total) => pen.measureText(fixed(total, 2)).width <= at.wide - 2);
  const tall = fits ? BAR : BAR + NUMBER;
  clipped(pen, [at.left, bottom, right - at.left, BELOW], () => {
    for (let key = first; key < last; key++) {
      const x = at.origin(scroll)[0] + key * at.wide;
      paintBar(scene, columns[key] / reach, [x, bottom + 4, at.wide, tall], false);
      if (!fits) continue;
      const middle = /** @type {[number, number]} */ ([x + at.wide / 2, bottom + 6 + BAR + NUMBER / 2]);
      write(pen, fixed(columns[key], 2), middle, { ...ink, color: colors.text, align: "center" });
    }
  });
}

/** @param {Scene} scene @param {Sums} sums */
function paintRows(scene, { rows }) {
  const { font, pen, data, at, scroll, view } = scene;
  const { colors } = data;
  const [right, bottom] = at.end(scroll, view);
  const [first, last] = at.visible(scroll, view);
  const reach = rows.reduce((most, total) => Math.max(most, Math.abs(total)), 0) || 1;
  const ink = { font: font(SMALL), color: colors.muted };
  fillBox(pen, colors.background, [right, at.top - SMALL - 8, BESIDE, view[1]]);
  write(pen, "row sum", [right + 6, at.top - SMALL / 2 - 4], { ...ink, limit: BESIDE - 6 });
  clipped(pen, [right, at.top, BESIDE, bottom - at.top], () => {
    for (let query = first; query < last; query++) {
      const y = at.origin(scroll)[1] + query * at.cell;
      paintBar(scene, rows[query] / reach, [right + 6, y, BAR, at.cell], true);
      if (at.cell < NUMBER) continue;
      const place = /** @type {[number, number]} */ ([right + 6 + BAR + 4, y + at.cell / 2 + 1]);
      write(pen, format(rows[query]), place, { ...ink, color: colors.text, limit: BESIDE - BAR - 10 });
    }
  });
}

/**
 * A bar from the cells outwards; from the middle to both sides if numbers may be negative.
 * @param {Scene} scene
 * @param {number} share of the longest bar, from -1 to 1
 * @param {import("../../shared/canvas.js").Box} room
 * @param {boolean} isSideways
 */
function paintBar({ pen, data }, share, [x, y, width, height], isSideways) {
  const stops = stopsOf(data);
  const isSigned = data.kind === "scores";
  const [low, high] = isSigned ? [(1 + Math.min(share, 0)) / 2, (1 + Math.max(share, 0)) / 2] : [0, share];
  const color = stops[Math.round((isSigned ? (share < 0 ? 0.12 : 0.88) : 0.62) * (stops.length - 1))];
  const inset = (isSideways ? height : width) >= 12 ? 2 : 0;
  /** @type {import("../../shared/canvas.js").Box} */
  const bar = isSideways
    ? [x + low * width, y + inset, (high - low) * width, height - 2 * inset]
    : [x + inset, y + low * height, width - 2 * inset, (high - low) * height];
  fillBox(pen, color, bar);
}
