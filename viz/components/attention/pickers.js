// @ts-check
// Choices between a few named values: a row of buttons, or a list. What they are for is said by their values, by
// their names for screen readers, and by their titles.

import { div, h } from "../shared/dom.js";

/** @typedef {[value: string, text: string][]} Options */

/** A choice; it is not seen where there is nothing to choose. */
class Picker {
  look = "";
  /** @type {Options} */
  options = [];
  /** @type {HTMLElement} */
  field = div("");

  /** @param {HTMLElement} parent @param {string} label @param {(value: string) => void} onChoose */
  constructor(parent, label, onChoose) {
    this.label = label;
    this.onChoose = onChoose;
    this.box = h("div", { class: "hl-picker", title: label });
    parent.append(this.box);
  }

  /** What a value is called. @param {string} value */
  textOf(value) {
    return this.options.find(([own]) => own === value)?.[1] ?? value;
  }

  /** @param {Options} options @param {string} chosen */
  show(options, chosen) {
    this.options = options;
    const look = JSON.stringify(options);
    this.box.hidden = options.length < 2;
    if (look !== this.look) {
      this.field = this.make(options);
      this.box.replaceChildren(this.field);
    }
    this.look = look;
    this.mark(chosen);
  }

  /** @param {Options} _options @returns {HTMLElement} */
  make(_options) {
    return div("");
  }

  /** @param {string} _chosen */
  mark(_chosen) {}
}

export class List extends Picker {
  /** @param {Options} options */
  make(options) {
    const entries = options.map(([value, text]) => h("option", { value }, text));
    const list = h(
      "select",
      { "aria-label": this.label, onchange: () => this.onChoose(list.value) },
      ...entries,
    );
    return list;
  }

  /** @param {string} chosen */
  mark(chosen) {
    /** @type {HTMLSelectElement} */ (this.field).value = chosen;
  }
}

export class Buttons extends Picker {
  /** @param {Options} options */
  make(options) {
    const buttons = options.map(([value, text]) =>
      h("button", { value, onclick: () => this.onChoose(value) }, text),
    );
    return h("div", { class: "hl-choice-row", role: "group", "aria-label": this.label }, ...buttons);
  }

  /** @param {string} chosen */
  mark(chosen) {
    for (const button of this.field.querySelectorAll("button")) {
      button.ariaPressed = String(button.value === chosen);
    }
  }
}
