// @ts-check
// How a cell's score is computed: the tokens, q · k, what else the model does to it, and the mask.

import { div, h, span } from "../../shared/dom.js";
import { quoted } from "../../shared/words.js";
import { dotProduct } from "./arithmetic.js";
import { tokenOf } from "./facts.js";
import { copied, formula, fraction, number, root, symbol, term } from "./number.js";
import { withoutMask } from "./summary.js";

/** @typedef {import("./facts.js").Facts} Facts */
/** @typedef {import("../../shared/dom.js").Child} Child */
/** @typedef {{rotated: boolean, normed: boolean}} Extras what this attention does to q and k before their product */

/** Tolerance for a scale to count as the root of d_head. */
const SAME = 1e-4;

/** @param {Facts} facts */
export function pair(facts) {
  const { run, attn, query, key, reason } = facts;
  const next = run.sides[attn.queries].written;
  const writes = next.length
    ? [next[query] ? `writes ${quoted(String(next[query]))}` : "writes nothing"]
    : [];
  return [
    div(
      "hl-pair",
      chip(`query ${query}`, tokenOf(facts, "queries", query), writes),
      span("hl-looks", reason ? "may not look at" : "looks at"),
      chip(`key ${key}`, tokenOf(facts, "keys", key), []),
    ),
  ];
}

/** @param {string} place @param {string} token @param {string[]} marks */
const chip = (place, token, marks) =>
  div("hl-chip", span("place", place), span("word", token), ...marks.map((mark) => span("mark", mark)));

/** The strips of q, k, their products and running sums. @param {Facts} facts @returns {import("./strips.js").Row[]} */
export function vectorRows(facts) {
  const { q, k, product, query, key, sources } = facts;
  const width = q?.length ?? 0;
  const ofQ = (/** @type {number | string} */ at) => sources.ofQuery("q", query, width, at);
  const ofK = (/** @type {number | string} */ at) => sources.ofKey("k", key, width, at);
  const times = (/** @type {number | string} */ at) => `${ofQ(at)} ${at === ":" ? "⊙" : "×"} ${ofK(at)}`;
  const upTo = (/** @type {number | string} */ at) =>
    `sum of q ⊙ k up to dimension ${at === ":" ? "0, 1, 2 …" : at} of ${sources.path}, head ${sources.head}`;
  const [asQuery, asKey] = [tokenOf(facts, "queries", query), tokenOf(facts, "keys", key)].map(quoted);
  const sum = "the sum so far; it ends at q · k";
  return [
    { name: "q", text: `query ${query} ${asQuery}`, values: q, source: ofQ },
    { name: "k", text: `key ${key} ${asKey}`, values: k, source: ofK },
    { name: "q ⊙ k", text: "q times k in each dimension", values: product?.terms, source: times },
    { name: "Σ q ⊙ k", text: sum, values: product?.sums, source: upTo, line: true },
  ];
}

/** @param {Facts} facts @returns {Child[]} */
export function scoreFormula(facts) {
  const { attn, q, product, score, query, key, sources, vectors } = facts;
  const scaling = scalingOf(facts);
  const cap = attn.soft_cap;
  const isBiased = attn.formula.includes("+ b");
  const bias = vectors.row("bias", query)?.[key];
  const dot = () => number("dot", product?.total, dotSource(facts));
  const products = () => [symbol("q"), " · ", symbol("k")];
  const times = [" · ", factorOf(facts)];
  const symbols = {
    root: fraction(products(), [root(symbol("d_head"))]),
    factor: span("", ...products(), ...times),
    none: span("", ...products()),
  }[scaling];
  const numbers = {
    root: fraction([dot()], [q ? root(q.length) : "…"]),
    factor: span("", dot(), ...times),
    none: dot(),
  }[scaling];
  /** @param {Child[]} parts */
  const capped = (parts) => (cap ? [`${cap} tanh((`, ...parts, `) / ${cap})`] : parts);
  return [
    formula(
      term(symbol("score"), " = ", ...capped([symbols, ...(isBiased ? [" + ", symbol("b")] : [])])),
      term(
        " = ",
        ...capped([
          numbers,
          ...(isBiased ? [" + ", number("bias", bias, sources.cell("position_bias", query, key))] : []),
        ]),
      ),
      term(" = ", number("score", score, sources.cell("scores", query, key))),
    ),
  ];
}

