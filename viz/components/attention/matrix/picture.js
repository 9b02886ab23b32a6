// @ts-check
// Paints the whole matrix, and the marks above it.

import { clipped } from "../../shared/canvas.js";
import { markLabels, paintAxes } from "./axes.js";
import { paintClosed, paintCross, paintFrame, paintGrid, paintNumbers } from "./paint.js";
import { paintSums } from "./sums.js";

/** @typedef {import("./paint.js").Scene} Scene */
/** @typedef {import("./layout.js").Cell} Cell */

/** The smallest cells, in pixels, with grid lines. */
const LINED = 12;

/** @param {Scene} scene @param {HTMLCanvasElement} image a pixel for each cell */
export function paintMatrix(scene, image) {
  const { pen, cells, at, scroll } = scene;
  paintClosed(scene);
  const size = /** @type {const} */ ([cells.keys * at.wide, cells.queries * at.cell]);
  pen.drawImage(image, ...at.origin(scroll), ...size);
  if (at.cell >= LINED) paintGrid(scene);
  paintNumbers(scene);
  paintAxes(scene);
  paintSums(scene);
}

/**
 * Mark the row and column of the hovered cell, or else of the selected one.
 * @param {Scene} scene
 * @param {Cell | null} hovered
 * @param {Cell | null} selected
 */
export function paintMarks(scene, hovered, selected) {
  const { pen, data, cells, at, scroll, view } = scene;
  const { text, accent } = data.colors;
  const focused = hovered ?? selected;
  const [right, bottom] = at.end(scroll, view);
  clipped(pen, [at.left - 3, at.top - 3, right - at.left + 6, bottom - at.top + 6], () => {
    if (focused) paintCross(scene, focused);
    if (selected) paintFrame(scene, selected, accent, 4);
    if (hovered && cells.has(hovered)) paintFrame(scene, hovered, text, 2);
  });
  if (focused) markLabels(scene, focused);
}
