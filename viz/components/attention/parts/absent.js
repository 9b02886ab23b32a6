// @ts-check
// What stands in the place of a picture whose numbers never come.

import { div } from "../../shared/dom.js";

/**
 * Say in the place of a picture why it is not there; without a reason the picture is seen.
 * @param {HTMLElement} box of the picture
 * @param {string} reason
 */
export function sayAbsent(box, reason) {
  const line = box.querySelector(":scope > .hl-absent") ?? div("hl-absent");
  line.textContent = reason;
  if (reason) box.append(line);
  box.classList.toggle("hl-is-absent", Boolean(reason));
}
