// @ts-check
// The numbers of a picture as a table, made when it is opened.

import { copyText } from "../../shared/clipboard.js";
import { namedButton } from "../../shared/controls.js";
import { div, h, span } from "../../shared/dom.js";
import { announcer } from "../../shared/words.js";
import { csvOf } from "./csv.js";

/**
 * The contents of a table; rows are computed when they are shown.
 * @typedef {object} Numbers
 * @property {string} caption
 * @property {string} corner what rows and columns are
 * @property {Heading[]} columns
 * @property {Heading[]} rows
 * @property {(row: number) => string[]} cells of a row, as displayed
 * @property {(row: number) => (string | number)[]} exact cells of a row, as copied
 */
/** @typedef {[place: string, name: string, title?: string]} Heading */

/** Browsers are slow to lay out more cells than this at once. */
const MOST_CELLS = 6000;

export class NumbersTable {
  /** @type {Numbers[]} */
  #all = [];
  #first = 0;
  /** What the open table was made from. @type {unknown} */
  #shown = null;
  list = h("select", { "aria-label": "Table of", onchange: () => this.#open(0) });
  position = span("");
  pages = div(
    "hl-choice-row",
    namedButton("←", "earlier rows", () => this.#open(this.#first - this.#perPage)),
    namedButton("→", "later rows", () => this.#open(this.#first + this.#perPage)),
  );
  copied = h("button", { onclick: () => this.#copy() }, "Copy as CSV");
  inner = h("div", {
    class: "hl-table",
    tabindex: 0,
    role: "group",
    "aria-label": "Table of these numbers",
  });

  /** @param {HTMLElement} parent @param {string} summary */
  constructor(parent, summary) {
    const bar = div("hl-bar", this.list, this.copied, this.pages, this.position);
    this.box = h(
      "details",
      { class: "hl-numbers", ontoggle: () => this.#refresh() },
      h("summary", {}, summary),
      bar,
      this.inner,
    );
    this.say = announcer(this.box);
    parent.append(this.box);
  }

  /**
   * Take other numbers.
   * @param {unknown[]} look what the numbers depend on: an open table is made again when any of these changes
   * @param {() => Numbers[]} make
   */
  show(look, make) {
    this.look = look;
    this.make = make;
    this.#refresh();
  }

  #refresh() {
    if (!this.box.open || !this.make) return;
    const shown = /** @type {unknown[] | null} */ (this.#shown);
    if (shown?.length === this.look?.length && shown?.every((value, i) => value === this.look?.[i])) return;
    this.#shown = this.look;
    this.#all = this.make();
    const chosen = this.list.selectedIndex;
    this.list.replaceChildren(...this.#all.map(({ caption }) => h("option", {}, caption)));
    this.list.selectedIndex = chosen < 0 || chosen >= this.#all.length ? 0 : chosen;
    this.list.hidden = this.#all.length < 2;
    this.copied.disabled = !this.#all.length;
    // Missing numbers are shown when they arrive.
    if (this.#all.length) this.#open(this.#first);
    else this.inner.replaceChildren();
  }

  get #numbers() {
    return this.#all[Math.max(0, this.list.selectedIndex)];
  }

  get #perPage() {
    return Math.max(1, Math.floor(MOST_CELLS / this.#numbers.columns.length));
  }

  /** Show the rows from `first` on. @param {number} first */
  #open(first) {
    const { caption, corner, columns, rows, cells } = this.#numbers;
    const size = this.#perPage;
    this.#first = first < rows.length ? Math.max(0, first) : 0;
    const end = Math.min(this.#first + size, rows.length);
    const head = h("tr", {}, h("th", { scope: "col" }, corner), ...columns.map((own) => heading(own, "col")));
    const body = rows.slice(this.#first, end).map((own, i) => {
      const texts = cells(this.#first + i);
      return h("tr", {}, heading(own, "row"), ...texts.map((text) => h("td", {}, text)));
    });
    this.inner.replaceChildren(
      h("table", {}, h("caption", {}, caption), h("thead", {}, head), h("tbody", {}, ...body)),
    );
    this.pages.hidden = this.position.hidden = rows.length <= size;
    this.position.textContent = `rows ${this.#first} to ${end - 1} of ${rows.length}`;
  }

  async #copy() {
    const { corner, columns, rows, exact } = this.#numbers;
    const table = [
      [corner, ...columns.map(([, name]) => name)],
      ...rows.map(([, name], row) => [name, ...exact(row)]),
    ];
    const done = await copyText(csvOf(table), this.box);
    const result = done ? `Copied ${rows.length} rows` : "The browser refused to copy";
    this.copied.textContent = result;
    this.say(result);
    setTimeout(() => {
      this.copied.textContent = "Copy as CSV";
    }, 2500);
  }
}

/** @param {Heading} own @param {"row" | "col"} scope */
function heading([place, name, title = ""], scope) {
  const parts = place ? [span("place", place), " "] : [];
  return h("th", title ? { scope, title } : { scope }, ...parts, span("word", name));
}
