// @ts-check
// Buttons that choose which heads have lines: a click shows or hides one, a double click shows one alone.

import { h, span } from "../../shared/dom.js";
import { sample } from "./strokes.js";

/** @typedef {import("./strokes.js").Stroke} Stroke */

/** More heads than this are labelled by number alone. */
const FEW = 8;

export class HeadButtons {
  /** Which heads are shown. @type {number[]} */
  shown = [];
  /** @type {HTMLButtonElement[]} */
  buttons = [];
  look = "";

  /** @param {(heads: number[] | null) => void} onChange called with the heads that are shown; null for all */
  constructor(onChange) {
    this.onChange = onChange;
    this.box = h("div", { class: "hl-heads", role: "group", "aria-label": "Heads" });
  }

  /** @param {Stroke[]} strokes of all heads @param {number[]} shown */
  show(strokes, shown) {
    // Unchanged buttons stay: a double click needs the same element twice.
    const look = JSON.stringify(strokes);
    if (look !== this.look) this.#make(strokes);
    this.look = look;
    this.shown = shown;
    for (const [head, button] of this.buttons.entries()) {
      button.ariaPressed = String(shown.includes(head));
      button.style.borderColor = shown.includes(head) ? strokes[head].color : "";
    }
    this.all.ariaPressed = String(shown.length === strokes.length);
  }

  all = h("button", { class: "all", onclick: () => this.onChange(null) }, "all");

  /** @param {Stroke[]} strokes */
  #make(strokes) {
    this.buttons = strokes.map((stroke, head) => {
      const name = strokes.length > FEW ? String(head) : `head ${head}`;
      const attributes = {
        "aria-label": `head ${head}`,
        title: "Click: show or hide. Double-click: this head alone, or all again.",
        onclick: () => this.#toggle(head),
        ondblclick: () => this.#isolate(head),
      };
      return h("button", attributes, sample(stroke), span("", name));
    });
    this.box.replaceChildren(span("hl-choice-label", "Heads"), ...this.buttons, this.all);
  }

  /** @param {number} head */
  #toggle(head) {
    const others = this.shown.filter((other) => other !== head);
    const isShown = others.length < this.shown.length;
    this.#change(isShown ? others : [...others, head].sort((a, b) => a - b));
  }

  /** Show a head alone, or all heads if it is alone already. @param {number} head */
  #isolate(head) {
    this.#change(String(this.shown) === String([head]) ? this.buttons.map((_, other) => other) : [head]);
  }

  /** @param {number[]} heads */
  #change(heads) {
    this.onChange(heads.length === this.buttons.length ? null : heads);
  }
}
