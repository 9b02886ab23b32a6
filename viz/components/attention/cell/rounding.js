// @ts-check
// Limits the numbers of a cell with rounded weights, as in a saved page, to their known digits, shown and copied.

import { fixed } from "../../shared/numbers.js";

const DECIMALS = 4;
const BELOW = "< 0.0001";

/**
 * Write the numbers in a box with the decimals that are known.
 * @param {HTMLElement} box
 * @param {import("./facts.js").Facts} facts
 */
export function roundNumbers(box, { closed, key }) {
  for (const node of box.querySelectorAll("button.hl-number")) {
    const stop = /** @type {HTMLButtonElement} */ (node);
    const value = Number(stop.value);
    if (!Number.isFinite(value)) continue;
    stop.value = String(Number(value.toFixed(DECIMALS)));
    const [, own] = /^weight (\d+)$/.exec(stop.dataset.name ?? "") ?? [];
    if (value === 0) stop.textContent = closed[Number(own ?? key)] ? "0" : BELOW;
    else if (Math.abs(value) < 0.001) stop.textContent = fixed(value, DECIMALS);
  }
}
