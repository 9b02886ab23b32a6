// @ts-check
// The weights of all heads of a layer, and what is shown of them.

import { sum } from "../shared/numbers.js";
import { KEY, QUERY } from "./layout.js";

/** @typedef {import("./layout.js").Token} Token */
/** @typedef {{key: number, weight: number}[]} Strongest */

const FULL = 65535;

export class Weights {
  /**
   * @param {Uint16Array} levels by head, by query, by key; 65535 is a weight of 1
   * @param {[queries: number, keys: number]} counts
   */
  constructor(levels, [queries, keys]) {
    this.levels = levels;
    this.queries = queries;
    this.keys = keys;
  }

  /** @param {number} head @param {number} query @param {number} key */
  at(head, query, key) {
    return this.levels[(head * this.queries + query) * this.keys + key] / FULL;
  }

  /**
   * The fewest keys that together hold a share of a query's attention, the strongest first.
   * @param {number} head
   * @param {number} query
   * @param {number} share from 0 to 1
   * @returns {Strongest}
   */
  strongest(head, query, share) {
    const row = Array.from({ length: this.keys }, (_, key) => ({ key, weight: this.at(head, query, key) }));
    row.sort((a, b) => b.weight - a.weight);
    const enough = share * sum(row.map(({ weight }) => weight));
    let total = 0;
    return row.filter(({ weight }) => {
      const needed = total < enough && weight > 0;
      total += weight;
      return needed;
    });
  }

  /**
   * How much a token has to do with each of the other side: the mean weight of these heads.
   * @param {number[]} heads
   * @param {Token} token
   */
  means(heads, [side, position]) {
    const length = side === KEY ? this.queries : this.keys;
    return Array.from({ length }, (_, other) => {
      const [query, key] = side === QUERY ? [position, other] : [other, position];
      return sum(heads.map((head) => this.at(head, query, key))) / (heads.length || 1);
    });
  }
}
