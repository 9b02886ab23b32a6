// @ts-check
// Copies text to the clipboard, with a fallback for pages that may not write to it.

import { h } from "./dom.js";

/**
 * Copy a text; returns whether the browser did.
 * @param {string} text
 * @param {Element} from keeps the focus
 */
export async function copyText(text, from) {
  try {
    // Missing in pages opened from a file or over plain http; notebooks may refuse it.
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
  const hidden = { readonly: "", style: "position:fixed;top:0;opacity:0", "aria-hidden": "true" };
  const field = h("textarea", hidden);
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  focused?.focus({ preventScroll: true });
  return isCopied;
}
