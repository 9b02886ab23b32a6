// @ts-check
// Where the rows of all heads are in a block, in CSS pixels.

import { clamp } from "../../shared/numbers.js";

/** Where the cells begin: the names of layer and head stand before them. */
export const LEFT = 134;
const GAP = 10;

export class RowsLayout {
  /**
   * @param {{layers: number, heads: number}} counts
   * @param {number[]} lengths how many tokens each block has
   * @param {number} width that there is for all blocks
   */
  constructor({ layers, heads }, lengths, width) {
    this.layers = layers;
    this.heads = heads;
    this.row = clamp(Math.floor(560 / (heads * layers)), 13, 26);
    /** Whether blocks stand beside each other. */
    this.wide = width > 760;
    const room = (this.wide ? (width - 24) / 2 : width) - LEFT - 50;
    this.column = clamp(Math.floor(room / Math.max(...lengths)), 20, 44);
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
   * The layer and the head at a height, from the first row on; the gap after a layer belongs to none.
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
   * The position of the token whose column this is; none has one below 0, nor one beyond the last.
   * @param {number} x
   */
  keyAt(x) {
    return Math.floor((x - LEFT) / this.column);
  }
}
