// @ts-check
// Tooltips, announcements to screen readers, and quoted tokens.

import { div, h, positionOn } from "./dom.js";
import { clamp } from "./numbers.js";

/** @typedef {[className: string, text: string]} Line */

/** A token in quotation marks, isolated from the direction of the surrounding text. @param {string} token */
export const quoted = (token) => `“\u2068${token}\u2069”`;

/**
 * A line for screen readers only, spoken when it changes.
 * @param {HTMLElement} root
 * @returns {(text: string) => void}
 */
export function announcer(root) {
  const line = h("div", { class: "hl-say", "aria-live": "polite" });
  root.append(line);
  return (text) => {
    line.textContent = text;
  };
}

/** A box that follows the pointer. */
export class Tooltip {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.box = h("div", { class: "hl-tip", "aria-hidden": "true" });
    root.append(this.box);
  }

  /**
   * @param {{clientX: number, clientY: number}} where a pointer, or a place in the window
   * @param {Line[]} lines
   */
  show(where, lines) {
    const { box, root } = this;
    const [x, y] = positionOn(root, where);
    box.replaceChildren(...lines.map(([className, text]) => div(className, text)));
    box.style.display = "block";
    const { offsetWidth: w, offsetHeight: tall } = box;
    const left = x + 16 + w > root.clientWidth ? x - 16 - w : x + 16;
    const top = y + 16 + tall > root.clientHeight ? y - 12 - tall : y + 16;
    box.style.left = `${clamp(left, 0, Math.max(0, root.clientWidth - w))}px`;
    box.style.top = `${Math.max(top, -tall)}px`;
  }

  hide() {
    this.box.style.display = "none";
  }
}
