// @ts-check
// The pickers above the pictures: which attention and head, which view, and which numbers.

import { div, h } from "../shared/dom.js";
import { againstOf, hasWords, MEASURES, measuresOf, VIEWS } from "./choice.js";
import { ordersOf, SCORES } from "./grid/order.js";
import { Buttons, List } from "./pickers.js";

/** @typedef {import("./choice.js").Choice} Choice */
/** @typedef {import("./run.js").ViewerRun} ViewerRun */
/** @typedef {import("./pickers.js").Options} Options */

/** Options in the fold, with their defaults. @type {Partial<Choice>} */
const SELDOM = {
  measure: "weights",
  sort: "layer",
  by: "token",
  rows: "written",
  special: "keep",
  against: "",
};
/** In fewer pixels than this the views are in the fold. */
const WIDE = 830;

export class Bars {
  /** @type {Record<string, Buttons | List>} */
  pickers = {};

  /** @param {(changed: Partial<Choice>) => void} change */
  constructor(change) {
    this.change = change;
    this.often = div("hl-pickers");
    this.seldom = div("hl-pickers");
    this.summary = h("summary", {}, "");
    this.more = h("details", { class: "hl-more" }, this.summary, this.seldom);
    this.often.append(this.more);
    this.box = div("hl-bars-of-choice", this.often);
  }

  /** @param {ViewerRun} run @param {Choice} choice @param {number} width available */
  show(run, choice, width) {
    const attn = run.attn(choice.attention);
    const attentions = run.attentions.map(({ name, label }) => pair(name, label));
    this.#pick(List, "attention", "Which attention", attentions, choice);
    this.#pick(List, "layer", "Layer", numbered("layer", attn.layers), choice);
    this.#pick(List, "head", "Head", numbered("head", attn.heads), choice);
    const views = run.views.map((view) => pair(view, VIEWS[view]));
    this.#pick(Buttons, "view", "View", views, choice);
    const changed = this.#showMore(run, attn, choice);
    const { view } = this.pickers;
    if (width >= WIDE) this.often.insertBefore(view.box, this.more);
    else this.seldom.prepend(view.box);
    const summary = width >= WIDE ? "More" : "Views and more";
    this.summary.textContent = changed ? `${summary}: ${changed}` : summary;
    this.more.hidden = [...this.seldom.children].every(
      (picker) => /** @type {HTMLElement} */ (picker).hidden,
    );
  }

  /**
   * @param {ViewerRun} run
   * @param {import("./run.js").AttentionView} attn
   * @param {Choice} choice
   * @returns {string} what is not as usual
   */
  #showMore(run, attn, choice) {
    const measures = measuresOf(attn).map((name) => pair(name, MEASURES[name]));
    const orders = run.hasGrid ? ordersOf(run, attn) : [];
    const sorts = orders.map((name) => pair(name, SCORES[name]?.name ?? "heads by layer"));
    const against = againstOf(run, attn).filter((name) => name !== `head ${choice.head}`);
    const named = against.map((name) => pair(name, name ? `compared with ${name}` : "compared with nothing"));
    const by = hasWords(run, attn) ? BY : [];
    const rows = run.sides[attn.queries].written.length ? ROWS : [];
    this.#pick(List, "measure", "Numbers in the cells", measures, choice);
    this.#pick(List, "sort", "Order of the small heads", sorts, choice);
    this.pickers.sort.box.title = SCORES[choice.sort]?.explanation ?? "";
    this.#pick(List, "by", "Rows and columns", by, choice);
    this.#pick(List, "rows", "Row labels", rows, choice);
    this.#pick(List, "special", "Special tokens and punctuation", SPECIAL, choice);
    this.#pick(List, "against", "Comparison", named, choice);
    const changed = Object.entries(SELDOM).flatMap(([name, usual]) => {
      const { [name]: picker } = this.pickers;
      const isUsual = picker.box.hidden || choice[/** @type {"by"} */ (name)] === usual;
      return isUsual ? [] : [picker.textOf(choice[/** @type {"by"} */ (name)])];
    });
    return changed.join(", ");
  }

  /**
   * @param {typeof Buttons | typeof List} Kind
   * @param {keyof Choice} name
   * @param {string} label
   * @param {Options} options
   * @param {Choice} choice
   */
  #pick(Kind, name, label, options, choice) {
    const isNumber = typeof choice[name] === "number";
    if (!this.pickers[name]) {
      const picker = new Kind(label, (value) => this.change({ [name]: isNumber ? Number(value) : value }));
      this.pickers[name] = picker;
      if (name in SELDOM) this.seldom.append(picker.box);
      else this.often.insertBefore(picker.box, this.more);
    }
    this.pickers[name].show(options, String(choice[name]));
  }
}

/** @type {Options} */
const BY = [
  ["token", "each sub-word"],
  ["word", "each word"],
];
/** @type {Options} */
const ROWS = [
  ["read", "rows named by the token read"],
  ["written", "rows named by the token written"],
];
/** @type {Options} */
const SPECIAL = [
  ["keep", "special tokens and punctuation shown"],
  ["hide", "special tokens and punctuation hidden"],
  ["spread", "hidden, their weight spread over the rest"],
];

/** @param {string} value @param {string} text @returns {[string, string]} */
const pair = (value, text) => [value, text];

/** @param {string} name @param {number} count */
const numbered = (name, count) => Array.from({ length: count }, (_, i) => pair(String(i), `${name} ${i}`));
