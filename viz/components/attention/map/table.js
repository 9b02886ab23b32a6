// @ts-check
// One token's row in every attention and head, as tables that can be read without the picture.

import { div, h, span } from "../../shared/dom.js";
import { format } from "../../shared/numbers.js";
import { relationsOf, strongest, weightsOf } from "./links.js";
import { sample } from "./strokes.js";
import { doing } from "./words.js";

/** @typedef {import("./links.js").Token} Token */
/** @typedef {import("./links.js").Relation} Relation */

/**
 * @typedef {object} Rows
 * @property {import("./links.js").Column[]} columns
 * @property {import("./links.js").Link[]} links
 * @property {import("./strokes.js").Stroke[]} strokes of all heads
 * @property {number[]} shown heads
 */

/** How many of the strongest tokens to name. */
const NAMED = 4;
/** Milliseconds that the pointer must rest, because writing this many numbers takes longer than a frame. */
const RESTED = 40;
const ADVICE = "Hover a token, or move to one with the arrow keys, to see its row in every head.";
const NOTHING = "\u00a0";

/**
 * A box with one table per attention of a token. The tables are empty without a token, and the box keeps its height
 * with fewer heads: otherwise the page would move, and a double click's second click would hit another button.
 */
export class RowTables {
  look = "";
  /** The attentions and the width for which the height holds. */
  place = "";
  /** @type {Table[]} */
  tables = [];
  box = h("div", {
    class: "hl-rows",
    tabindex: 0,
    role: "group",
    "aria-label": "The row of a token in every head",
  });

  /** @param {Rows & {width: number}} rows in a picture of this width @param {Token | null} token */
  show(rows, token) {
    const relations = relationsOf(rows.links, token ?? [0, 0]);
    const heads = relations.map(({ link }) => rows.shown.filter((head) => head < link.heads.length));
    const look = JSON.stringify([heads, rows.strokes]);
    const place = JSON.stringify([relations.map(({ link }) => link.label), rows.width]);
    if (place !== this.place) this.box.style.minHeight = "";
    if (look !== this.look) {
      if (place === this.place) this.box.style.minHeight = `${this.box.offsetHeight}px`;
      this.tables = heads.map((own) => new Table(own, rows.strokes));
      this.box.replaceChildren(...this.tables.map(({ box }) => box));
    }
    this.look = look;
    this.place = place;
    clearTimeout(this.#timer);
    this.#timer = Number(setTimeout(() => this.#fill(rows, relations, token), RESTED));
  }

  /** @param {Rows} rows @param {Relation[]} relations @param {Token | null} token */
  #fill(rows, relations, token) {
    for (const [i, relation] of relations.entries()) {
      if (token) this.tables[i].show(rows, relation, token);
      else this.tables[i].clear(i ? NOTHING : ADVICE);
    }
  }

  #timer = 0;
}

/** One attention, with one row per head; made once and then filled many times a second. */
class Table {
  /** @param {number[]} heads @param {import("./strokes.js").Stroke[]} strokes */
  constructor(heads, strokes) {
    this.heads = heads;
    this.caption = h("caption", { class: "quiet" }, NOTHING);
    this.cells = heads.map(() => Array.from({ length: NAMED }, () => new Named()));
    const rows = heads.map((head, i) => {
      const name = h("th", { scope: "row" }, sample(strokes[head]), span("", `head ${head}`));
      return h("tr", {}, name, h("td", {}, div("", ...this.cells[i].map(({ box }) => box))));
    });
    this.box = h("table", {}, this.caption, h("tbody", {}, ...rows));
  }

  /** @param {string} caption */
  clear(caption) {
    this.caption.className = "quiet";
    this.caption.textContent = caption;
    for (const cell of this.cells) for (const named of cell) named.box.hidden = true;
  }

  /** @param {Rows} rows @param {Relation} relation @param {Token} token */
  show(rows, relation, token) {
    this.caption.className = "";
    this.caption.textContent = doing(rows, relation, token);
    const { labels } = rows.columns[relation.other];
    for (const [i, head] of this.heads.entries()) {
      const weights = weightsOf(relation, head, token[1]);
      const places = weights ? strongest(weights, NAMED) : [];
      for (const [k, named] of this.cells[i].entries()) {
        named.box.hidden = k >= places.length;
        if (weights && k < places.length) named.show(labels, places[k], weights[places[k]]);
      }
      if (!places.length) this.cells[i][0].say(weights ? "nothing" : "still loading");
    }
  }
}

/** A token with its weight, and with its position if the same token occurs more than once. */
class Named {
  word = span("word");
  place = h("sub", { class: "quiet" });
  weight = span("weight");
  box = span("hl-named", this.word, this.place, " ", this.weight);

  /** @param {string[]} labels @param {number} place @param {number} weight */
  show(labels, place, weight) {
    const isOnly = labels.indexOf(labels[place]) === labels.lastIndexOf(labels[place]);
    this.word.textContent = labels[place];
    this.place.textContent = isOnly ? "" : String(place);
    this.weight.textContent = format(weight, 3);
  }

  /** @param {string} text */
  say(text) {
    this.box.hidden = false;
    this.word.textContent = text;
    this.place.textContent = this.weight.textContent = "";
  }
}
