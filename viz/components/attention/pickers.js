// @ts-check
// Pickers of one of a few named values: a row of buttons, or a list. Their purpose is in their values, their titles
// and their names for screen readers.

import { buttonRow } from "../shared/controls.js";
import { div, h } from "../shared/dom.js";

/** @typedef {[value: string, text: string][]} Options */

/** A picker, hidden where there is nothing to choose. */
class Picker {
  look = "";
  /** @type {Options} */
  options = [];
  /** @type {HTMLElement} */
  field = div("");

  /** @param {string} label @param {(value: string) => void} onChoose */
  constructor(label, onChoose) {
    this.label = label;
    this.onChoose = onChoose;
    this.box = h("div", { class: "hl-picker", title: label });
  }

  /** The text of a value. @param {string} value */
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
  press = (/** @type {string} */ _chosen) => {};

  /** @param {Options} options */
  make(options) {
    const { row, press } = buttonRow(this.label, options, this.onChoose);
    this.press = press;
    return row;
  }

  /** @param {string} chosen */
  mark(chosen) {
    this.press(chosen);
  }
}
