// @ts-check
// Text on its way to the clipboard.

import { h } from "../../shared/dom.js";

/**
 * Copy a text; where the page may not use the clipboard (it came by plain http) by way of a field that is not seen.
 * @param {string} text
 * @param {HTMLElement} parent of that field
 * @returns {Promise<boolean>} whether it was copied
 */
export async function copy(text, parent) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = h("textarea", { class: "hl-say", "aria-hidden": "true" });
    field.value = text;
    parent.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}
