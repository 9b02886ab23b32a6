// @ts-check
// Paints the labels of a matrix: tokens, positions and axis titles.

import { clipped, fillBox, shorten, write } from "../../shared/canvas.js";
import { clamp } from "../../shared/numbers.js";
import { FONT, SLANT, SMALL } from "./layout.js";

/** @typedef {import("./paint.js").Scene} Scene */

/** @param {Scene} scene @param {number} query */
const rowMiddle = ({ at, scroll }, query) => at.top + (query + 0.5) * at.cell - scroll[1];

/** @param {Scene} scene @param {number} key */
const columnMiddle = ({ at, scroll }, key) => at.left + (key + 0.5) * at.wide - scroll[0];

/** @param {Scene} scene */
export function paintAxes(scene) {
  const { pen, data, view, at, scroll } = scene;
  const { left, top, everyQuery, everyKey } = at;
  const { background, text } = data.colors;
  const [firstQuery, lastQuery, firstKey, lastKey] = at.visible(scroll, view);
  fillBox(pen, background, [0, 0, view[0], top]);
  fillBox(pen, background, [0, 0, left, view[1]]);
  paintTitles(scene);
  clipped(pen, [0, top - SMALL / 2, left, view[1]], () => {
    for (let query = multiple(firstQuery, everyQuery); query < lastQuery; query += everyQuery)
      rowLabel(scene, query, text, 400);
  });
  clipped(pen, [left - 8, 0, view[0] - left + 8, top], () => {
    for (let key = multiple(firstKey, everyKey); key < lastKey; key += everyKey)
      columnLabel(scene, key, text, 400);
  });
}

/** The first multiple at or after a number. @param {number} from @param {number} of */
const multiple = (from, of) => Math.ceil(from / of) * of;

/** @param {Scene} scene */
function paintTitles({ font, pen, data, at, view: [width, height] }) {
  const ink = { font: font(SMALL + 1, 600), color: data.colors.muted };
  write(pen, "looked at (key)  →", [Math.min(at.left, width * 0.3), 10], { ...ink, limit: width - 12 });
  const room = height - at.room.below;
  const whole = `←  ${data.axis}`;
  // On a short matrix the axis shows its name only; the picker above says the rest.
  const isWhole = pen.measureText(whole).width <= room - 24;
  const title = shorten(pen, isWhole ? whole : whole.split(",")[0], room - 24);
  pen.save();
  pen.translate(10, clamp(room - 4 - pen.measureText(title).width, 20, at.top));
  pen.rotate(-Math.PI / 2);
  write(pen, title, [0, 0], { ...ink, align: "right" });
  pen.restore();
}

/** @param {Scene} scene @param {number} query @param {string} color @param {number} weight */
function rowLabel(scene, query, color, weight) {
  const { font, pen, data, at } = scene;
  const y = rowMiddle(scene, query);
  const small = { font: font(Math.min(SMALL, at.fonts[0]), weight), color: data.colors.muted };
  const large = { font: font(at.fonts[0], weight), color, limit: at.limit };
  write(pen, String(data.numbers[0][query]), [at.left - 8, y], { ...small, align: "right" });
  write(pen, data.queries[query], [at.left - 18 - at.digits, y], { ...large, align: "right" });
}

/** @param {Scene} scene @param {number} key @param {string} color @param {number} weight */
function columnLabel(scene, key, color, weight) {
  const { font, pen, data, at } = scene;
  const small = { font: font(SMALL, weight), color: data.colors.muted };
  const large = { font: font(at.fonts[1], weight), color, limit: at.limit };
  const y = at.top - SMALL / 2 - 4;
  if (weight > 400 || key % at.everyPosition === 0)
    write(pen, String(data.numbers[1][key]), [columnMiddle(scene, key), y], { ...small, align: "center" });
  atColumn(scene, key, () => {
    write(pen, data.keys[key], [0, 0], { ...large, align: at.upright ? "center" : "left" });
  });
}

/**
 * Draw at the beginning of a column's label, in its direction.
 * @param {Scene} scene
 * @param {number} key
 * @param {() => void} draw
 */
function atColumn(scene, key, draw) {
  const { pen, at } = scene;
  pen.save();
  pen.translate(columnMiddle(scene, key), at.top - SMALL - (at.upright ? 16 : 12));
  if (!at.upright) pen.rotate(SLANT);
  draw();
  pen.restore();
}

/**
 * Clear the ground under a column's label, where others may have been written.
 * @param {Scene} scene
 * @param {number} key
 * @param {number} width
 * @param {number} tall
 */
function columnPatch(scene, key, width, tall) {
  const { pen, at } = scene;
  atColumn(scene, key, () => {
    if (at.upright) pen.fillRect(-width / 2, -tall / 2, width, tall);
    // A bold label is a little wider than the plain one that was measured.
    else pen.fillRect(-4, -tall / 2, at.keyWidths[key] * 1.1 + 8, tall);
  });
  pen.fillRect(columnMiddle(scene, key) - width / 2, at.top - SMALL - 6, width, SMALL + 4);
}

/**
 * Write the two labels of a cell in bold, even if cells are too small for all labels.
 * @param {Scene} scene
 * @param {import("./layout.js").Cell} cell
 */
export function markLabels(scene, [query, key]) {
  const { pen, view, data, at } = scene;
  const { surface, accent } = data.colors;
  const tall = Math.max(at.cell, FONT + 2);
  const [middle, center] = [rowMiddle(scene, query), columnMiddle(scene, key)];
  if (middle > at.top && query < data.queries.length) {
    hideRows(scene, query);
    fillBox(pen, surface, [22, middle - tall / 2, at.left - 24, tall]);
    rowLabel(scene, query, accent, 700);
  }
  if (center < at.left || center > view[0] || key === data.keys.length) return;
  hideColumns(scene, key);
  pen.fillStyle = surface;
  columnPatch(scene, key, tall, Math.min(FONT + 4, 0.75 * at.wide));
  columnLabel(scene, key, accent, 700);
}

/**
 * Erase labels that the bold one would overlap.
 * @param {Scene} scene
 * @param {number} query
 */
function hideRows(scene, query) {
  const { pen, data, at } = scene;
  pen.fillStyle = data.colors.background;
  for (let row = 0; row < data.queries.length; row += at.everyQuery) {
    const apart = Math.abs(row - query) * at.cell;
    const middle = rowMiddle(scene, row);
    if (apart && apart < at.fonts[0] + 2 && middle > at.top)
      pen.fillRect(22, middle - FONT / 2 - 2, at.left - 26, FONT + 4);
  }
}

/** @param {Scene} scene @param {number} key */
function hideColumns(scene, key) {
  const { pen, data, at } = scene;
  pen.fillStyle = data.colors.background;
  for (let column = 0; column < data.keys.length; column += at.everyKey) {
    const apart = Math.abs(column - key) * at.wide;
    if (apart && apart < at.reach) columnPatch(scene, column, at.digits + 2, FONT + 2);
  }
}
