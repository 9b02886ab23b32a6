// @ts-check
// The picture of a matrix: all that is painted of it, and the marks above.

import { clipped } from "../../shared/canvas.js";
import { markLabels, paintAxes } from "./axes.js";
import { paintClosed, paintCross, paintFrame, paintGrid, paintNumbers } from "./paint.js";
import { paintSums } from "./sums.js";

/** @typedef {import("./paint.js").Scene} Scene */
/** @typedef {import("./layout.js").Cell} Cell */

/** The narrowest cells, in pixels, that lines stand between. */
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
 * Row and column of what is hovered, else of what is locked.
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
