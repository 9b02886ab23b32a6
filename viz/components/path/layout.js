// @ts-check
// Where everything stands at the end of a step: vectors above, a table of tokens below them, the result last.

import { clamp } from "../shared/numbers.js";

/** @typedef {"in" | "with" | "out" | "kept"} Role */
/**
 * @typedef {object} Part
 * @property {string} name
 * @property {Role} role
 * @property {"strip" | "rows" | "bars" | "weights" | "words" | "number"} form
 * @property {string} sign
 * @property {string} array the name of its numbers in the frame
 * @property {string[]} ids of its rows
 * @property {number[]} sizes before blocks of weights were reduced
 * @property {string[]} labels
 * @property {number | null} marked
 * @property {boolean} is_closed
 * @property {[low: number, high: number]} scale
 * @property {string} group
 * @property {boolean} is_share
 */
/**
 * @typedef {object} Step
 * @property {string} name
 * @property {string} chapter
 * @property {string} title
 * @property {string} motion
 * @property {[role: Role | "", text: string][]} sentence
 * @property {Part[]} parts
 */
/** @typedef {import("../shared/canvas.js").Box} Box */
/**
 * Something drawn: a vector, a matrix, a column of bars, a word or a line of text. Equal ids mean the same thing.
 * @typedef {object} Actor
 * @property {string} id
 * @property {number} part its part's number in the step
 * @property {number} row of a part with rows; 0 in others
 * @property {Box} box
 */
/** @typedef {{text: string, at: [x: number, y: number], limit: number, part: number, isRight?: boolean, isMarked?: boolean}} Text */
/** @typedef {{actors: Actor[], texts: Text[], height: number}} Scene */

export const SIZE = 14;
export const BAR_NUMBER = 56;
const CAPTION = 22;
const STRIP = 32;
const GAP = 14;
const BETWEEN = 22;
const CHIP = 30;
/** The share of the width that a vector as wide as the stream takes. */
const STREAM = 0.62;
const WEIGHTS_TALL = 100;
const TABLE_TALL = 300;
const ROW = [16, 24];
/** Narrower tables have no column that only waits. */
const ROOMY = 560;

/**
 * @param {Step} step
 * @param {number} width
 * @param {number} stream the numbers of the widest vector that is not a hidden layer
 * @param {(text: string) => number} measure
 * @returns {Scene}
 */
export function sceneOf(step, width, stream, measure) {
  const hasTable = step.parts.some(({ form }) => form === "rows" || form === "bars");
  /** @type {Scene} */
  const scene = { actors: [], texts: [], height: 0 };
  /** @type {number[]} */
  const columns = [];
  /** @type {[above: number[], below: number[]]} */
  const [above, below] = [[], []];
  for (const [i, { form, role }] of step.parts.entries()) {
    if (role === "kept" && form === "bars" && width < ROOMY) continue;
    if (form === "rows" || form === "bars" || (form === "weights" && hasTable)) columns.push(i);
    else if (role === "out") below.push(i);
    else above.push(i);
  }
  let y = 0;
  const put = (/** @type {number} */ i) => {
    y =
      step.parts[i].form === "words"
        ? words(scene, step, i, y, width, measure)
        : one(scene, step, i, y, width, stream);
  };
  above.forEach(put);
  if (columns.length) y = table(scene, step, columns, y, { width, stream, measure });
  below.forEach(put);
  scene.height = y;
  return scene;
}

/** The width of a vector. @param {number} n @param {number} stream @param {number} width */
export const widthOf = (n, stream, width) =>
  clamp(width * STREAM * Math.sqrt(n / stream), Math.min(56, 12 * n), width);

/** What is written above a part. @param {Part} part */
export function captionOf({ sign, name, form, sizes }) {
  const size =
    form === "weights" ? ` ${sizes[1]}\u00a0× ${sizes[0]}` : form === "strip" ? ` (${sizes[0]})` : "";
  return `${sign ? `${sign} ` : ""}${name}${size}`;
}

/**
 * Put a vector, a matrix or a number below what is there.
 * @param {Scene} scene @param {Step} step @param {number} i @param {number} y @param {number} width
 * @param {number} stream
 */
