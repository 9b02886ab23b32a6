// @ts-check
// Where the maps of the grid are, in CSS pixels.

import { clamp } from "../shared/numbers.js";

/** @typedef {[layer: number, head: number]} MapIndex */

const GAP = 8;
const HEADER = 26;
/** The middle of the line of labels above the maps. */
export const LABELS = HEADER / 2 - 1;
const LARGEST = 280;
const TALLEST = 680;

export class GridLayout {
  /**
   * @param {{layers: string[], heads: string[], queries: string[], keys: string[]}} names
   * @param {number} width that there is for the grid
   * @param {number} gutter what the labels of the layers need of it
   */
  constructor({ layers, heads, queries, keys }, width, gutter) {
    this.counts = [layers.length, heads.length];
    const gap = heads.length > 8 && width < 700 ? GAP / 2 : GAP;
    const aspect = clamp(queries.length / keys.length, 1 / 3, 3);
    const across = (width - gutter - 4) / heads.length - gap;
    const down = Math.max(56, TALLEST / layers.length - gap);
    const smallest = 18 / Math.min(aspect, 1);
    const side = Math.floor(clamp(Math.min(across, down / aspect, LARGEST), smallest, LARGEST));
    this.gutter = gutter;
    this.box = [side, Math.max(12, Math.round(side * aspect))];
    this.pitch = this.box.map((length) => length + gap);
  }

  /** Width and height of the whole. */
  get extent() {
    const [right, bottom] = this.corner(this.counts[0], this.counts[1]);
    return /** @type {const} */ ([right + 4, bottom + 4]);
  }

  /**
   * The upper left corner of a map.
   * @param {number} layer
   * @param {number} head
   */
  corner(layer, head) {
    return /** @type {const} */ ([this.gutter + head * this.pitch[0], HEADER + layer * this.pitch[1]]);
  }

  /** @param {number} layer @param {number} head */
  middle(layer, head) {
    return this.corner(layer, head).map((edge, axis) => edge + this.box[axis] / 2);
  }

  /**
   * The map at a place; the gap after it belongs to it.
   * @param {number} x
   * @param {number} y
   * @returns {MapIndex | null}
   */
  mapAt(x, y) {
    const head = Math.floor((x - this.gutter) / this.pitch[0]);
    const layer = Math.floor((y - HEADER) / this.pitch[1]);
    const inside = layer >= 0 && head >= 0 && layer < this.counts[0] && head < this.counts[1];
    return inside ? [layer, head] : null;
  }

  /**
   * The block of a map at a place: its row and column among so many; null in the gap.
   * @param {MapIndex} map
   * @param {number} x
   * @param {number} y
   * @param {[rows: number, columns: number]} size
   */
  blockAt([layer, head], x, y, [rows, columns]) {
    const [left, top] = this.corner(layer, head);
    const row = Math.floor(((y - top) / this.box[1]) * rows);
    const column = Math.floor(((x - left) / this.box[0]) * columns);
    const inside = row >= 0 && column >= 0 && row < rows && column < columns;
    return inside ? /** @type {const} */ ([row, column]) : null;
  }
}
