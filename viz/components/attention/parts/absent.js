// @ts-check
// The text in place of a picture whose numbers are never available.

import { div } from "../../shared/dom.js";

/**
 * Replace a picture by the reason why it is missing; "" shows the picture.
 * @param {HTMLElement} box of the picture
 * @param {string} reason
 */
export function sayAbsent(box, reason) {
  const line = box.querySelector(":scope > .hl-absent") ?? div("hl-absent");
  line.textContent = reason;
  if (reason) box.append(line);
  box.classList.toggle("hl-is-absent", Boolean(reason));
}
