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
const SELDOM = { by: "token", rows: "read", special: "keep", against: "" };

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
    this.box = div("hl-bars-of-choice", this.often, this.more);
  }

  /** @param {ViewerRun} run @param {Choice} choice */
  show(run, choice) {
    const attn = run.attn(choice.attention);
    const attentions = run.attentions.map(({ name, label }) => pair(name, label));
    this.#pick(Buttons, this.often, "attention", "Which attention", attentions, choice);
    this.#pick(List, this.often, "layer", "Layer", numbered("layer", attn.layers), choice);
    this.#pick(List, this.often, "head", "Head", numbered("head", attn.heads), choice);
    const measures = measuresOf(attn).map((name) => pair(name, MEASURES[name]));
    this.#pick(List, this.often, "measure", "Numbers in the cells", measures, choice);
    const views = run.views.map((view) => pair(view, VIEWS[view]));
    this.#pick(Buttons, this.often, "view", "View", views, choice);
    const orders = run.hasGrid ? ordersOf(run, attn) : [];
    const named = orders.map((name) => pair(name, SCORES[name]?.name ?? "by layer"));
    this.#pick(List, this.often, "sort", "Order of the small maps", named, choice);
    this.pickers.sort.box.title = SCORES[choice.sort]?.explanation ?? "";
    this.#showMore(run, attn, choice);
  }

  /** @param {ViewerRun} run @param {import("./run.js").AttentionView} attn @param {Choice} choice */
  #showMore(run, attn, choice) {
    const against = againstOf(run, attn).filter((name) => name !== `head ${choice.head}`);
    const named = against.map((name) => pair(name, name ? `compared with ${name}` : "compared with nothing"));
    const by = hasWords(run, attn) ? BY : [];
    const rows = run.sides[attn.queries].written.length ? ROWS : [];
    this.#pick(List, this.seldom, "by", "Rows and columns", by, choice);
    this.#pick(List, this.seldom, "rows", "Row labels", rows, choice);
    this.#pick(List, this.seldom, "special", "Special tokens and punctuation", SPECIAL, choice);
    this.#pick(List, this.seldom, "against", "Comparison", named, choice);
    const changed = Object.entries(SELDOM).flatMap(([name, usual]) => {
      const { [name]: picker } = this.pickers;
      const isUsual = choice[/** @type {"by"} */ (name)] === usual;
      return isUsual ? [] : [picker.textOf(choice[/** @type {"by"} */ (name)])];
    });
    this.summary.textContent = changed.length ? `More: ${changed.join(", ")}` : "More";
  }

  /**
   * @param {typeof Buttons | typeof List} Kind
   * @param {HTMLElement} parent
   * @param {keyof Choice} name
   * @param {string} label
   * @param {Options} options
   * @param {Choice} choice
   */
  #pick(Kind, parent, name, label, options, choice) {
    const isNumber = typeof choice[name] === "number";
    this.pickers[name] ??= new Kind(parent, label, (value) =>
      this.change({ [name]: isNumber ? Number(value) : value }),
    );
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
