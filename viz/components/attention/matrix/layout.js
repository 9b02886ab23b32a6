// @ts-check
// The size and position of a matrix's cells, and the space for labels and sums, in CSS pixels.

import { clamp } from "../../shared/numbers.js";

/** @typedef {[query: number, key: number]} Cell the row after the last holds the columns' sums, the column after the last the rows' */
/** @typedef {{queries: string[], keys: string[], numbers: [number[], number[]], sums?: {title: string} | null}} Tokens */
/** @typedef {[x: number, y: number]} Point */

/**
 * The space available to a matrix.
 * @typedef {object} Room
 * @property {number} width available
 * @property {number} tallest the height above which it scrolls
 * @property {number} below the height of the columns' sums; 0 if not shown
 * @property {number} beside the width of the rows' sums; 0 if not shown
 */

export const FONT = 15;
export const SMALL = 14;
/** Left and right of the name of the columns' sums. */
export const TITLE_GAPS = 14;
export const SLANT = -Math.PI / 4;
/** In pixels; `numbered`: the least width and height for numbers with two decimals. */
export const CELL = { smallest: 4, largest: 96, fitted: 48, labelled: 18, numbered: [36, 17] };
const COS = Math.cos(SLANT);
// The height of axis title, positions and gaps, without the tokens.
const HEADER = 58;
const MARGIN = 4;
const LABEL_LIMIT = 150;
/** How much wider a label is in bold. */
const BOLD = 1.08;
const FEW = 12;
/** The smallest font of tokens next to small cells. */
const SMALLEST_FONT = 12;
/** The width of a scrollbar. */
const SCROLLBAR = 16;

/** @param {number} size of a cell */
const fontBeside = (size) => (size < SMALLEST_FONT + 2 ? FONT : clamp(size - 2, SMALLEST_FONT, FONT));

/** How far a slanted label reaches to the right, with the corner of its last letter. @param {number} label */
const slantedWidth = (label) => (label + FONT / 2) * COS;

export class MatrixLayout {
  /** The height of a cell. */
  cell = 0;
  /** Its width: more than the height if labels or numbers need it and there is room. */
  wide = 0;
  upright = false;
  top = 0;
  everyQuery = 1;
  everyKey = 1;
  /** Positions need more space than slanted tokens. */
  everyPosition = 1;
  /** The font sizes next to rows and above columns. @type {[number, number]} */
  fonts = [FONT, FONT];
  width = 0;
  height = 0;

  /**
   * Measure the labels; `place` then computes all positions.
   * @param {Tokens} tokens
   * @param {Room} room
   * @param {(text: string) => number} widthOf a text in the font of the labels
   */
  constructor({ queries, keys, numbers, sums }, room, widthOf) {
    this.counts = [queries.length, keys.length];
    this.room = room;
    const limit = Math.min(LABEL_LIMIT, room.width * 0.28);
    const all = [queries, keys].map((tokens) => tokens.map(widthOf));
    /** Longer labels are shortened. */
    this.limit = all.some((widths) => widths.some((width) => width > limit)) ? limit : Infinity;
    const [queryWidths, keyWidths] = all.map((widths) => widths.map((width) => Math.min(limit, width)));
    this.digits = widthOf(String(Math.max(...numbers.map((own) => own[own.length - 1]))));
    const titled = sums ? TITLE_GAPS + (widthOf(sums.title) * SMALL) / FONT : 0;
    this.left = Math.ceil(Math.max(titled, 24 + BOLD * Math.max(...queryWidths) + 10 + this.digits + 8));
    this.keyWidths = keyWidths;
    this.keyWidth = Math.max(...this.keyWidths);
  }

  /** The largest cell size at which the whole matrix fits, within limits; few tokens keep all labels. */
  fit() {
    const [queries, keys] = this.counts;
    const { tallest, below } = this.room;
    const down = (tallest - HEADER - this.keyWidth * COS - MARGIN - below) / queries;
    const smallest = Math.max(queries, keys) > FEW ? CELL.smallest : CELL.labelled;
    const across = this.#across(down < smallest ? SCROLLBAR : 0);
    return clamp(Math.floor(Math.min(across, down)), smallest, CELL.fitted);
  }

