// @ts-check
// The positions of a stage's pictures: in a row, each after its sign, and in further rows if the width is too small.
// Cells of pictures in a row begin at the same height, so that token rows line up.

import { clamp } from "../shared/numbers.js";

/**
 * @typedef {object} Axis
 * @property {string} title
 * @property {string[]} labels
 * @property {boolean} has_words
 * @property {number} count the full count, including those not shown
 */
/**
 * @typedef {object} Picture
 * @property {string} name
 * @property {string} sign
 * @property {Axis} rows
 * @property {Axis} columns
 * @property {"signed" | "share" | "ids" | "words"} kind
 * @property {string} path
 * @property {[row: boolean, column: boolean]} link
 * @property {[low: number, high: number]} range
 * @property {boolean} is_shared whether other pictures have the same range
 * @property {string[]} words
 * @property {number | null} marked
 */
/**
 * The place of a picture, in CSS pixels of the canvas.
 * @typedef {object} Place
 * @property {number} x of its first cell
 * @property {number} y of its first cell
 * @property {number} wide of a cell
 * @property {number} tall of a cell
 * @property {number} width of all cells
 * @property {number} height of all cells
 * @property {number} left where its sign begins
 * @property {number} middle the height of its sign
 * @property {number} labels the width of its rows' labels
 * @property {number} head the height of the part above its cells
 * @property {number} full its width with its labels, without its sign
 */

export const SIZE = 14;
export const TITLE = 22;
/** The height of axis title and scale below the cells. */
export const FOOT = 44;
/** The least height of a row with a text to read. */
export const LINE = SIZE + 3;
/** How far column labels and sizes may stand out to the right of a picture. */
export const OVERHANG = 12;
const LONGEST = 130;
/** Widths to try, so that pictures fit in one row. */
const WIDTHS = [340, 290, 240, 200, 165, 135, 112, 100];
const TALLEST = 480;
/** The most height at which each row has a label: pictures with more rows label some. */
const LABELLED = 700;
/** The most height for the cells of a picture whose rows are dimensions. */
const HIGHEST = 220;
const CELL = [46, 24];
const GAP = 14;
/** The least room before a picture, as for a short sign. */
const MARGIN = 40;

/** Whether the places of an axis have names. @param {Axis} axis */
export const isNamed = ({ labels }) => labels.length > 1 || Boolean(labels[0]);

/**
 * @param {Picture[]} pictures
 * @param {number} width of the canvas
 * @param {(text: string) => number} measure the width of a text
 * @returns {{places: Place[], height: number}}
 */
export function layout(pictures, width, measure) {
  const ways = WIDTHS.map((widest) => arrange(pictures, width - OVERHANG, widest, measure));
  const fewest = Math.min(...ways.map(({ rows }) => rows));
  return /** @type {ReturnType<typeof arrange>} */ (ways.find(({ rows }) => rows === fewest));
}

/**
 * @param {Picture[]} pictures
 * @param {number} width for the pictures
 * @param {number} widest of all cells of a picture
 * @param {(text: string) => number} measure
 */
function arrange(pictures, width, widest, measure) {
  /** @type {Place[]} */
  const places = [];
  let [x, y, head, below] = [0, 0, 0, 0];
  /** @type {Place[]} */
  let row = [];
  const close = () => {
    for (const place of row) {
      place.y = y + head;
      place.middle = y + head + Math.min(below, HIGHEST) / 2;
    }
    y += head + below + FOOT;
    [row, x, head, below] = [[], 0, 0, 0];
  };
  let rows = 1;
  /** The last picture in this row with labels. @type {Picture | null} */
  let last = null;
  for (const picture of pictures) {
    const sign = picture.sign ? 1.3 * measure(picture.sign) + 2 * GAP : row.length ? 2 * GAP : 0;
    const room = width - Math.max(sign, MARGIN);
    // Rows that line up with those of the previous picture use its labels.
    let place = sized(picture, room, widest, measure, last !== null && sameRows(picture, last));
    if (row.length && x + sign + place.full > width) {
      close();
      last = picture;
      place = sized(picture, room, widest, measure, false);
      rows += 1;
    }
    if (picture.rows.labels.length > 1) last = picture;
    place.left = x;
    place.x = x + (row.length || picture.sign ? sign : 0) + place.labels;
    x = place.x + place.full - place.labels;
    head = Math.max(head, place.head);
    below = Math.max(below, place.height);
    row.push(place);
    places.push(place);
  }
  close();
  return { places, height: y, rows };
}

/** Whether two neighbouring pictures have the same rows. @param {Picture} a @param {Picture} b */
const sameRows = (a, b) => isNamed(a.rows) && String(a.rows.labels) === String(b.rows.labels);

/**
 * The sizes of a picture; its position is computed later.
 * @param {Picture} picture
 * @param {number} room the width for the picture without its sign
 * @param {number} widest
 * @param {(text: string) => number} measure
 * @param {boolean} isLabelled whether another picture labels its rows
 * @returns {Place}
 */
function sized({ name, rows, columns, kind, words }, room, widest, measure, isLabelled) {
  const longest = (/** @type {string[]} */ texts) => Math.max(0, ...texts.map(measure));
  const labels = isNamed(rows) && !isLabelled ? Math.min(LONGEST, 1.1 * longest(rows.labels)) + 12 : 0;
  const most = Math.max(60, Math.min(widest, room - labels));
  const [n, m] = [columns.labels.length, rows.labels.length];
  const own = kind === "words" ? clamp(longest(words) + 16, CELL[0], most) : kind === "ids" ? 70 : CELL[0];
  const isText = kind === "words" || kind === "ids";
  const wide = isText ? own : clamp(most / n, 0.5, own);
  // Words and ids are read in their cells; the rows of tokens next to them line up.
  const isRead = isText || (rows.has_words && m * LINE <= LABELLED);
  const tall = clamp((isText || rows.has_words ? TALLEST : HIGHEST) / m, isRead ? LINE : 1, CELL[1]);
  const above = !isNamed(columns)
    ? 4
    : columns.has_words
      ? Math.min(LONGEST, longest(columns.labels)) + 8
      : 20;
  const [cells, high] = [n * wide, m * tall];
  // Names and titles may be wider than a narrow picture's cells.
  const full = labels + Math.max(cells, Math.min(room - labels, 1.12 * measure(name) + 6), 64);
  return {
    x: 0,
    y: 0,
    wide,
    tall,
    width: cells,
    height: high,
    left: 0,
    middle: 0,
    labels,
    head: TITLE + above,
    full,
  };
}

/**
 * The step between labels that fit.
 * @param {number} size of a cell
 * @param {number} needed the size of a label
 */
export const every = (size, needed) => {
  const least = Math.ceil(needed / size);
  return [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128].find((step) => step >= least) ?? 256;
};

/**
 * The cell at a point of the canvas.
 * @param {Place[]} places
 * @param {Picture[]} pictures
 * @param {[x: number, y: number]} at
 * @returns {[picture: number, row: number, column: number] | null}
 */
export function cellAt(places, pictures, [x, y]) {
  for (const [number, place] of places.entries()) {
    const [column, row] = [Math.floor((x - place.x) / place.wide), Math.floor((y - place.y) / place.tall)];
    const { rows, columns } = pictures[number];
    if (column >= 0 && row >= 0 && column < columns.labels.length && row < rows.labels.length)
      return [number, row, column];
  }
  return null;
}
