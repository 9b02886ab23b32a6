// @ts-check
// The next-token distribution under temperature, top-k and top-p.

import { sum } from "../shared/numbers.js";

/** @typedef {{temperature: number, top_k: number, top_p: number}} Settings top_k is 0 if off */

/** @param {number[]} logits the largest first */
export function softmax(logits) {
  const powers = logits.map((logit) => Math.exp(logit - logits[0]));
  const total = sum(powers);
  return powers.map((power) => power / total);
}

/**
 * The distribution that the sampler draws from (transformer/decoding/sampling.py), and what was cut off.
 * @param {number[]} sorted logits, the largest first
 * @param {Settings} settings
 */
export function samplingDistribution(sorted, { temperature, top_k, top_p }) {
  const tempered = softmax(sorted.map((logit) => logit / temperature));
  const kept = top_k ? Math.min(top_k, tempered.length) : tempered.length;
  const inTopK = sum(tempered.slice(0, kept));
  let [nucleus, before] = [0, 0];
  // Sums are rounded: at top-p 1 the smallest probabilities would be lost.
  while (nucleus < kept && (top_p === 1 || before < top_p)) before += tempered[nucleus++] / inTopK;
  const left = sum(tempered.slice(0, nucleus));
  const probabilities = tempered.map((p, i) => (i < nucleus ? p / left : 0));
  return { tempered, probabilities, kept, nucleus, cutByK: 1 - inTopK, cutByP: inTopK - left };
}

/** Entropy in bits. @param {number[]} probabilities */
export const entropy = (probabilities) => -sum(probabilities.map((p) => (p > 0 ? p * Math.log2(p) : 0)));
