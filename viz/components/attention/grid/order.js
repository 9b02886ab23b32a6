// @ts-check
// The scores by which the grid's maps can be ordered.

import { fixed } from "../../shared/numbers.js";

/**
 * @typedef {object} Order
 * @property {string} name
 * @property {string} score its name in a sentence
 * @property {string} explanation the score's definition, and which end comes first
 * @property {boolean} rising whether the lowest score comes first
 * @property {(score: number) => string} write with its unit
 */

/** @type {Record<string, Order>} */
export const SCORES = {
  cost: {
    name: "what it costs, most first",
    score: "cost",
    explanation:
      "How much less probable the output is without the head (its own output set to zero), in nats per token; below 0, the output is more probable without it. Each head is switched off alone: another may make up for it. The largest cost comes first.",
    rising: false,
    write: (score) => `${fixed(score, 3)} nats`,
  },
  entropy: {
    name: "entropy, lowest first",
    score: "entropy",
    explanation:
      "Entropy of a row’s weights in bits, averaged over the rows; 0 where each query looks at one key. The lowest, which is the most focused, comes first.",
    rising: true,
    write: (score) => `${fixed(score, 2)} bits`,
  },
  distance: {
    name: "distance, farthest first",
    score: "distance",
    explanation:
      "How many tokens away a query’s keys are, each counted by its weight, averaged over the rows. The farthest comes first.",
    rising: false,
    write: (score) => `${fixed(score, 2)} tokens`,
  },
  special: {
    name: "special tokens, most first",
    score: "weight on special tokens",
    explanation:
      "The share of a row’s weight on special tokens, averaged over the rows. The largest comes first.",
    rising: false,
    write: (score) => fixed(score, 3),
  },
  sharpness: {
    name: "sharpness, highest first",
    score: "sharpness",
    explanation: "The largest weight of a row, averaged over the rows. The largest comes first.",
    rising: false,
    write: (score) => fixed(score, 3),
  },
  diagonal: {
    name: "diagonal, closest first",
    score: "weight on the diagonal",
    explanation:
      "The share of a row’s weight within one key of the diagonal, averaged over the rows. The largest comes first.",
    rising: false,
    write: (score) => fixed(score, 3),
  },
};

/**
 * The possible orders of an attention's heads: "layer", or a score that tells them apart.
 * @param {import("../run.js").ViewerRun} run
 * @param {import("../run.js").AttentionView} attn
 */
export function ordersOf(run, { queries, keys, layers, heads, has }) {
  if (layers * heads < 2) return ["layer"];
  const isKnown = (/** @type {string} */ name) => {
    if (name === "cost") return has.includes("costs");
    return name === "distance" ? queries === keys : name !== "special" || run.sides[keys].special.length > 0;
  };
  return ["layer", ...Object.keys(SCORES).filter(isKnown)];
}

/**
 * The numbers of the maps by rank; equal scores keep their order.
 * @param {ArrayLike<number>} scores
 * @param {boolean} rising
 */
export const ranked = (scores, rising) =>
  Array.from(scores, (_, map) => map).sort((a, b) =>
    rising ? scores[a] - scores[b] : scores[b] - scores[a],
  );
