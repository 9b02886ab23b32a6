// @ts-check
// The size and the place of a matrix's cells, and the room that its labels need. All in CSS pixels.

import { clamp } from "../shared/numbers.js";

/** @typedef {[query: number, key: number]} Cell */
/** @typedef {{queries: string[], keys: string[]}} Tokens */
/** @typedef {[x: number, y: number]} Point */

export const FONT = 15;
export const SMALL = 14;
export const SLANT = -Math.PI / 4;
export const CELL = { smallest: 4, largest: 96, fitted: 48, labelled: 21 };
export const TALLEST = 820;
const COS = Math.cos(SLANT);
// The axis title, the positions and the space between them, without the tokens.
const HEADER = 64;
const MARGIN = 4;
const LABEL_LIMIT = 150;
const FEW = 48;

/** How far a slanted label reaches to the right: the corner of its last letter too. @param {number} label */
const slantedWidth = (label) => (label + FONT / 2) * COS;

export class MatrixLayout {
  cell = 0;
  upright = false;
  top = 0;
  everyQuery = 1;
  everyKey = 1;
  width = 0;
  height = 0;

  /**
   * Measure the labels; `place` then says where everything is.
   * @param {Tokens} tokens
   * @param {number} room the width that there is
   * @param {(text: string) => number} widthOf a text in the font of the labels
   */
  constructor({ queries, keys }, room, widthOf) {
    this.counts = [queries.length, keys.length];
    this.room = room;
    this.limit = Math.min(LABEL_LIMIT, room * 0.28);
    const widths = (/** @type {string[]} */ tokens) =>
      tokens.map((text) => Math.min(this.limit, widthOf(text)));
    this.digits = widthOf(String(Math.max(...this.counts)));
    this.left = Math.ceil(24 + Math.max(...widths(queries)) + 10 + this.digits + 8);
    this.keyWidths = widths(keys);
    this.keyWidth = Math.max(...this.keyWidths);
  }

  /** The largest cell with which the whole matrix is seen, within limits; few tokens keep all labels. */
  fit() {
    const [queries, keys] = this.counts;
    const room = this.room - this.left - MARGIN;
    const labels = this.keyWidths.map((label, key) => (room - slantedWidth(label)) / (key + 0.5));
    const across = Math.min(room / keys, ...labels);
    const down = (TALLEST - HEADER - this.keyWidth * COS - MARGIN) / queries;
    const smallest = Math.max(queries, keys) > FEW ? CELL.smallest : CELL.labelled;
    return clamp(Math.floor(Math.min(across, down)), smallest, CELL.fitted);
  }

  /** Everything that follows from the size of a cell. @param {number} cell */
  place(cell) {
    const [queries, keys] = this.counts;
    this.cell = cell;
    this.upright = this.keyWidth <= cell - 6;
    this.top = Math.ceil(HEADER + (this.upright ? FONT - 8 : this.keyWidth * COS));
    const ends = this.keyWidths.map((label, key) => (key + 0.5) * cell + slantedWidth(label));
    const across = Math.max(keys * cell, ...(this.upright ? [] : ends));
    this.everyQuery = Math.ceil((FONT + 3) / cell);
    this.everyKey = Math.ceil(Math.max(FONT + 3, (this.digits * SMALL) / FONT + 3) / cell);
    this.width = Math.ceil(this.left + across + MARGIN);
    this.height = this.top + queries * cell + MARGIN;
  }

  /** How close to a column's label another one would run into it. */
  get reach() {
    return this.upright ? 0 : (FONT + 2) / Math.abs(Math.sin(SLANT));
  }

  /**
   * Where the first cell begins in a box that is scrolled.
   * @param {Point} scroll
   * @returns {Point}
   */
  origin(scroll) {
    return [this.left - scroll[0], this.top - scroll[1]];
  }

  /**
   * The cell at a place of the box; null on its labels and beside the matrix.
   * @param {Point} place
   * @param {Point} scroll
   * @returns {Cell | null}
   */
  cellAt([x, y], scroll) {
    const [left, top] = this.origin(scroll);
    const [query, key] = [Math.floor((y - top) / this.cell), Math.floor((x - left) / this.cell)];
    const inside = x >= this.left && y >= this.top && query < this.counts[0] && key < this.counts[1];
    return inside ? [query, key] : null;
  }

  /**
   * The cells that are seen: first and last row and column, ends excluded.
   * @param {Point} scroll
   * @param {Point} view width and height of the box
   */
  visible([x, y], [width, height]) {
    const edges = [y, y + height - this.top, x, x + width - this.left];
    return edges.map((edge, i) => {
      const count = this.counts[i < 2 ? 0 : 1];
      return clamp(Math.floor(edge / this.cell) + (i % 2), 0, count);
    });
  }

  /**
   * Whether a box of this size cuts cells off. It may also scroll for the end of a slanted label alone: then there
   * is no cell to look for.
   * @param {Point} view
   */
  cuts([width, height]) {
    const [queries, keys] = this.counts;
    return this.left + keys * this.cell > width || this.top + queries * this.cell > height;
  }

  /**
   * Where to scroll for a cell to be seen.
   * @param {Cell} cell
   * @param {Point} scroll
   * @param {Point} view
   * @returns {Point}
   */
  reveal([query, key], scroll, view) {
    const { cell } = this;
    const keep = (/** @type {number} */ position, /** @type {number} */ now, /** @type {number} */ room) =>
      clamp(now, (position + 1) * cell - room, position * cell);
    return [keep(key, scroll[0], view[0] - this.left), keep(query, scroll[1], view[1] - this.top)];
  }
}
