// @ts-check
// Canvases that are sharp on any screen, and text on them.

import { stripesOf } from "./color.js";
import { h, zoomOf } from "./dom.js";

/** @typedef {CanvasRenderingContext2D} Pen */

/** The 2D context of a canvas; every browser that runs the app has one. @param {HTMLCanvasElement} canvas */
export const penOf = (canvas) => /** @type {Pen} */ (canvas.getContext("2d"));

/**
 * A canvas for the picture and one above it for the marks, so that moving a mark does not redraw the picture.
 * @param {HTMLElement} parent
 */
export function layers(parent) {
  const [canvas, overlay] = [h("canvas"), h("canvas", { class: "hl-overlay" })];
  parent.append(canvas, overlay);
  return { canvas, overlay };
}

/** Screen pixels per CSS pixel of a canvas. @param {HTMLCanvasElement} canvas */
export const sharpnessOf = (canvas) => (window.devicePixelRatio || 1) * zoomOf(canvas);

/**
 * Size a canvas in CSS pixels; returns its context, cleared and scaled to CSS pixels.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function prepare(canvas, width, height) {
  const scale = sharpnessOf(canvas);
  const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== w || canvas.height !== h) {
    Object.assign(canvas, { width: w, height: h });
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  }
  const pen = penOf(canvas);
  pen.reset();
  pen.scale(scale, scale);
  pen.imageSmoothingEnabled = false;
  return pen;
}

/**
 * An image of `width` pixels per row, on a canvas that can be drawn onto others.
 * @param {Uint32Array<ArrayBuffer>} pixels
 * @param {number} width
 * @param {HTMLCanvasElement | null} [last] a canvas to reuse, because making one is slow
 */
export function raster(pixels, width, last) {
  const image = new ImageData(new Uint8ClampedArray(pixels.buffer), width);
  const fits = last?.width === width && last.height === image.height;
  const canvas = fits ? last : h("canvas", { width, height: image.height });
  penOf(canvas).putImageData(image, 0, 0);
  return canvas;
}

/** Striped tiles already drawn, because making a canvas is slow. @type {Map<string, HTMLCanvasElement>} */
const tiles = new Map();

/**
 * The stripes of cells closed for this reason.
 * @param {Pen} pen
 * @param {string} color
 */
export function hatching(pen, color, reason = 1) {
  const scale = sharpnessOf(pen.canvas);
  const name = [color, reason, scale].join();
  const tile = tiles.get(name) ?? stripedTile(color, reason, scale);
  tiles.set(name, tile);
  const pattern = /** @type {CanvasPattern} */ (pen.createPattern(tile, "repeat"));
  pattern.setTransform(new DOMMatrix().scale(1 / scale));
  return pattern;
}

/** @param {string} color @param {number} reason @param {number} scale */
function stripedTile(color, reason, scale) {
  const size = Math.round(6 * scale);
  const tile = h("canvas", { width: size, height: size });
  const brush = penOf(tile);
  brush.strokeStyle = color;
  brush.lineWidth = scale;
  for (const shift of [-size, 0, size]) {
    for (const stripe of stripesOf(reason)) {
      const [left, right] = stripe === "/" ? [size + 1, -1] : [-1, size + 1];
      brush.moveTo(shift - 1, left);
      brush.lineTo(shift + size + 1, right);
    }
  }
  brush.stroke();
  return tile;
}

/**
 * A font in an element's family.
 * @param {Element} element
 * @param {number} size
 */
export const fontOf = (element, size, weight = 400) =>
  `${weight} ${size}px ${getComputedStyle(element).fontFamily}`;

/**
 * The longest beginning of the text that fits, with an ellipsis if it is cut.
 * @param {{measureText(text: string): {width: number}}} pen
 * @param {string} text
 * @param {number} width
 */
export function shorten(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  const letters = [...text];
  let [low, high] = [0, letters.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measureText(`${letters.slice(0, middle).join("")}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return `${letters.slice(0, low).join("")}…`;
}

/**
 * Write a text, vertically centred and cut at its limit.
 * @param {Pen} pen
 * @param {string} text
 * @param {[x: number, y: number]} place
 * @param {{font: string, color: string, align?: CanvasTextAlign, limit?: number}} how
 */
export function write(pen, text, place, { font, color, align = "left", limit = Infinity }) {
  Object.assign(pen, { font, fillStyle: color, textAlign: align, textBaseline: "middle" });
  pen.fillText(limit < Infinity ? shorten(pen, text, limit) : text, ...place);
}

/** @typedef {[x: number, y: number, width: number, height: number]} Box */

/** @param {Pen} pen @param {string | CanvasPattern} color @param {Box} box */
export function fillBox(pen, color, box) {
  pen.fillStyle = color;
  pen.fillRect(...box);
}

/** @param {Pen} pen @param {string} color @param {number} width @param {Box} box */
export function strokeBox(pen, color, width, box) {
  Object.assign(pen, { strokeStyle: color, lineWidth: width });
  pen.strokeRect(...box);
}

/**
 * Draw, clipped to a part of the canvas.
 * @param {Pen} pen
 * @param {Box} part
 * @param {() => void} draw
 */
export function clipped(pen, part, draw) {
  pen.save();
  pen.beginPath();
  pen.rect(...part);
  pen.clip();
  draw();
  pen.restore();
}
