// @ts-check
// The buttons that choose which heads are shown, and the colour of each head.

import { div, h, span } from "../shared/dom.js";

export class HeadButtons {
  /** Which heads are shown. @type {boolean[]} */
  on = [];
  /** @type {HTMLButtonElement[]} */
  buttons = [];
  /** @type {string[]} */
  colors = [];
  look = "";

  /** @param {() => void} onChange */
  constructor(onChange) {
    this.box = div("hl-heads");
    this.onChange = onChange;
  }

  /** The numbers of the heads that are shown. */
  get shown() {
    return this.on.flatMap((on, head) => (on ? [head] : []));
  }

  /** @param {number} head */
  color(head) {
    return this.colors[head % this.colors.length];
  }

  /**
   * Beyond as many heads as there are colours, the same colours come again with dashes.
   * @param {number} head
   */
  dashed(head) {
    return Math.floor(head / this.colors.length) % 2 === 1;
  }

  /** @param {string[]} labels @param {import("../shared/color.js").Colors} colors */
  update(labels, colors) {
    if (this.on.length !== labels.length) this.on = labels.map(() => true);
    this.colors = colors.categorical;
    // Unchanged buttons stay in place: a double click needs the same element twice.
    const look = JSON.stringify([labels, colors]);
    if (look !== this.look) {
      this.buttons = labels.map((label, head) => this.button(label, head));
      const all = h("button", { onclick: () => this.show(() => true) }, "all");
      this.box.replaceChildren(...this.buttons, all);
    }
    this.look = look;
    this.mark();
  }

  /** @param {string} label @param {number} head */
  button(label, head) {
    const stroke = span(this.dashed(head) ? "stroke dashed" : "stroke");
    stroke.style.borderColor = this.color(head);
    const onclick = () => this.show((other) => (other === head) !== this.on[other]);
    const ondblclick = () => this.show((other) => other === head);
    return h("button", { onclick, ondblclick }, stroke, span("", label));
  }

  /** @param {(head: number) => boolean} isOn */
  show(isOn) {
    this.on = this.on.map((_, head) => isOn(head));
    this.mark();
    this.onChange();
  }

  mark() {
    for (const [head, button] of this.buttons.entries()) {
      button.ariaPressed = String(this.on[head]);
      button.style.borderColor = this.on[head] ? this.color(head) : "";
    }
  }
}
