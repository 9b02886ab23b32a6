// @ts-check
// How a number between two words, or one without hidden tokens, is computed from the model's own weights.

import { div, h, span } from "../../shared/dom.js";
import { quoted } from "../../shared/words.js";
import { wordWeight } from "./arithmetic.js";
import { tokenOf } from "./facts.js";
import { formula, fraction, number, term, written } from "./number.js";

/** @typedef {import("./facts.js").Facts} Facts */
/** @typedef {import("../panels.js").Scene} Scene */
/** @typedef {import("../../shared/dom.js").Child} Child */
/** @typedef {(changed: {cell: import("../choice.js").Cell}) => void} Follow */

/** The most terms of a sum to write out; of more, the middle ones are left out. */
const MOST_TERMS = 4;
const SUB_WORDS =
  "The model knows only sub-words: weights on the sub-words of a key are added up, those of a query’s sub-words are " +
  "averaged.";
const SPREAD =
  "The weight of hidden tokens is spread over the others: each weight is divided by the row’s total weight on the tokens shown. " +
  "The model itself does not do this.";

/**
 * The part above the steps; empty if the cell is a number of the model itself.
 * @param {Scene} scene
 * @param {Facts} facts
 * @param {Follow} follow
 * @returns {Child[]}
 */
export function ofSeveral(scene, facts, follow) {
  const { sheet, cell, run } = scene;
  const { attn, layer, head } = facts;
  const place = sheet.place(cell);
  if (!place)
    return [
      h(
        "p",
        { class: "hl-sentence" },
        "The picture above does not show this cell: its query or its key is hidden.",
      ),
    ];
  const [queries, keys] = [sheet.groups[0][place[0]], sheet.groups[1][place[1]]];
  const isOne = queries.length === 1 && keys.length === 1;
  if (isOne && !sheet.spread) return [];
  const weights = run.weights(attn, layer, head);
  const { sums, mean } = weights
    ? wordWeight(weights, queries, keys, sheet.size[1])
    : { sums: null, mean: null };
  const between = isOne ? [] : betweenWords(scene, facts, weights, { queries, keys, sums });
  const kept = weights && sheet.spread ? Math.fround(sheet.keptMass(weights, place[0])) : null;
  const result = [...averaged(queries, sums, mean), ...(sheet.spread ? spread(mean, kept) : [])];
  return [
    ...between,
    formula(...result),
    ...(sheet.spread ? [h("p", { class: "hl-remark" }, SPREAD)] : []),
    ...(isOne ? [] : [followed(facts, queries, keys, follow)]),
  ];
}

/**
 * The weights between the sub-words of two words, with the sum of each row.
 * @param {Scene} scene
 * @param {Facts} facts
 * @param {Float32Array | null} weights
 * @param {{queries: number[], keys: number[], sums: number[] | null}} words
 * @returns {Child[]}
 */
function betweenWords({ sheet }, facts, weights, { queries, keys, sums }) {
  const { sources } = facts;
  const name = (/** @type {"queries" | "keys"} */ axis, /** @type {number} */ at) =>
    h(
      "th",
      { scope: axis === "keys" ? "col" : "row" },
      span("place", at),
      " ",
      span("word", tokenOf(facts, axis, at)),
    );
  const rows = queries.map((query, i) =>
    h(
      "tr",
      {},
      name("queries", query),
      ...keys.map((key) =>
        h(
          "td",
          query === facts.query && key === facts.key ? { class: "hl-chosen", "aria-current": "true" } : {},
          number(
            `weight ${query} ${key}`,
            weights?.[query * sheet.size[1] + key],
            sources.cell("weights", query, key),
          ),
        ),
      ),
      h("td", {}, number(`sum ${query}`, sums?.[i], `Σ ${sources.cell("weights", query, rangeOf(keys))}`)),
    ),
  );
  const words = `${wordOf(facts, "queries", queries)} looks at ${wordOf(facts, "keys", keys)}.`;
  const heads = [h("td", {}), ...keys.map((key) => name("keys", key)), h("th", { scope: "col" }, "sum")];
  return [
    h("p", { class: "hl-sentence" }, h("strong", {}, words), ` ${SUB_WORDS}`),
    div(
      "hl-scrolls",
      h("table", { class: "hl-words" }, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows)),
    ),
  ];
}

/** A word and its tokens. @param {Facts} facts @param {"queries" | "keys"} axis @param {number[]} positions */
function wordOf({ run, attn }, axis, positions) {
  const { words, word_of } = run.sides[attn[axis]];
  const place = positions.length > 1 ? `${positions[0]} to ${positions[positions.length - 1]}` : positions[0];
  const name = quoted(words?.[word_of?.[positions[0]] ?? 0] ?? "");
  return `${name} (sub-word${positions.length > 1 ? "s" : ""} ${place})`;
}

/** Positions as a tensor index. @param {number[]} positions */
const rangeOf = (positions) =>
  positions.length > 1 ? `${positions[0]}:${positions[positions.length - 1] + 1}` : positions[0];

/** @param {number[]} queries @param {number[] | null} sums @param {number | null} mean @returns {Child[]} */
function averaged(queries, sums, mean) {
  const source = "mean over the query's sub-words of the sums over the key's";
  const result = number("mean", mean, source);
  if (queries.length === 1) return [term("weight = ", result)];
  const terms = sums ? shortened(sums.map(written)).join(" + ") : "…";
  return [term("weight = ", fraction([terms], [queries.length])), term(" = ", result)];
}

/** @param {string[]} terms */
const shortened = (terms) =>
  terms.length <= MOST_TERMS ? terms : [...terms.slice(0, MOST_TERMS - 2), "…", terms[terms.length - 1]];

/** @param {number | null} mean @param {number | null} kept @returns {Child[]} */
function spread(mean, kept) {
  const source = "the row's total weight on the columns shown";
  const result = mean === null || kept === null ? null : Math.fround(mean / (kept || 1));
  return [
    term(", spread: ", fraction([mean === null ? "…" : written(mean)], [number("kept", kept, source)])),
    term(" = ", number("spread", result, "the weight / the row's total weight on the columns shown")),
  ];
}

/** @param {Facts} facts @param {number[]} queries @param {number[]} keys @param {Follow} follow */
function followed(facts, queries, keys, follow) {
  const pairs = queries.flatMap((query) => keys.map((key) => /** @type {[number, number]} */ ([query, key])));
  const options = pairs.map(([query, key]) => {
    const text = `${query} ${quoted(tokenOf(facts, "queries", query))} looks at ${key} ${quoted(tokenOf(facts, "keys", key))}`;
    const isChosen = query === facts.query && key === facts.key;
    return h("option", { value: `${query},${key}`, ...(isChosen ? { selected: "" } : {}) }, text);
  });
  const list = h(
    "select",
    {
      "data-name": "followed",
      onchange: () => follow({ cell: pairs[list.selectedIndex] }),
    },
    ...options,
  );
  return h(
    "label",
    { class: "hl-followed" },
    "Scores and softmax are those of sub-words. Below, follow ",
    list,
  );
}
