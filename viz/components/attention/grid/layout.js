// @ts-check
// The positions of the grid's maps, in CSS pixels: a row per layer, or one after the other in an order.

import { clamp, stepped } from "../../shared/numbers.js";

/** @typedef {[layer: number, head: number]} MapIndex */
/** @typedef {[x: number, y: number]} Point */

/**
 * @typedef {object} Plan
 * @property {[layers: number, heads: number]} counts
 * @property {number[] | null} order numbers of the maps, by layer and head; null for a row per layer
 * @property {number} aspect the ratio of a map's height to its width
 */

const GAP = 8;
const NARROW_GAP = 4;
/** More heads than this are placed closer together. */
const FEW = 8;
const HEADER = 26;
/** Room for the outline of a map. */
const EDGE = 4;
/** The middle of the line of labels above the maps. */
export const LABELS = HEADER / 2 - 1;
/** The height of a line of a map's own label. */
export const LINE = 17;
const LARGEST = 280;
const SMALLEST = 26;
/** The least width of a map with its own label. */
const LABELLED = 72;
/** The width of a scrollbar. */
const SCROLLBAR = 16;

export class GridLayout {
  /** Width and height of a map. @type {Point} */
  box = [0, 0];
  /** The distance from one map to the next, to the right and down. @type {Point} */
  pitch = [0, 0];

  /**
   * @param {Plan} plan
   * @param {number} width available to the grid
   * @param {number} tallest the height above which the grid scrolls
   * @param {number} gutter the width of the layers' labels
   */
  constructor({ counts, order, aspect }, width, tallest, gutter) {
    const [layers, heads] = counts;
    this.heads = heads;
    this.order = order ?? Array.from({ length: layers * heads }, (_, map) => map);
    /** Each map's place in the order. @type {number[]} */
    this.slots = [];
    for (const [slot, map] of this.order.entries()) this.slots[map] = slot;
    this.tallest = tallest;
    this.isOrdered = order !== null;
    this.gutter = order ? EDGE : gutter;
    this.header = order ? EDGE : HEADER;
    this.caption = order ? 2 * LINE : 0;
    this.gap = !order && heads > FEW ? NARROW_GAP : GAP;
    this.columns = heads;
    this.aspect = clamp(aspect, 1 / 3, 3);
    let side = order ? this.#ordered(width) : this.#byLayer(width);
    this.#size(side);
    if (this.extent[1] > tallest) {
      side = order ? this.#ordered(width - SCROLLBAR) : this.#byLayer(width - SCROLLBAR);
      this.#size(side);
    }
  }

  /** @param {number} side */
  #size(side) {
    this.box = [side, Math.max(12, Math.round(side * this.aspect))];
    this.pitch = [side + this.gap, this.box[1] + this.gap + this.caption];
  }

  get rows() {
    return Math.ceil(this.order.length / this.columns);
  }

  /**
   * The largest map width at which all rows of so many columns fit.
   * @param {number} width
   * @param {number} columns
   */
  #fitting(width, columns) {
    const across = (width - this.gutter - EDGE) / columns - this.gap;
    const rows = Math.ceil(this.order.length / columns);
    const down = (this.tallest - this.header - EDGE) / rows - this.gap - this.caption;
    return Math.floor(Math.min(across, down / this.aspect, LARGEST));
  }

  /** @param {number} width */
  #byLayer(width) {
    return Math.max(this.#fitting(width, this.columns), SMALLEST);
  }

  /** @param {number} width */
  #ordered(width) {
    let best = 0;
    for (let columns = 1; columns <= this.order.length; columns++) {
      const side = this.#fitting(width, columns);
      if (side > best) [best, this.columns] = [side, columns];
    }
    if (best >= LABELLED) return best;
    const room = width - this.gutter - EDGE;
    this.columns = clamp(Math.floor(room / (LABELLED + GAP)), 1, this.order.length);
    return Math.min(LARGEST, Math.floor(room / this.columns - GAP));
  }

  /** Width and height of the whole. @returns {Point} */
  get extent() {
    const columns = Math.min(this.columns, this.order.length);
    return [
      this.gutter + columns * this.pitch[0] - this.gap + EDGE,
      this.header + this.rows * this.pitch[1] - this.gap + EDGE,
    ];
  }

  /**
   * The upper left corner of a map, below its own label.
   * @param {number} layer
   * @param {number} head
   * @returns {Point}
   */
  corner(layer, head) {
    const slot = this.slots[layer * this.heads + head];
    const [row, column] = [Math.floor(slot / this.columns), slot % this.columns];
    return [this.gutter + column * this.pitch[0], this.header + row * this.pitch[1] + this.caption];
  }

  /** @param {number} layer @param {number} head @returns {Point} */
  middle(layer, head) {
    const [x, y] = this.corner(layer, head);
    return [x + this.box[0] / 2, y + this.box[1] / 2];
  }

  /** The map at a place of the order. @param {number} slot @returns {MapIndex} */
  mapIn(slot) {
    const map = this.order[slot];
    return [Math.floor(map / this.heads), map % this.heads];
  }

  /**
   * The map at a point; its label and the gap after it belong to it.
   * @param {number} x
   * @param {number} y
   * @returns {MapIndex | null}
   */
  mapAt(x, y) {
    const column = Math.floor((x - this.gutter) / this.pitch[0]);
    const row = Math.floor((y - this.header) / this.pitch[1]);
    const slot = row * this.columns + column;
    const inside = row >= 0 && column >= 0 && column < this.columns && slot < this.order.length;
    return inside ? this.mapIn(slot) : null;
  }

  /**
   * The map one step away, as far as there are maps.
   * @param {MapIndex | null} from
   * @param {[down: number, right: number]} step
   * @returns {MapIndex}
   */
  step(from, step) {
    if (!from) return this.mapIn(0);
    const slot = this.slots[from[0] * this.heads + from[1]];
    const place = [Math.floor(slot / this.columns), slot % this.columns];
    const [row, column] = stepped(place, step, [this.rows, this.columns]);
    return this.mapIn(Math.min(row * this.columns + column, this.order.length - 1));
  }

  /**
   * Where to scroll to show a map.
   * @param {MapIndex} map
   * @param {Point} scroll
   * @param {Point} view width and height of the box
   * @returns {Point}
   */
  reveal(map, scroll, view) {
    const [x, y] = this.corner(...map);
    const [left, top] = [x - this.gutter, y - this.caption - this.header];
    return [
      clamp(scroll[0], x + this.box[0] + EDGE - view[0], Math.max(0, left)),
      clamp(scroll[1], y + this.box[1] + EDGE - view[1], Math.max(0, top)),
    ];
  }

  /**
   * The row and column of a map's block at a point; null outside the map.
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
