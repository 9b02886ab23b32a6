// @ts-check
// Paints the visible cells of a matrix: closed cells, grid lines, numbers, and marks.

import { hatching, strokeBox } from "../../shared/canvas.js";
import { inkOn } from "../../shared/color.js";
import { fixed, format, withoutZero } from "../../shared/numbers.js";
import { CELL } from "./layout.js";

/**
 * What is painted, and where.
 * @typedef {object} Scene
 * @property {(size: number, weight?: number) => string} font
 * @property {import("../../shared/canvas.js").Pen} pen
 * @property {import("./matrix.js").MatrixData} data
 * @property {import("./cells.js").MatrixCells} cells
 * @property {import("./layout.js").MatrixLayout} at
 * @property {import("./layout.js").Point} scroll
 * @property {import("./layout.js").Point} view width and height of the box
 */
/** @typedef {import("./layout.js").Cell} Cell */

/** ".23" for 0.23, and "1" for 1.00. @param {number} weight */
const shortWeight = (weight) => withoutZero(weight).replace(/^1.00$/, "1");

/** @param {Scene} scene */
export function paintClosed({ pen, data, cells, at, scroll, view }) {
  const { cell, wide } = at;
  const [x, y] = at.origin(scroll);
  const [first, last] = at.visible(scroll, view);
  /** @type {Map<number, Path2D>} */
  const areas = new Map();
  for (let query = first; query < last; query++) {
    for (const [from, to, reason] of cells.runs(query)) {
      const area = areas.get(reason) ?? new Path2D();
      areas.set(reason, area);
      area.rect(x + from * wide, y + query * cell, (to - from) * wide, cell);
    }
  }
  for (const [reason, area] of areas) {
    for (const fill of [data.colors.masked, hatching(pen, data.colors.hatch, reason)]) {
      pen.fillStyle = fill;
      pen.fill(area);
    }
  }
}

/** @param {Scene} scene */
export function paintGrid({ pen, data, at, scroll, view }) {
  const { cell, wide } = at;
  const [x, y] = at.origin(scroll);
  const [top, bottom, left, right] = at.visible(scroll, view);
  pen.beginPath();
  for (let query = top; query <= bottom; query++) {
    pen.moveTo(x + left * wide, y + query * cell);
    pen.lineTo(x + right * wide, y + query * cell);
  }
  for (let key = left; key <= right; key++) {
    pen.moveTo(x + key * wide, y + top * cell);
    pen.lineTo(x + key * wide, y + bottom * cell);
  }
  pen.strokeStyle = data.colors.grid;
  pen.stroke();
}

/**
 * Set the largest font in which every number fits its cell, in a shorter form if necessary; return how to write the
 * numbers, or null if they do not fit.
 * @param {Scene} scene
 */
function numberStyle({ font, pen, data, cells, at }) {
  if (at.cell < CELL.numbered[1]) return null;
  const fits = (/** @type {number} */ size, /** @type {(value: number) => string} */ write) => {
    pen.font = font(size);
    const widths = [...cells.extremes, 0].map((value) => pen.measureText(write(value)).width);
    return Math.max(...widths) <= at.wide - 3 && at.cell >= size + 4;
  };
  const full = (/** @type {number} */ value) => fixed(value, 2);
  const short = data.kind === "scores" ? (/** @type {number} */ value) => fixed(value, 1) : shortWeight;
  if ([15, 14, 13].some((size) => fits(size, full))) return full;
  return fits(13, short) ? short : null;
}

/** @param {Scene} scene */
export function paintNumbers(scene) {
  const { pen, data, cells, at, scroll, view } = scene;
  const write = data.isRough ? null : numberStyle(scene);
  if (!write) return;
  const [x, y] = at.origin(scroll);
  const [top, bottom, left, right] = at.visible(scroll, view);
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (let query = top; query < bottom; query++) {
    for (let key = left; key < right; key++) {
      const value = cells.at(query, key);
      const closed = cells.reason(query, key);
      if (closed && value === 0) continue;
      const text = Number.isFinite(value) ? write(value) : format(value);
      pen.fillStyle = closed ? data.colors.text : inkOn(cells.color(value));
      pen.globalAlpha = /[1-9∞]/.test(text) ? 1 : 0.5;
      pen.fillText(text, x + (key + 0.5) * at.wide, y + (query + 0.5) * at.cell + 1);
    }
  }
  pen.globalAlpha = 1;
}

/**
 * Mark the row and the column of a cell.
 * @param {Scene} scene
 * @param {Cell} cell
 */
export function paintCross({ pen, data, cells, at, scroll }, [query, key]) {
  const { cell, wide } = at;
  const [x, y] = at.origin(scroll);
  pen.globalAlpha = 0.75;
  const { text } = data.colors;
  if (query < cells.queries) strokeBox(pen, text, 1.5, [x, y + query * cell, cells.keys * wide, cell]);
  if (key < cells.keys) strokeBox(pen, text, 1.5, [x + key * wide, y, wide, cells.queries * cell]);
  pen.globalAlpha = 1;
}

/**
 * Outline a cell.
 * @param {Scene} scene
 * @param {Cell} cell
 * @param {string} color
 * @param {number} width
 */
export function paintFrame({ pen, at, scroll }, [query, key], color, width) {
  const [x, y] = at.origin(scroll);
  strokeBox(pen, color, width, [x + key * at.wide, y + query * at.cell, at.wide, at.cell]);
}
