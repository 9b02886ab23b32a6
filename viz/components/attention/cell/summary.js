// @ts-check
// The chosen cell in a sentence: its weight, how it compares, and why it is zero if it is.

import { h, span } from "../../shared/dom.js";
import { quoted } from "../../shared/words.js";
import { rankOf } from "./arithmetic.js";
import { tokenOf } from "./facts.js";
import { number, power, written } from "./number.js";

/** @typedef {import("./facts.js").Facts} Facts */
/** @typedef {import("../../shared/dom.js").Child} Child */

/** Smaller weights appear as 0.00 in a picture. */
const NOTHING = 0.005;

/**
 * @param {Facts} facts
 * @param {boolean} isPart whether it is part of a cell between words
 */
export function summary(facts, isPart) {
  const { weight, query, key, sources } = facts;
  const shown = number("weight", weight, sources.cell("weights", query, key));
  const why = weight === null ? ["…"] : explanation(facts);
  const name = isPart ? `weight ${query} → ${key} ` : "weight ";
  return [span("hl-weight", name, shown), h("p", { class: "hl-why" }, ...why)];
}

/** @param {Facts} facts @returns {Child[]} */
function explanation(facts) {
  const { weights, weight, key, closed, reason } = facts;
  const open = closed.filter((code) => !code).length;
  if (!weights || weight === null) return [];
  if (reason)
    return [
      question("Why is this zero?"),
      `The mask closes this cell (${withoutMask(reason)}): the weight is exactly 0.`,
    ];
  if (weight < NOTHING) return [question("Why is this so small?"), "It is not masked. ", ...howSmall(facts)];
  const rank = rankOf(weights, key);
  if (open === 1) return ["The only key that is open to this query: all of its weight goes here."];
  const place = rank === 1 ? "The largest" : `Rank ${rank}`;
  return [`${place} among the weights of the row's ${open} open keys.`];
}

/** @param {string} text */
const question = (text) => h("strong", {}, `${text} `);

/** A reason without its prefix. @param {string} reason */
export const withoutMask = (reason) => reason.replace(/^masked: /, "");

/** @param {Facts} facts @returns {Child[]} */
function howSmall(facts) {
  const { score, softmax, key, query, sources, weight } = facts;
  if (!facts.attn.has.includes("scores")) return [];
  if (score === null || !softmax) return facts.run.absent ? [] : ["…"];
  const below = Math.fround(softmax.largest - score);
  const source = `the largest of ${sources.cell("scores", query, ":")} minus ${sources.cell("scores", query, key)}`;
  const strongest = `key ${softmax.strongest}, ${quoted(tokenOf(facts, "keys", softmax.strongest))}`;
  return [
    "Its score is ",
    number("below", below, source),
    ` below the row's largest (${strongest}), and `,
    power(`−${written(below)}`),
    weight === 0
      ? " is less than the smallest number that float32 has."
      : [" is ", written(softmax.powers[key]), "."].join(""),
  ];
}
