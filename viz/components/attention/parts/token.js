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
  families = [];

  /** @param {HTMLElement} parent @param {(changed: any) => void} change */
  constructor(parent, change) {
    this.heading = div("hl-heading");
    this.inner = div("hl-part");
    this.box = div("hl-token", this.heading, this.inner);
    parent.append(this.box);
    const select = (/** @type {any} */ { block, layer, head }) =>
      change({ attention: this.families[block].name, layer, head });
    this.view = new RowsView(this.inner, partHost(select));
    this.view.build();
  }

  /** @param {import("../panels.js").Scene} scene */
  show({ run, choice, family, cell, colors }) {
    const query = cell[0];
    const own = run.families.filter(({ queries }) => queries === family.queries).reverse();
    const blocks = own.map((one) => rowsFrom(run, one, query));
    const isMissing = blocks.includes(null);
    sayAbsent(this.box, isMissing ? run.absent : "");
    if (isMissing) return;
    const title = `Where every head looks from ${quoted(run.sides[family.queries].tokens[query])}, position ${query}`;
    this.families = own;
    this.heading.textContent = title;
    const weights = Object.fromEntries(blocks.map((rows, i) => [`weights${i}`, rows]));
    this.view.data = /** @type {any} */ ({
      colors,
      title,
      layers: family.layers,
      heads: family.heads,
      blocks: own.map(({ label, keys }) => ({ name: label, tokens: run.sides[keys].tokens })),
      selected: [own.indexOf(family), choice.layer, choice.head],
      ...weights,
    });
    this.view.update();
  }
}

/**
 * The rows of a query in all heads of all layers, one after the other; null while they are missing.
 * @param {ViewerRun} run
 * @param {AttentionView} family
 * @param {number} query
 * @returns {Float32Array | null}
 */
function rowsFrom(run, family, query) {
  if (!run.hasAll(family)) return run.array(`row:${family.name}:${query}`, "values");
  const [, keys] = run.size(family);
  const rows = new Float32Array(family.layers * family.heads * keys);
  for (let map = 0; map < family.layers * family.heads; map++) {
    const weights = run.weights(family, Math.floor(map / family.heads), map % family.heads);
    if (!weights) return null;
    rows.set(weights.subarray(query * keys, (query + 1) * keys), map * keys);
  }
  return rows;
}
