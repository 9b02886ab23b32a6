// @ts-check
// Where every head looks from one token, in all attentions in which the token is a query.

import { div } from "../../shared/dom.js";
import { quoted } from "../../shared/words.js";
import { RowsView } from "../rows/rows.js";
import { sayAbsent } from "./absent.js";
import { partHost } from "./host.js";

/** @typedef {import("../run.js").ViewerRun} ViewerRun */
/** @typedef {import("../run.js").AttentionView} AttentionView */

export class TokenPart {
  /** @type {AttentionView[]} */
  attentions = [];

  /** @param {HTMLElement} parent @param {(changed: any) => void} change */
  constructor(parent, change) {
    this.heading = div("hl-heading");
    this.inner = div("hl-part");
    this.box = div("hl-token", this.heading, this.inner);
    parent.append(this.box);
    const select = (/** @type {any} */ { block, layer, head }) =>
      change({ attention: this.attentions[block].name, layer, head });
    this.view = new RowsView(this.inner, partHost(select));
    this.view.build();
  }

  /** @param {import("../panels.js").Scene} scene */
  show({ run, choice, attn, cell, colors }) {
    const query = cell[0];
    const own = run.attentions.filter(({ queries }) => queries === attn.queries).reverse();
    const blocks = own.map((one) => rowsFrom(run, one, query));
    const isMissing = blocks.includes(null);
    sayAbsent(this.box, isMissing ? run.absent : "");
    if (isMissing) return;
    const title = `Where every head looks from ${quoted(run.sides[attn.queries].tokens[query])}, position ${query}`;
    this.attentions = own;
    this.heading.textContent = title;
    const weights = Object.fromEntries(blocks.map((rows, i) => [`weights${i}`, rows]));
    this.view.data = /** @type {any} */ ({
      colors,
      title,
      layers: attn.layers,
      heads: attn.heads,
      blocks: own.map(({ label, keys }) => ({ name: label, tokens: run.sides[keys].tokens })),
      selected: [own.indexOf(attn), choice.layer, choice.head],
      ...weights,
    });
    this.view.update();
  }
}

/**
 * The rows of a query in all heads of all layers, one after the other; null while they are missing.
 * @param {ViewerRun} run
 * @param {AttentionView} attn
 * @param {number} query
 * @returns {Float32Array | null}
 */
function rowsFrom(run, attn, query) {
  if (!run.hasAll(attn)) return run.array(`row:${attn.name}:${query}`, "values");
  const [, keys] = run.size(attn);
  const rows = new Float32Array(attn.layers * attn.heads * keys);
  for (let map = 0; map < attn.layers * attn.heads; map++) {
    const weights = run.weights(attn, Math.floor(map / attn.heads), map % attn.heads);
    if (!weights) return null;
    rows.set(weights.subarray(query * keys, (query + 1) * keys), map * keys);
  }
  return rows;
}
