// @ts-check
// Where the tokens of both sides are, in CSS pixels.

import { clamp } from "../shared/numbers.js";

/** Sides: who looks, on the left, and what is looked at, on the right. */
export const QUERY = 0;
export const KEY = 1;

/** @typedef {[side: number, position: number]} Token */

const TITLE = 26;
// Room for a number at the outer edge of each side.
const NUMBERS = 48;
const WIDEST = 980;
const LONGEST_LINE = 480;

export class LinesLayout {
  /**
   * @param {[string[], string[]]} tokens of both sides
   * @param {number} room the width that there is
   * @param {(text: string) => number} widthOf a token in bold
   */
  constructor(tokens, room, widthOf) {
    const most = Math.max(...tokens.map((own) => own.length));
    const width = Math.min(room, WIDEST);
    this.counts = tokens.map((own) => own.length);
    this.pitch = clamp(Math.floor(720 / most), 20, 34);
    this.limit = width * 0.24;
    const [queries, keys] = tokens.map((own) => Math.min(this.limit, Math.max(...own.map(widthOf))));
    this.from = Math.ceil(NUMBERS + queries + 16);
    this.to = Math.floor(Math.min(width - NUMBERS - keys - 16, this.from + LONGEST_LINE));
    this.width = Math.ceil(this.to + keys + NUMBERS + 16);
    this.height = TITLE + most * this.pitch + 6;
  }

  /** The middle of a token, from above. @param {number} position */
  y(position) {
    return TITLE + (position + 0.5) * this.pitch;
  }

  /**
   * The token at a place; null between the sides and beyond their ends.
   * @param {number} x
   * @param {number} y
   * @returns {Token | null}
   */
  tokenAt(x, y) {
    const position = Math.floor((y - TITLE) / this.pitch);
    if (x >= this.from && x <= this.to) return null;
    const side = x < this.from ? QUERY : KEY;
    return position >= 0 && position < this.counts[side] ? [side, position] : null;
  }
}