function one(scene, step, i, y, width, stream) {
  const part = step.parts[i];
  if (part.form === "number") {
    scene.actors.push({ id: part.array, part: i, row: 0, box: [0, y, width, CAPTION] });
    return y + CAPTION;
  }
  const isMatrix = part.form === "weights";
  const wide = widthOf(part.sizes[isMatrix ? 1 : 0], stream, width);
  const tall = isMatrix
    ? WEIGHTS_TALL
    : part.role !== "in" && part.role !== "out" && step.motion !== "sum"
      ? STRIP / 2
      : STRIP;
  scene.texts.push({ text: captionOf(part), at: [0, y + CAPTION / 2], limit: width, part: i });
  scene.actors.push({ id: part.array, part: i, row: 0, box: [0, y + CAPTION, wide, tall] });
  return y + CAPTION + tall + GAP;
}

/**
 * Put words in lines.
 * @param {Scene} scene @param {Step} step @param {number} i @param {number} y @param {number} width
 * @param {(text: string) => number} measure
 */
function words(scene, step, i, y, width, measure) {
  const { labels, name } = step.parts[i];
  let [x, line] = [0, y + CAPTION];
  scene.texts.push({ text: name, at: [0, y + CAPTION / 2], limit: width, part: i });
  for (const [row, word] of labels.entries()) {
    const wide = Math.min(measure(word) + 18, width);
    if (x && x + wide > width) [x, line] = [0, line + CHIP + 6];
    scene.actors.push({ id: `${word} ${row}`, part: i, row, box: [x, line, wide, CHIP] });
    x += wide + 6;
  }
  return line + CHIP + GAP;
}

/**
 * Put a table: a line per token, a column per part.
 * @param {Scene} scene @param {Step} step @param {number[]} columns
 * @param {number} y
 * @param {{width: number, stream: number, measure: (text: string) => number}} room
 */
function table(scene, step, columns, y, { width, stream, measure }) {
  const lined = step.parts[columns.find((i) => step.parts[i].labels.length) ?? columns[0]];
  const n = lined.labels.length;
  const tall = clamp(TABLE_TALL / n, ROW[0], ROW[1]);
  const left = Math.min(Math.max(...lined.labels.map(measure)) + 14, width * 0.3, 160);
  const marked = step.parts.find(({ marked }) => marked !== null)?.marked;
  const wanted = columns.map((i) => wish(step.parts[i], stream, width - left));
  const total = wanted.reduce((a, b) => a + b, 0) + (columns.length - 1) * BETWEEN;
  const shrink = Math.min(
    1,
    (width - left - (columns.length - 1) * BETWEEN) / (total - (columns.length - 1) * BETWEEN),
  );
  const captions = columns.map((i, column) => {
    const isLast = column === columns.length - 1;
    const limit = wanted[column] * shrink + (isLast ? 0 : BETWEEN - 6);
    return { limit, lines: wrapped(captionOf(step.parts[i]), limit, measure) };
  });
  const top = y + CAPTION * Math.max(...captions.map(({ lines }) => lines.length));
  for (const [row, label] of lined.labels.entries()) {
    const at = /** @type {[number, number]} */ ([left - 8, top + (row + 0.5) * tall]);
    scene.texts.push({ text: label, at, limit: left - 8, part: -1, isRight: true, isMarked: row === marked });
  }
  let x = left;
  for (const [column, i] of columns.entries()) {
    const part = step.parts[i];
    const wide = wanted[column] * shrink;
    const { limit, lines } = captions[column];
    for (const [line, text] of lines.entries())
      scene.texts.push({ text, at: [x, top - (lines.length - line - 0.5) * CAPTION], limit, part: i });
    if (part.form === "rows") {
      for (const [row, id] of part.ids.entries())
        scene.actors.push({ id, part: i, row, box: [x, top + row * tall + 1, wide, tall - 2] });
    } else {
      const height = part.form === "weights" ? Math.min(n * tall, 110) : n * tall;
      scene.actors.push({ id: part.array, part: i, row: 0, box: [x, top, wide, height] });
    }
    x += wide + BETWEEN;
  }
  return top + n * tall + GAP;
}

/**
 * A bold text in lines, broken between words.
 * @param {string} text @param {number} limit @param {(text: string) => number} measure
 */
function wrapped(text, limit, measure) {
  const [first, ...words] = text.split(" ");
  const lines = [first];
  for (const word of words) {
    const longer = `${lines[lines.length - 1]} ${word}`;
    if (1.12 * measure(longer) <= limit) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** The width that a column would like. @param {Part} part @param {number} stream @param {number} width */
function wish({ form, sizes }, stream, width) {
  if (form === "bars") return clamp(width * 0.28, 110, 220);
  return Math.min(widthOf(sizes[1], stream, width), width * (form === "weights" ? 0.25 : 0.5));
}
