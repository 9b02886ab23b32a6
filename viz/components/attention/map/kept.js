// @ts-check
// The fewest keys of each row that together hold a share of its attention.

import { sum } from "../../shared/numbers.js";

/** The weights of a head, row by row, and the keys kept of each row, computed when needed. */
export class Kept {
  /** @type {(Uint16Array | undefined)[]} */
  #rows = [];
  #share = 0;

  /** @param {Float32Array} weights @param {number} keys the number per row */
  constructor(weights, keys) {
    this.weights = weights;
    this.keys = keys;
    this.largest = weights.reduce((most, weight) => Math.max(most, weight), 0);
  }

  /** @param {number} query */
  row(query) {
    return this.weights.subarray(query * this.keys, (query + 1) * this.keys);
  }

  /**
   * The kept keys of a query, in order.
   * @param {number} query
   * @param {number} share from 0 to 1
   * @returns {Uint16Array}
   */
  of(query, share) {
    if (share !== this.#share) this.#rows = [];
    this.#share = share;
    const known = this.#rows[query] ?? fewest(this.row(query), share);
    this.#rows[query] = known;
    return known;
  }
}

/**
 * The fewest entries that together hold a share of a row, in order; the first ones among equals.
 * @param {Float32Array} row
 * @param {number} share from 0 to 1
 */
export function fewest(row, share) {
  const sorted = row.slice().sort().reverse();
  const enough = share * sorted.reduce((all, weight) => all + weight, 0);
  let [mass, count] = [0, 0];
  while (count < sorted.length && mass < enough && sorted[count] > 0) mass += sorted[count++];
  const least = sorted[count - 1];
  let equals = count - sorted.indexOf(least);
  const kept = new Uint16Array(count);
  let at = 0;
  for (let key = 0; key < row.length && at < count; key++) {
    if (row[key] > least || (row[key] === least && equals-- > 0)) kept[at++] = key;
  }
  return kept;
}

/**
 * The share of the attention on hidden tokens, averaged over the heads that are here.
 * @param {import("../sheet.js").Sheet} sheet
 * @param {number} layer
 * @param {number[]} heads
 * @returns {number | null} null as long as no head is here
 */
export function hiddenMass(sheet, layer, heads) {
  const here = heads.map((head) => sheet.run.weights(sheet.attn, layer, head)).filter(Boolean);
  return here.length ? sum(here.map((weights) => sheet.hiddenShare(weights))) / here.length : null;
}
