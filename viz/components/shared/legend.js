// @ts-check
// Legends: what the colours of a picture mean.

import { div, span } from "./dom.js";

/**
 * @typedef {object} Meaning
 * @property {string} label
 * @property {readonly string[]} [stops] of a colour bar
 * @property {string[]} [ticks] numbers under the bar
 * @property {[text: string, background: string][]} [swatches] the backgrounds as CSS
 */

/**
 * A bar with numbers under it, and swatches.
 * @param {HTMLElement} box
 * @param {Meaning} meaning
 */
export function drawLegend(box, { label, stops, ticks = [], swatches = [] }) {
  const entries = swatches.map(([text, background]) => {
    const swatch = span("hl-swatch");
    swatch.style.background = background;
    return span("hl-legend-entry", swatch, span("", text));
  });
  box.replaceChildren(span("hl-legend-label", label), ...(stops ? [scale(stops, ticks)] : []), ...entries);
}

/** @param {readonly string[]} stops @param {string[]} ticks */
function scale(stops, ticks) {
  const bar = div("hl-scale-bar");
  bar.style.background = `linear-gradient(90deg,${stops.join()})`;
  const numbers = div("hl-scale-ticks", ...ticks.map((tick) => span("", tick)));
  return div("hl-scale", bar, div("hl-scale-pointer"), numbers);
}

/**
 * Move the pointer on the colour bar to a value, or hide it.
 * @param {HTMLElement} box
 * @param {number | null} share of the bar, from 0 to 1
 */
export function pointOnScale(box, share) {
  const pointer = /** @type {HTMLElement | null} */ (box.querySelector(".hl-scale-pointer"));
  if (!pointer) return;
  pointer.style.display = share === null ? "none" : "block";
  pointer.style.left = `${(share ?? 0) * 100}%`;
}
