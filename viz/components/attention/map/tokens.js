// @ts-check
// Draws the tokens of both columns, each in a box where lines begin and end, with the numbers of the focused row.

import { fillBox, strokeBox, write } from "../../shared/canvas.js";
import { format } from "../../shared/numbers.js";
import { PAD } from "./layout.js";

/** @typedef {import("./layout.js").MapLayout} MapLayout */
/** @typedef {import("./links.js").Token} Token */
/** @typedef {import("../../shared/canvas.js").Pen} Pen */

/** Numbers that would be written as 0.00 are left out. */
const SMALLEST = 0.005;

/**
 * What the tokens are drawn with.
 * @typedef {object} TokenDrawing
 * @property {MapLayout} at
 * @property {import("./links.js").Column[]} columns
 * @property {import("../../shared/color.js").Colors} colors
 * @property {string} fontFamily the font
 * @property {Token | null} focused
 * @property {Token | null} locked
 * @property {number} scrolled
 * @property {Beside[]} beside the numbers next to each column
 */

/**
 * The numbers next to the tokens of a column.
 * @typedef {object} Beside
 * @property {ArrayLike<number> | null} means null if there are none
 * @property {{name: string, ink: string, weights: ArrayLike<number>}[]} own the numbers written: one per head, or the
 *   mean
 */

/** @param {Pen} pen @param {TokenDrawing} drawing */
export function drawTokens(pen, drawing) {
  for (const column of drawing.columns.keys()) {
    const [first, beyond] = drawing.at.seen(column, drawing.scrolled);
    for (let position = first; position < beyond; position++) drawToken(pen, drawing, [column, position]);
  }
  drawTitles(pen, drawing);
}

/** @param {Pen} pen @param {TokenDrawing} drawing @param {Token} token */
function drawToken(pen, drawing, token) {
  const { at, colors, columns, fontFamily, focused, locked, beside } = drawing;
  const [column, position] = token;
  const isFocused = String(focused) === String(token);
  const { means, own } = beside[column];
  const mean = means?.[position] ?? 0;
  const [start, end] = at.boxes[column];
  const y = at.seenAt(column, position, drawing.scrolled);
  /** @type {import("../../shared/canvas.js").Box} */
  const box = [start, y - at.row / 2 + 1.5, end - start, at.row - 3];
  fillBox(pen, colors.surface, box);
  if (isFocused || mean > SMALLEST) {
    pen.globalAlpha = isFocused ? 0.28 : 0.42 * Math.min(1, mean);
    fillBox(pen, colors.accent, box);
    pen.globalAlpha = 1;
  }
  if (isFocused) strokeBox(pen, colors.text, 1.5, box);
  if (String(locked) === String(token)) strokeBox(pen, colors.accent, 3, box);
  const isFaded = focused && !isFocused && mean <= SMALLEST;
  const color = isFaded ? colors.muted : colors.text;
  const inner = column === 0 ? end - PAD : start + PAD;
  write(pen, columns[column].labels[position], [inner, y], {
    font: `${isFocused || mean > 0.2 ? 700 : 400} ${at.font}px ${fontFamily}`,
    color,
    align: column === 0 ? "right" : "left",
    limit: at.limit,
  });
  const font = `600 ${Math.max(14, at.font - 1)}px ${fontFamily}`;
  for (const [i, { ink, weights }] of own.entries()) {
    if (weights[position] <= SMALLEST) continue;
    write(pen, format(weights[position]), [at.numberAt(column, i), y], { font, color: ink, align: "right" });
  }
}

/** The titles above the columns; they do not scroll. @param {Pen} pen @param {TokenDrawing} drawing */
function drawTitles(pen, { at, columns, colors, fontFamily, beside }) {
  fillBox(pen, colors.background, [0, 0, at.width, at.title]);
  const y = at.title / 2;
  const font = `600 ${Math.max(14, at.font - 1)}px ${fontFamily}`;
  for (const [column, { title }] of columns.entries()) {
    const [start, end] = at.boxes[column];
    const inner = column === 0 ? end - PAD : start + PAD;
    const numbers = beside[column].own.length * at.number;
    const limit = end - start - numbers - PAD;
    write(pen, title, [inner, y], {
      font,
      color: colors.muted,
      align: column === 0 ? "right" : "left",
      limit,
    });
    for (const [i, { name, ink }] of beside[column].own.entries()) {
      write(pen, name, [at.numberAt(column, i), y], { font, color: ink, align: "right" });
    }
  }
}