/**
 * Whether q · k is divided by the root of d_head, multiplied by another number, or neither.
 * @param {Facts} facts
 * @returns {"root" | "factor" | "none"}
 */
function scalingOf({ attn, q }) {
  if (attn.scale === 1) return "none";
  const isRoot = !q || Math.abs(attn.scale ** 2 - q.length) < SAME * q.length;
  return isRoot ? "root" : "factor";
}

/** The factor of q · k, in as few digits as possible. @param {Facts} facts */
const factorOf = ({ attn }) => String(Number((1 / attn.scale).toPrecision(6)));

/** @param {Facts} facts */
const dotSource = ({ q, query, key, sources }) =>
  `${sources.ofQuery("q", query, q?.length ?? 0)} · ${sources.ofKey("k", key, q?.length ?? 0)}`;

/**
 * How this attention differs from equation 1 of the paper.
 * @param {Facts} facts
 * @param {Extras} extras
 * @returns {Child[]}
 */
export function differences(facts, { rotated, normed }) {
  const { attn, query, key, sources } = facts;
  /** @type {Child[][]} */
  const notes = [];
  if (attn.formula.includes("+ b")) {
    notes.push([
      symbol("b"),
      ` is what this head adds for a key ${distance(key - query)}, whatever the tokens are.`,
    ]);
  }
  if (attn.scale === 1)
    notes.push(["This model was trained without the division by ", root(symbol("d_head")), "."]);
  if (scalingOf(facts) === "factor")
    notes.push([
      `This model multiplies by ${factorOf(facts)} and does not divide by `,
      root(symbol("d_head")),
      ".",
    ]);
  if (attn.soft_cap) notes.push([`A soft cap bends large scores: none goes beyond ±${attn.soft_cap}.`]);
  if (normed) {
    const before = earlier(facts, "unnormed", "norm.input");
    notes.push(["Each head's queries and keys are normalized first; before that, q · k was ", before, "."]);
  }
  if (rotated) {
    notes.push([
      `q and k are rotated by their positions, ${query} and ${key} (rotary positions); before that, q · k was `,
      earlier(facts, "unrotated", "unrotated"),
      ". The effect of the rotation depends only on their distance.",
    ]);
  }
  const shared = attn.heads / attn.kv_heads;
  if (shared > 1) {
    const first = sources.kv_head * shared;
    notes.push([
      `Heads ${first} to ${first + shared - 1} share head ${sources.kv_head} of keys and values; ` +
        "each has its own queries.",
    ]);
  }
  return notes.map((note) => h("p", { class: "hl-remark" }, ...note));
}

/**
 * q · k as it was before something was done to both.
 * @param {Facts} facts
 * @param {string} state as in the names of the pieces
 * @param {string} path as in the names of the trace
 */
function earlier({ vectors, query, key, sources }, state, path) {
  const [q, k] = [vectors.row(`q_${state}`, query), vectors.row(`k_${state}`, key)];
  const width = q?.length ?? 0;
  const source = `${sources.ofQuery(`q_${path}`, query, width)} · ${sources.ofKey(`k_${path}`, key, width)}`;
  return number(`dot ${state}`, q && k && dotProduct(q, k).total, source);
}

/** Describes a key's offset from its query. @param {number} offset */
export function distance(offset) {
  if (offset === 0) return "at the query's own position";
  const unit = Math.abs(offset) === 1 ? "position" : "positions";
  return `${Math.abs(offset)} ${unit} ${offset > 0 ? "after" : "before"} the query`;
}

/** @param {Facts} facts @returns {Child[]} */
export function mask({ reason, query, key, sources }) {
  const state = reason ? "closed" : "open";
  const answer = sources.path
    ? copied("mask", reason ? "False" : "True", sources.mask(query, key), state)
    : state;
  const does = reason
    ? `: ${withoutMask(reason)}. After the mask the score is −∞.`
    : ": this query may look at this key.";
  return [h("p", { class: "hl-sentence" }, "This cell is ", answer, does)];
}
