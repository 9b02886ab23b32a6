// @ts-check
// Numbers and formulas. Each number of the run names the tensor that it comes from; a click or Enter copies it.

import { h, span } from "../../shared/dom.js";
import { float32Text } from "../../shared/float32.js";
import { format } from "../../shared/numbers.js";

/** The text of a pending number. */
const PENDING = "…";

/** Writes a number; a 0 without decimals is exactly 0. @param {number} value */
export const written = (value) => (value === 0 ? "0" : format(value, 3));

/**
 * @param {string} name unique within the panel
 * @param {number | null | undefined} value null while pending
 * @param {string} source the tensor, or the operation on tensors
 * @param {string} [text]
 */
export function number(name, value, source, text) {
  if (value === null || value === undefined) return span("hl-number hl-pending", PENDING);
  return copied(name, float32Text(value), source, text ?? written(value));
}

/**
 * A value whose copied text differs from the text shown.
 * @param {string} name
 * @param {string} value
 * @param {string} source
 * @param {string} text
 */
export const copied = (name, value, source, text) =>
  h("button", { class: "hl-number", "data-name": name, value, title: source, tabindex: -1 }, text);

/** A symbol of a formula; an underscore begins an index. @param {string} name */
export const symbol = (name) =>
  h("var", {}, ...name.split(/_(\w+)/).map((part, i) => (i % 2 ? h("sub", {}, part) : part)));

/** @param {import("../../shared/dom.js").Child[]} top @param {import("../../shared/dom.js").Child[]} bottom */
export const fraction = (top, bottom) =>
  span("hl-fraction", span("hl-top", ...top), span("hl-say", " over "), span("hl-bottom", ...bottom));

/** @param {...import("../../shared/dom.js").Child} children */
export const root = (...children) => span("hl-root", "√", span("hl-radicand", ...children));

/** @param {...import("../../shared/dom.js").Child} exponent */
export const power = (...exponent) => span("", symbol("e"), h("sup", {}, ...exponent));

/** A part of a formula that stays on one line. @param {...import("../../shared/dom.js").Child} children */
export const term = (...children) => span("hl-term", ...children);

/** @param {...import("../../shared/dom.js").Child} terms */
export const formula = (...terms) => h("p", { class: "hl-formula" }, ...terms);

/** A line break in a formula. */
export const newLine = () => span("hl-new-line");
