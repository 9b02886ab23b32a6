// @ts-check
// Text onto the clipboard, where a page may write to it and where it may not.

import { h } from "../../shared/dom.js";

/**
 * Copy a text; tells whether the browser has done so.
 * @param {string} text
 * @param {Element} from what has the focus afterwards as before
 */
export async function copyText(text, from) {
  try {
    // There is none in a page that came from a file or over plain http, and notebooks may refuse it.
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByCommand(text, from);
  }
}

/** @param {string} text @param {Element} from */
function copyByCommand(text, from) {
  const root = /** @type {Document | ShadowRoot} */ (from.getRootNode());
  const focused = /** @type {HTMLElement | null} */ (root.activeElement);
  const field = h("textarea", {
    readonly: "",
    style: "position:fixed;top:0;opacity:0",
    "aria-hidden": "true",
  });
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  focused?.focus({ preventScroll: true });
  return isCopied;
}
