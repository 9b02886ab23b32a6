// @ts-check
// Where every head looks from one token, in all attentions in which the token is a query.

import { div } from "../../shared/dom.js";
import { quoted } from "../../shared/words.js";
import { List } from "../pickers.js";
import { RowsView } from "../rows/rows.js";
import { strongestOther } from "../token.js";
import { sayAbsent } from "./absent.js";
import { partHost } from "./host.js";

/** @typedef {import("../run.js").ViewerRun} ViewerRun */
/** @typedef {import("../run.js").AttentionView} AttentionView */

export class TokenPart {
  /** @type {AttentionView[]} */
  attentions = [];
  /** @type {import("../panels.js").Scene} */
  scene;

  /** @param {HTMLElement} parent @param {(changed: any) => void} change */
  constructor(parent, change) {
    this.heading = div("hl-heading");
    this.picker = new List("Token", (value) => {
      const query = Number(value);
      change({
        cell: [query, strongestOther(this.scene.run, this.scene.attn, this.scene.choice, query, true)],
      });
    });
    this.inner = div("hl-part");
    this.box = div("hl-token", div("hl-bar", this.picker.box, this.heading), this.inner);
    parent.append(this.box);
    const select = (/** @type {any} */ { block, layer, head }) => {
      const { [block]: attn } = this.attentions;
      const { run, cell } = this.scene;
      const key = strongestOther(run, attn, { layer, head }, cell[0], true);
      change({ attention: attn.name, layer, head, cell: [cell[0], key] });
    };
    this.view = new RowsView(this.inner, partHost(select));
    this.view.build();
  }

  /** @param {import("../panels.js").Scene} scene */
  show(scene) {
    const { run, choice, attn, cell, colors } = scene;
    this.scene = scene;
    const query = cell[0];
    const own = run.attentions.filter(({ queries }) => queries === attn.queries).reverse();
    const exact = own.map((one) => exactRows(run, one, query));
    const isRough = exact.includes(null);
    sayAbsent(this.box, isRough ? run.absent : "");
    if (isRough && run.absent) return;
    const blocks = own.map((one, i) => exact[i] ?? roughRows(run, one, query));
    const { tokens, written } = run.sides[attn.queries];
    const isWritten = choice.rows === "written" && written[query];
    const named = isWritten
      ? `when it writes ${quoted(written[query] ?? "")}`
      : `from ${quoted(tokens[query])}`;
    const title = `Where every head looks ${named}, position ${query}`;
    this.picker.show(
      tokens.map((token, i) => [String(i), `${i}: ${(choice.rows === "written" && written[i]) || token}`]),
      String(query),
    );
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
      isRough,
      ...weights,
    });
    this.view.update();
  }
}

/** @param {ViewerRun} run @param {AttentionView} attn @param {number} query @returns {Float32Array | null} null while they are missing */
const exactRows = (run, attn, query) =>
  run.hasAll(attn)
    ? rowsOf(attn, query, run.size(attn)[1], (layer, head) => run.weights(attn, layer, head))
    : run.array(`row:${attn.name}:${query}`, "values");

/** @param {ViewerRun} run @param {AttentionView} attn @param {number} query @returns {Float32Array | null} see `ViewerRun.rough` */
const roughRows = (run, attn, query) =>
  rowsOf(attn, query, run.size(attn)[1], (layer, head) => run.rough(attn, layer, head));

/**
 * The rows of a query in all heads of all layers, one after the other; null if any head's weights are missing.
 * @param {AttentionView} attn
 * @param {number} query
 * @param {number} keys
 * @param {(layer: number, head: number) => Float32Array | null} weightsOf
 * @returns {Float32Array | null}
 */
function rowsOf(attn, query, keys, weightsOf) {
  const rows = new Float32Array(attn.layers * attn.heads * keys);
  for (let map = 0; map < attn.layers * attn.heads; map++) {
    const weights = weightsOf(Math.floor(map / attn.heads), map % attn.heads);
    if (!weights) return null;
    rows.set(weights.subarray(query * keys, (query + 1) * keys), map * keys);
  }
  return rows;
}
