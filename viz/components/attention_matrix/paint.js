// @ts-check
// Paints the visible cells of a matrix: closed ones, the lines between cells, the numbers, what marks a cell.

import { fontOf, hatching, strokeBox } from "../shared/canvas.js";
import { inkOn } from "../shared/color.js";
import { fixed, format, withoutZero } from "../shared/numbers.js";

/**
 * What is painted, and where.
 * @typedef {object} Scene
 * @property {Element} root whose font is used
 * @property {import("../shared/canvas.js").Pen} pen
 * @property {import("./attention_matrix.js").MatrixData} data
 * @property {import("./cells.js").MatrixCells} cells
 * @property {import("./layout.js").MatrixLayout} at
 * @property {import("./layout.js").Point} scroll
 * @property {import("./layout.js").Point} view width and height of the box
 */
/** @typedef {import("./layout.js").Cell} Cell */

/** ".23" for 0.23, and "1" for what is 1.00. @param {number} weight */
const shortWeight = (weight) => withoutZero(weight).replace(/^1.00$/, "1");

/** @param {Scene} scene */
export function paintClosed({ pen, data, cells, at, scroll, view }) {
  const { cell } = at;
  const [x, y] = at.origin(scroll);
  const [first, last] = at.visible(scroll, view);
  const areas = data.reasons.map(() => new Path2D());
  for (let query = first; query < last; query++) {
    for (const [from, to, reason] of cells.runs(query)) {
      areas[reason - 1].rect(x + from * cell, y + query * cell, (to - from) * cell, cell);
    }
  }
  for (const [i, area] of areas.entries()) {
    for (const fill of [data.colors.masked, hatching(pen, data.colors.hatch, i + 1)]) {
      pen.fillStyle = fill;
      pen.fill(area);
    }
  }
}

/** @param {Scene} scene */
export function paintGrid({ pen, data, at, scroll, view }) {
  const { cell } = at;
  const [x, y] = at.origin(scroll);
  const [top, bottom, left, right] = at.visible(scroll, view);
  pen.beginPath();
  for (let query = top; query <= bottom; query++) {
    pen.moveTo(x + left * cell, y + query * cell);
    pen.lineTo(x + right * cell, y + query * cell);
  }
  for (let key = left; key <= right; key++) {
    pen.moveTo(x + key * cell, y + top * cell);
    pen.lineTo(x + key * cell, y + bottom * cell);
  }
  pen.strokeStyle = data.colors.grid;
  pen.stroke();
}

/**
 * Set the largest font with which every number fits into its cell, if need be in a shorter writing, and return how
 * to write them; null where they don't fit.
 * @param {Scene} scene
 */
function numberStyle({ root, pen, data, cells, at }) {
  const fits = (/** @type {number} */ size, /** @type {(value: number) => string} */ write) => {
    pen.font = fontOf(root, size);
    const widths = [...cells.range, 0].map((value) => pen.measureText(write(value)).width);
    return Math.max(...widths) <= at.cell - 5 && at.cell >= size + 4;
  };
  const full = (/** @type {number} */ value) => fixed(value, 2);
  const short = data.kind === "scores" ? (/** @type {number} */ value) => fixed(value, 1) : shortWeight;
  if ([15, 14, 13].some((size) => fits(size, full))) return full;
  return fits(13, short) ? short : null;
}

/** @param {Scene} scene */
export function paintNumbers(scene) {
  const { pen, data, cells, at, scroll, view } = scene;
  const write = numberStyle(scene);
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
      pen.fillText(text, x + (key + 0.5) * at.cell, y + (query + 0.5) * at.cell + 1);
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
  const { cell } = at;
  const [x, y] = at.origin(scroll);
  pen.globalAlpha = 0.75;
  strokeBox(pen, data.colors.text, 1.5, [x, y + query * cell, cells.keys * cell, cell]);
  strokeBox(pen, data.colors.text, 1.5, [x + key * cell, y, cell, cells.queries * cell]);
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
  strokeBox(pen, color, width, [x + key * at.cell, y + query * at.cell, at.cell, at.cell]);
}