  /** The largest cell width at which all columns and their labels fit. @param {number} taken of the width */
  #across(taken) {
    const room = this.room.width - this.left - MARGIN - this.room.beside - taken;
    const labels = this.keyWidths.map(
      (label, key) => (room + this.room.beside - slantedWidth(label)) / (key + 0.5),
    );
    return Math.min(room / this.counts[1], ...labels);
  }

  /** Compute everything that follows from the cell size. @param {number} cell */
  place(cell) {
    const [queries, keys] = this.counts;
    const { below, beside } = this.room;
    this.cell = cell;
    const room = Math.floor(this.#across(0));
    this.wide = cell < SMALLEST_FONT ? cell : Math.max(cell, Math.min(CELL.numbered[0], room));
    const { wide } = this;
    this.upright = this.keyWidth <= wide - 6;
    this.top = Math.ceil(HEADER + (this.upright ? FONT - 8 : this.keyWidth * COS));
    const ends = this.keyWidths.map((label, key) => (key + 0.5) * wide + slantedWidth(label));
    const across = Math.max(keys * wide + beside, ...(this.upright ? [] : ends));
    this.fonts = [fontBeside(cell), fontBeside(wide)];
    this.everyQuery = Math.ceil((this.fonts[0] + 2) / cell);
    this.everyKey = Math.ceil((this.fonts[1] + 2) / wide);
    const apart = Math.ceil(((this.digits * SMALL) / FONT + 3) / wide);
    this.everyPosition = this.everyKey * Math.ceil(apart / this.everyKey);
    this.width = Math.ceil(this.left + across + MARGIN);
    this.height = this.top + queries * cell + MARGIN + below;
  }

  /** The distance at which two column labels overlap. */
  get reach() {
    return this.upright ? 0 : (FONT - 1) / Math.abs(Math.sin(SLANT));
  }

  /**
   * Where the first cell begins in the scrolled box.
   * @param {Point} scroll
   * @returns {Point}
   */
  origin(scroll) {
    return [this.left - scroll[0], this.top - scroll[1]];
  }

  /**
   * Where the visible cells end and the sums begin.
   * @param {Point} scroll
   * @param {Point} view width and height of the box
   * @returns {Point}
   */
  end(scroll, [width, height]) {
    const [x, y] = this.origin(scroll);
    const [queries, keys] = this.counts;
    const { below, beside } = this.room;
    return [
      Math.min(x + keys * this.wide, width - beside),
      Math.min(y + queries * this.cell, height - below),
    ];
  }

  /**
   * The cell or sum at a point of the box; null on the labels and outside the matrix.
   * @param {Point} place
   * @param {Point} scroll
   * @param {Point} view
   * @returns {Cell | null}
   */
  cellAt([x, y], scroll, view) {
    const [left, top] = this.origin(scroll);
    const [right, bottom] = this.end(scroll, view);
    const [queries, keys] = this.counts;
    const { below, beside } = this.room;
    if (x < this.left || y < this.top) return null;
    const query = y < bottom ? Math.floor((y - top) / this.cell) : y < bottom + below ? queries : -1;
    const key = x < right ? Math.floor((x - left) / this.wide) : x < right + beside ? keys : -1;
    const isInside = query >= 0 && key >= 0 && query + key < queries + keys;
    return isInside && query <= queries && key <= keys ? [query, key] : null;
  }

  /**
   * The row or column whose label is at a point of the box; -1 for none.
   * @param {Point} place
   * @param {Point} scroll
   * @returns {[query: number, key: number]}
   */
  labelAt([x, y], scroll) {
    const [left, top] = this.origin(scroll);
    const [queries, keys] = this.counts;
    const query = x < this.left && y >= this.top ? Math.floor((y - top) / this.cell) : -1;
    // A slanted label leans to the right above the position of its key.
    const leaning = this.upright ? 0 : Math.max(0, this.top - FONT - 8 - y);
    const key = y < this.top && x >= this.left ? Math.floor((x - left - leaning) / this.wide) : -1;
    return [query < queries ? query : -1, key < keys ? key : -1];
  }

  /**
   * The visible cells: first and last row and column, ends excluded.
   * @param {Point} scroll
   * @param {Point} view
   */
  visible([x, y], [width, height]) {
    const { below, beside } = this.room;
    const edges = [y, y + height - this.top - below, x, x + width - this.left - beside];
    return edges.map((edge, i) => {
      const [count, size] = i < 2 ? [this.counts[0], this.cell] : [this.counts[1], this.wide];
      return clamp(Math.floor(edge / size) + (i % 2), 0, count);
    });
  }

  /**
   * Whether a box of this size cuts cells off. It may also scroll for the end of a slanted label alone.
   * @param {Point} view
   */
  cuts([width, height]) {
    const [queries, keys] = this.counts;
    const { below, beside } = this.room;
    const right = this.left + keys * this.wide + beside;
    return right > width || this.top + queries * this.cell + below > height;
  }

  /**
   * Where to scroll to show a cell.
   * @param {Cell} place
   * @param {Point} scroll
   * @param {Point} view
   * @returns {Point}
   */
  reveal(place, scroll, view) {
    const { cell, wide, room, counts } = this;
    const keep = (
      /** @type {number} */ position,
      /** @type {number} */ size,
      /** @type {number} */ now,
      /** @type {number} */ space,
    ) => clamp(now, (position + 1) * size - space, position * size);
    const [query, key] = place.map((at, axis) => Math.min(at, counts[axis] - 1));
    return [
      keep(key, wide, scroll[0], view[0] - this.left - room.beside),
      keep(query, cell, scroll[1], view[1] - this.top - room.below),
    ];
  }
}
