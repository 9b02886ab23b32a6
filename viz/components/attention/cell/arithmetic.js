// @ts-check
// The arithmetic of attention on float32 numbers, in the model's own steps.

import { sum } from "../../shared/numbers.js";

/**
 * The terms of a dot product and their running sums, the last of which is the product.
 * @param {Float32Array} q
 * @param {Float32Array} k
 */
export function dotProduct(q, k) {
  const terms = q.map((value, i) => value * k[i]);
  let total = 0;
  const sums = q.map((value, i) => {
    total += value * k[i];
    return total;
  });
  return { terms, sums, total: Math.fround(total) };
}

/**
 * The softmax of a row over its open keys.
 * @param {Float32Array} scores
 * @param {Uint8Array} closed
 * @returns {{strongest: number, largest: number, powers: Float32Array, total: number}} the open key with the largest
 *   score (-1 if none is open), that score, e^(score − largest) for each key, and their sum
 */
export function softmaxRow(scores, closed) {
  let strongest = -1;
  for (const [key, score] of scores.entries()) {
    if (!closed[key] && (strongest < 0 || score > scores[strongest])) strongest = key;
  }
  const largest = scores[strongest] ?? NaN;
  const powers = scores.map((score, key) => (closed[key] ? 0 : Math.exp(Math.fround(score - largest))));
  return { strongest, largest, powers, total: Math.fround(sum([...powers])) };
}

/**
 * The keys of a row to show: all in order, or if there are many, the heaviest by weight and the chosen one.
 * @param {Float32Array} weights
 * @param {number} chosen
 * @param {number} most
 */
export function shownKeys(weights, chosen, most) {
  const keys = [...weights.keys()];
  if (keys.length <= most) return keys;
  const heaviest = keys.sort((a, b) => weights[b] - weights[a] || a - b).slice(0, most - 1);
  return heaviest.includes(chosen) ? heaviest : [...heaviest.slice(0, -1), chosen];
}

/** The rank of a key by weight, from 1. @param {Float32Array} weights @param {number} key */
export const rankOf = (weights, key) => 1 + weights.filter((weight) => weight > weights[key]).length;

/** @param {Float32Array} vector @param {number} factor */
export const times = (vector, factor) => vector.map((value) => value * factor);

/**
 * The weighted sum of vectors, which are stored one after the other.
 * @param {Float32Array} weights
 * @param {Float32Array} vectors
 */
export function weightedSum(weights, vectors) {
  const width = vectors.length / weights.length;
  const total = new Float64Array(width);
  for (const [row, weight] of weights.entries()) {
    if (!weight) continue;
    for (let i = 0; i < width; i++) total[i] += weight * vectors[row * width + i];
  }
  return Float32Array.from(total);
}

/** @param {Float32Array} vector */
export const lengthOf = (vector) => Math.fround(Math.hypot(...vector));

/**
 * The share of a part in the direction of the whole; the shares of all parts sum to 1. NaN if the whole is 0.
 * @param {Float32Array} part
 * @param {Float32Array} whole
 */
export function shareOf(part, whole) {
  const along = sum(Array.from(part, (value, i) => value * whole[i]));
  return Math.fround(along / sum(Array.from(whole, (value) => value * value)));
}

/**
 * The weight between two words: the mean over the query's tokens of the sum over the key's.
 * @param {Float32Array} weights between tokens, row after row
 * @param {number[]} queries
 * @param {number[]} keys
 * @param {number} width the tokens of a row
 */
export function wordWeight(weights, queries, keys, width) {
  const sums = queries.map((query) => sum(keys.map((key) => weights[query * width + key])));
  return { sums: sums.map(Math.fround), mean: Math.fround(sum(sums) / queries.length) };
}
