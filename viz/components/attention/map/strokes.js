// @ts-check
// A head's line style: a colour, and a dash if there are more heads than colours.

import { contrast, css, rgbOf } from "../../shared/color.js";
import { svg } from "../../shared/dom.js";

/** @typedef {import("../../shared/color.js").Colors} Colors */
/** @typedef {{color: string, dash: number[], ink: string}} Stroke `ink` is a readable version of the colour, for numbers */

/** A line with less contrast to the background is invisible (yellow on white has 1.3). */
const VISIBLE = 2;
/** For text (WCAG 2.2, 1.4.3). */
const READABLE = 4.5;
/** Solid first; distinguishable without colour. */
const DASHES = [[], [8, 4], [2, 3], [12, 3, 2, 3], [18, 6], [10, 3, 2, 3, 2, 3], [5, 2], [16, 3, 5, 3]];

/**
 * The strokes of `count` heads: all differ, up to 56 on white and 64 on black.
 * @param {number} count
 * @param {Colors} colors
 * @returns {Stroke[]}
 */
export function strokesOf(count, { categorical, background, text }) {
  const visible = categorical.filter((color) => contrast(rgbOf(color), rgbOf(background)) >= VISIBLE);
  return Array.from({ length: count }, (_, head) => {
    const color = visible[head % visible.length];
    const dash = DASHES[Math.floor(head / visible.length) % DASHES.length];
    return { color, dash, ink: readable(color, background, text) };
  });
}

/**
 * A colour mixed with the text colour until it is readable.
 * @param {string} color
 * @param {string} background
 * @param {string} text
 */
function readable(color, background, text) {
  const [own, ground, ink] = [color, background, text].map(rgbOf);
  for (let share = 0; share < 1; share += 0.05) {
    const mixed = /** @type {import("../../shared/color.js").Rgb} */ (
      own.map((c, i) => Math.round(c + share * (ink[i] - c)))
    );
    if (contrast(mixed, ground) >= READABLE) return css(mixed);
  }
  return text;
}

/** A sample of a head's line. @param {Stroke} stroke */
export const sample = ({ color, dash }) =>
  svg(
    "svg",
    { class: "stroke", viewBox: "0 0 36 6", "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 36, y1: 3, y2: 3, stroke: color, "stroke-width": 3, "stroke-dasharray": dash }),
  );
