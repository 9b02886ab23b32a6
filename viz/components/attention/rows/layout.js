// @ts-check
// The positions of all heads' rows in a block, in CSS pixels.

import { clamp } from "../../shared/numbers.js";

/** Where the cells begin, after the names of layer and head. */
export const LEFT = 134;
const GAP = 10;

export class RowsLayout {
  /**
   * @param {{layers: number, heads: number}} counts
   * @param {number[]} lengths the number of tokens of each block
   * @param {number} width available to all blocks
   * @param {number} beyond the room after the last column
   */
  constructor({ layers, heads }, lengths, width, beyond) {
    this.layers = layers;
    this.heads = heads;
    this.row = clamp(Math.floor(560 / (heads * layers)), 13, 26);
    /** Whether blocks are side by side. */
    this.wide = width > 760;
    const room = (this.wide ? (width - 24) / 2 : width) - LEFT - beyond;
    this.column = clamp(Math.floor(room / Math.max(...lengths)), 14, 44);
  }

  /**
   * The upper edge of a head's row, below that of the first.
   * @param {number} layer
   * @param {number} head
   */
  edge(layer, head) {
    return (layer * this.heads + head) * this.row + layer * GAP;
  }

  /** Where the last row ends. */
  get height() {
    return this.edge(this.layers - 1, this.heads - 1) + this.row;
  }

  /**
   * The layer and head at a height below the first row's top; null in the gap after a layer.
   * @param {number} y
   * @returns {[layer: number, head: number] | null}
   */
  headAt(y) {
    const tall = this.heads * this.row + GAP;
    const layer = Math.floor(y / tall);
    const head = Math.floor((y - layer * tall) / this.row);
    return y >= 0 && layer < this.layers && head < this.heads ? [layer, head] : null;
  }

  /**
   * The position of the token in this column; it may lie outside the block.
   * @param {number} x
   */
  keyAt(x) {
    return Math.floor((x - LEFT) / this.column);
  }
}
