// @ts-check
// The positions of both columns' tokens, in CSS pixels. Lines run between the columns, arcs on their outer sides.

import { clamp } from "../../shared/numbers.js";

/** @typedef {import("./links.js").Token} Token */
/** @typedef {[start: number, end: number]} Span */

/** @typedef {(text: string) => number} Measure the width of a bold text at a size of 1 px */

export const TALLEST = 640;
/** From a box's edge to the text in it. */
export const PAD = 7;
const FONT = { smallest: 15, largest: 20 };
/** The width at which the smallest font is used. */
const NARROW = 640;
/** Below the last token. */
const END = 4;
const ROW = { smallest: 22, largest: 34 };
const WIDEST = 1280;
/** Between the columns: the least, the least with a number per head, and the most. */
const GAP = { smallest: 32, open: 80, largest: 480 };
/** More heads than this are summarised by their mean. */
const FEW = 4;

export class MapLayout {
  /**
   * @param {string[][]} tokens of both columns
   * @param {boolean} arcs whether there are arcs
   * @param {number} heads how many are shown
   * @param {number} room the available width
   * @param {Measure} widthOf
   * @param {number} zoom
   */
  constructor(tokens, arcs, heads, room, widthOf, zoom) {
    const width = Math.min(room, WIDEST);
    const most = Math.max(...tokens.map((own) => own.length));
    this.counts = tokens.map((own) => own.length);
    const scale = clamp(width / NARROW, 1, FONT.largest / FONT.smallest);
    this.font = Math.round(FONT.smallest * scale);
    this.title = Math.round(2 * this.font);
    const fitted = clamp(
      Math.floor((TALLEST - this.title) / most),
      ROW.smallest * scale,
      ROW.largest * scale,
    );
    this.row = Math.round(clamp(fitted * zoom, ROW.smallest * scale, 3 * ROW.largest));
    this.zone = arcs ? Math.round(clamp(0.1 * width, 24, 130)) : 0;
    this.number = Math.ceil(widthOf("0.00") * this.font + 8);
    const longest = tokens.map((own) =>
      own.reduce((most, token) => Math.max(most, widthOf(token) * this.font), 0),
    );
    const left = width - 2 * this.zone - 2 * this.number - 6 * PAD - GAP.open;
    this.limit = Math.max(width * (arcs ? 0.16 : 0.26), left - Math.min(...longest, left / 2));
    const labels = longest.map((label) => Math.min(this.limit, label));
    const taken = 2 * this.zone + labels[0] + labels[1] + 6 * PAD;
    const fits = width - taken - 2 * heads * this.number >= GAP.open;
    /** How many numbers fit next to a token: one per head, or their mean. */
    this.numbers = heads > 0 && heads <= FEW && fits ? heads : 1;
    const widths = labels.map((label) => Math.ceil(label + this.numbers * this.number + 3 * PAD));
    const gap = clamp(width - 2 * this.zone - widths[0] - widths[1], GAP.smallest, GAP.largest);
    /** The boxes of both columns. @type {[Span, Span]} */
    this.boxes = [
      [this.zone, this.zone + widths[0]],
      [this.zone + widths[0] + gap, this.zone + widths[0] + gap + widths[1]],
    ];
    this.width = Math.floor(this.boxes[1][1] + this.zone);
    this.height = this.title + most * this.row + END;
  }

  /** The vertical middle of a token. @param {number} position */
  y(position) {
    return this.title + (position + 0.5) * this.row;
  }

  /** The visible height. */
  get view() {
    return Math.min(this.height, TALLEST);
  }

  /**
   * How far a column moves per scrolled pixel: both columns reach their ends together, and one that fits stays.
   * @param {number} column
   */
  pace(column) {
    const beyond = this.title + this.counts[column] * this.row + END - this.view;
    return this.height > this.view ? Math.max(0, beyond) / (this.height - this.view) : 0;
  }

  /** The middle of a token in the scrolled picture. @param {number} column @param {number} position @param {number} scrolled */
  seenAt(column, position, scrolled) {
    return this.y(position) - this.pace(column) * scrolled;
  }

  /** The visible tokens of a column. @param {number} column @param {number} scrolled @returns {Span} */
  seen(column, scrolled) {
    const moved = this.pace(column) * scrolled;
    const beyond = Math.ceil((moved + this.view - this.title) / this.row);
    return [Math.floor(moved / this.row), Math.min(beyond, this.counts[column])];
  }

  /** Where to scroll to show a token. @param {Token} token @param {number} scrolled the current position */
  reveal([column, position], scrolled) {
    const y = this.seenAt(column, position, scrolled);
    const [highest, lowest] = [this.title + this.row, this.view - this.row];
    const missing = Math.min(0, y - highest) + Math.max(0, y - lowest);
    return scrolled + (missing && missing / (this.pace(column) || 1));
  }

  /** The right edge of a number in a box, from the outer edge inwards. @param {number} column @param {number} i */
  numberAt(column, i) {
    const [start, end] = this.boxes[column];
    const outer = this.numbers * this.number + PAD;
    const at = (i + 1) * this.number;
    return column === 0 ? start + at : end - outer + at;
  }

  /**
   * The token at a point of the scrolled picture; null between the columns and beyond their ends.
   * @param {number} x
   * @param {number} y
   * @param {number} scrolled
   * @returns {Token | null}
   */
  tokenAt(x, y, scrolled) {
    const column = this.boxes.findIndex(([start, end]) => x >= start && x <= end);
    if (column < 0 || y < this.title) return null;
    const position = Math.floor((y + this.pace(column) * scrolled - this.title) / this.row);
    return position < this.counts[column] ? [column, position] : null;
  }
}
