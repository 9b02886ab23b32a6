// @ts-check
// Paints the visible part of the grid: maps, their labels, and the labels of layers and heads, which stay in sight.

import { clipped, fillBox, fontOf, hatching, shorten, strokeBox, write } from "../../shared/canvas.js";
import { LABELS, LINE } from "./layout.js";

const FONT = 15;
const SMALL = 14;
const GAP = 10; // between the labels of neighbouring heads

/**
 * What is painted, and where.
 * @typedef {object} GridScene
 * @property {Element} root whose font is used
 * @property {import("../../shared/canvas.js").Pen} pen
 * @property {import("./grid.js").GridData} data
 * @property {import("./layout.js").GridLayout} at
 * @property {import("./layout.js").Point} scroll
 * @property {import("./layout.js").Point} view width and height of the box
 */
/** @typedef {[image: HTMLCanvasElement, pixels: [across: number, down: number]]} Maps all maps in one image */

/** @param {GridScene} scene @param {Maps} maps */
export function paintGrid(scene, maps) {
  const { at, data, pen, view } = scene;
  const captions = data.captions && captionStyle(scene, data.captions);
  const stripes = data.isClosed ? hatching(pen, data.colors.hatch) : null;
  clipped(pen, partOf(scene), () => {
    for (const map of at.order) {
      const index = at.mapIn(at.slots[map]);
      const [x, y] = placeOf(scene, index);
      if (x > view[0] || y - at.caption > view[1] || x + at.box[0] < 0 || y + at.box[1] < 0) continue;
      paintMap(scene, maps, stripes, index, [x, y]);
      if (captions) paintCaption(scene, captions(map), [x, y]);
    }
  });
  if (!at.isOrdered) paintLabels(scene);
}

/** The part that fixed labels do not cover. @param {GridScene} scene @returns {import("../../shared/canvas.js").Box} */
export const partOf = ({ at, view }) =>
  at.isOrdered ? [0, 0, ...view] : [at.gutter - 4, at.header - 4, view[0], view[1]];

/**
 * The upper left corner of a map in the scrolled box.
 * @param {GridScene} scene
 * @param {import("./layout.js").MapIndex} index
 * @returns {import("./layout.js").Point}
 */
export function placeOf({ at, scroll }, index) {
  const [x, y] = at.corner(...index);
  return [x - scroll[0], y - scroll[1]];
}

/**
 * @param {GridScene} scene
 * @param {Maps} maps
 * @param {CanvasPattern | null} stripes
 * @param {import("./layout.js").MapIndex} index
 * @param {import("./layout.js").Point} corner
 */
function paintMap({ pen, at, data }, [image, [across, down]], stripes, [layer, head], [x, y]) {
  const [width, height] = at.box;
  if (stripes) {
    fillBox(pen, data.colors.masked, [x, y, width, height]);
    fillBox(pen, stripes, [x, y, width, height]);
  }
  pen.drawImage(image, head * across, layer * down, across, down, x, y, width, height);
  strokeBox(pen, data.colors.grid, 1, [x - 0.5, y - 0.5, width + 1, height + 1]);
}

/**
 * How to write the maps' labels: the longest form that fits all of them.
 * @param {GridScene} scene
 * @param {import("./grid.js").Caption[]} captions
 * @returns {(map: number) => [name: string, rank: string]}
 */
function captionStyle({ root, pen, at }, captions) {
  pen.font = fontOf(root, SMALL);
  const fits = (/** @type {string} */ text) => pen.measureText(text).width <= at.pitch[0] - 2;
  const whole = captions.every(({ name }) => fits(name));
  const withUnit = captions.every(({ rank, score }) => fits(`${rank} ${score}`));
  return (map) => {
    const { name, brief, rank, score } = captions[map];
    return [whole ? name : brief, `${rank} ${withUnit ? score : score.split(" ")[0]}`];
  };
}

/**
 * @param {GridScene} scene
 * @param {[name: string, rank: string]} caption
 * @param {import("./layout.js").Point} corner
 */
function paintCaption({ root, pen, at, data }, [name, rank], [x, y]) {
  const { text, muted } = data.colors;
  const limit = at.pitch[0] - 2;
  write(pen, name, [x, y - 1.5 * LINE], { font: fontOf(root, SMALL), color: muted, limit });
  write(pen, rank, [x, y - 0.5 * LINE], { font: fontOf(root, SMALL, 600), color: text, limit });
}

/** @param {GridScene} scene */
function paintLabels(scene) {
  const { root, pen, at, data, view } = scene;
  const { layers, heads, colors } = data;
  const ink = { font: fontOf(root, FONT), color: colors.text };
  fillBox(pen, colors.background, [0, 0, view[0], at.header - 4]);
  fillBox(pen, colors.background, [0, 0, at.gutter - 4, view[1]]);
  clipped(pen, [0, at.header - 4, at.gutter, view[1]], () => {
    for (const [layer, label] of layers.entries()) {
      write(pen, label, [0, placeOf(scene, [layer, 0])[1] + at.box[1] / 2], ink);
    }
  });
  pen.font = ink.font;
  const fits = heads.every((label) => pen.measureText(label).width <= at.pitch[0] - GAP);
  clipped(pen, [at.gutter - 8, 0, view[0], at.header], () => {
    for (const [head, label] of heads.entries()) {
      const name = fits ? label : label.slice(label.lastIndexOf(" ") + 1);
      write(pen, name, [placeOf(scene, [0, head])[0] + at.box[0] / 2, LABELS], { ...ink, align: "center" });
    }
  });
  if (!fits) write(pen, shorten(pen, "head", at.gutter - 10), [0, LABELS], { ...ink, color: colors.muted });
}
