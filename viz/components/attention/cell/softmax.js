// @ts-check
// How a row's scores become its weights.

import { div, h, span } from "../../shared/dom.js";
import { sum } from "../../shared/numbers.js";
import { shownKeys } from "./arithmetic.js";
import { tokenOf } from "./facts.js";
import { formula, fraction, newLine, number, power, symbol, term } from "./number.js";

/** @typedef {import("./facts.js").Facts} Facts */
/** @typedef {import("../../shared/dom.js").Child} Child */

/** The most rows of the table; of more keys, the heaviest are shown. */
const MOST = 12;

/** @param {Facts} facts @returns {Child[]} */
export function weightFormula(facts) {
  const { weight, softmax, query, key, sources } = facts;
  if (softmax && softmax.strongest < 0) {
    return [h("p", { class: "hl-sentence" }, "No key is open to this query: all its weights are 0.")];
  }
  const symbols = () => power(symbol("score"), " − ", symbol("largest"));
  const denominator = (/** @type {string} */ name) => number(name, softmax?.total, denominatorSource(facts));
  const all = span("", "Σ", h("sub", {}, "open keys"), " ", symbols());
  const result = number("weight of softmax", weight, sources.cell("weights", query, key));
  return [
    formula(
      term(symbol("weight"), " = ", fraction([symbols()], [all])),
      newLine(),
      term(" = ", fraction([power(...exponent(facts))], [denominator("denominator")])),
      term(
        " = ",
        fraction(
          [number("power", softmax?.powers[key], powerSource(facts, key))],
          [denominator("denominator again")],
        ),
      ),
      term(" = ", result),
    ),
  ];
}

/** The exponent for the chosen cell. @param {Facts} facts @returns {Child[]} */
function exponent({ reason, score, softmax, query, key, sources }) {
  if (reason) return ["−∞"];
  const largest = softmax?.largest;
  const parts = [
    number("score in softmax", score, sources.cell("scores", query, key)),
    " − ",
    number("largest", largest, sources.cell("scores", query, softmax?.strongest ?? ":")),
  ];
  return largest !== undefined && largest < 0 ? [...parts.slice(0, 2), "(", parts[2], ")"] : parts;
}

/** @param {Facts} facts @param {number} key */
const powerSource = ({ query, sources }, key) =>
  `e^(${sources.cell("scores", query, key)} − the largest open score of row ${query})`;

/** @param {Facts} facts */
const denominatorSource = ({ query, sources }) =>
  `Σ e^(score − largest) over the open keys of ${sources.cell("scores", query, ":")}`;

/** The row, key by key. @param {Facts} facts */
export function rowTable(facts) {
  const { run, attn, closed, weights, scores, softmax } = facts;
  const hasScores = attn.has.includes("scores") && (scores !== null || !run.absent);
  const columns = hasScores
    ? ["key", symbol("score"), power(symbol("score"), " − ", symbol("largest")), symbol("weight")]
    : ["key", symbol("weight")];
  const heads = columns.map((column) => h("th", { scope: "col" }, column));
  const shown = weights
    ? shownKeys(weights, facts.key, MOST)
    : Array.from({ length: Math.min(closed.length, MOST) }, (_, i) => i);
  const rows = shown.map((key) => keyRow(facts, key, hasScores));
  const others = [...closed.keys()].filter((key) => !shown.includes(key));
  if (others.length) rows.push(othersRow(facts, others, hasScores));
  const total = [
    h("th", { scope: "row" }, "sum"),
    ...(hasScores
      ? [h("td", {}), h("td", {}, number("sum of powers", softmax?.total, denominatorSource(facts)))]
      : []),
    h("td", {}, number("sum of weights", weights && sum([...weights]), sumSource(facts))),
    h("td", {}),
  ];
  return h(
    "table",
    { class: "hl-row" },
    h("thead", {}, h("tr", {}, ...heads, h("td", {}))),
    h("tbody", {}, ...rows),
    h("tfoot", {}, h("tr", {}, ...total)),
  );
}

/** @param {Facts} facts */
const sumSource = ({ query, sources }) => `Σ ${sources.cell("weights", query, ":")}`;

/** @param {Facts} facts @param {number} key @param {boolean} hasScores */
function keyRow(facts, key, hasScores) {
  const { closed, weights, scores, softmax, query, sources, attn } = facts;
  const isClosed = closed[key] > 0;
  const power = isClosed ? "masked" : number(`power ${key}`, softmax?.powers[key], powerSource(facts, key));
  const cells = hasScores
    ? [
        h("td", {}, number(`score ${key}`, scores?.[key], sources.cell("scores", query, key))),
        h("td", isClosed ? { class: "quiet", title: attn.reasons[closed[key] - 1] } : {}, power),
      ]
    : [];
  const token = tokenOf(facts, "keys", key);
  return h(
    "tr",
    key === facts.key ? { class: "hl-chosen", "aria-current": "true" } : {},
    h("th", { scope: "row", title: token }, span("place", key), " ", span("word", weights ? token : "…")),
    ...cells,
    h("td", {}, number(`weight ${key}`, weights?.[key], sources.cell("weights", query, key))),
    h("td", { class: "hl-row-bar" }, bar(weights ? weights[key] : 0, isClosed)),
  );
}

/** @param {Facts} facts @param {number[]} others @param {boolean} hasScores */
function othersRow(facts, others, hasScores) {
  const { weights, softmax } = facts;
  const total = weights && sum(others.map((key) => weights[key]));
  const powers = softmax && sum(others.map((key) => softmax.powers[key]));
  const cells = hasScores
    ? [
        h("td", {}),
        h(
          "td",
          {},
          number("powers of others", powers, `${others.length} terms of: ${denominatorSource(facts)}`),
        ),
      ]
    : [];
  return h(
    "tr",
    { class: "quiet" },
    h("th", { scope: "row" }, `${others.length} others`),
    ...cells,
    h("td", {}, number("weights of others", total, `${others.length} terms of: ${sumSource(facts)}`)),
    h("td", { class: "hl-row-bar" }, bar(total ?? 0, false)),
  );
}

/** @param {number} weight @param {boolean} isClosed */
function bar(weight, isClosed) {
  const filled = div("hl-bar-filled");
  filled.style.width = `${100 * weight}%`;
  return div(isClosed ? "hl-track hl-closed" : "hl-track", filled);
}
