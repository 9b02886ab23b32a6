// @ts-check
// The cells of a matrix: their values, their colours, and why they are closed.

import { pixel, ramp, shade, stopsOf } from "../../shared/color.js";
import { clamp } from "../../shared/numbers.js";
import { extremes } from "../range.js";

/**
 * The cells' data; `closed` has the number of the reason for each closed cell, else 0.
 * @typedef {object} CellFields
 * @property {import("../../shared/color.js").Colors} colors
 * @property {"weights" | "scores"} kind
 * @property {string[]} queries
 * @property {string[]} keys
 * @property {[number, number]} range the ends of the colour scale
 * @property {string[]} reasons
 * @property {Uint8Array} closed
 * @property {Float32Array} values
 * @property {boolean} [isRough] whether the values are for colours only: no number may be written yet
 */
/** @typedef {[from: number, to: number, reason: number]} Run of closed cells in a row, its end excluded */

export class MatrixCells {
  /** @type {[number, number] | null} */
  #extremes = null;

  /** @param {CellFields} data */
  constructor(data) {
    this.data = data;
    this.queries = data.queries.length;
    this.keys = data.keys.length;
    this.values = data.values;
    this.closed = data.closed;
    this.range = data.range;
    this.ramp = ramp(stopsOf(data));
  }

  /** The lowest and highest open number, which must fit into a cell. */
  get extremes() {
    this.#extremes ??= extremes(this.values, this.closed);
    return this.#extremes;
  }

  /** The runs of closed cells in a row. @param {number} query */
  runs(query) {
    const row = this.closed.subarray(query * this.keys, (query + 1) * this.keys);
    /** @type {Run[]} */
    const runs = [];
    for (let from = 0, to = 0; from < this.keys; from = to) {
      while (to < this.keys && row[to] === row[from]) to++;
      if (row[from]) runs.push([from, to, row[from]]);
    }
    return runs;
  }

  /** Whether a place is a cell and not a sum. @param {import("./layout.js").Cell} place */
  has([query, key]) {
    return query < this.queries && key < this.keys;
  }

  /** @param {number} query @param {number} key */
  at(query, key) {
    return this.values[query * this.keys + key];
  }

  /**
   * Why a cell is closed; "" for an open one.
   * @param {number} query
   * @param {number} key
   */
  reason(query, key) {
    const number = this.closed[query * this.keys + key];
    return number ? this.data.reasons[number - 1] : "";
  }

  /** Where a value lies on the scale, from 0 to 1. @param {number} value */
  share(value) {
    const [low, high] = this.range;
    return clamp((value - low) / (high - low || 1), 0, 1);
  }

  /** @param {number} value */
  color(value) {
    return this.ramp[shade(this.share(value))];
  }

  /** One pixel per cell; closed cells stay transparent, showing the stripes below. */
  pixels() {
    const packed = Uint32Array.from(this.ramp, pixel);
    const { values, closed } = this;
    const [low, high] = this.range;
    const [top, steps] = [packed.length - 1, (packed.length - 1) / (high - low || 1)];
    const pixels = new Uint32Array(values.length);
    for (let i = 0; i < values.length; i++) {
      if (closed[i]) continue;
      // As `shade` does, inlined for speed; NaN is compared as false, and so gets the first colour.
      const at = (values[i] - low) * steps;
      pixels[i] = packed[at >= top ? top : at > 0 ? (at + 0.5) | 0 : 0];
    }
    return pixels;
  }
}
