// @ts-check
// One stage of a sentence's way through the model: matrices and their result. Pointer and keys reach cells; the
// operand cells that feed a cell of the result are framed.

import { forStreamlit, mounting } from "../mount.js";
import { layers, penOf, prepare, strokeBox } from "../shared/canvas.js";
import { div, positionInWindow, positionOn } from "../shared/dom.js";
import { format, stepped } from "../shared/numbers.js";
import { CanvasView } from "../shared/shell.js";
import { quoted } from "../shared/words.js";
import { cellAt, isNamed, layout, SIZE } from "./layout.js";
import { image, paintCells, paintWords, sizes } from "./paint.js";
import style from "./style.css";

/** @typedef {import("./paint.js").Filled} Filled */
/** @typedef {[picture: number, row: number, column: number]} Cell */
/**
 * @typedef {object} StageData
 * @property {string} title
 * @property {string} stage
 * @property {import("./layout.js").Picture[]} pictures
 */
/** @typedef {StageData & Record<`values${number}`, Float32Array> & Record<`closed${number}`, Uint8Array>} Sent */

/** @extends {CanvasView<StageData & {selected?: Cell | null}, Cell>} */
class StagePictures extends CanvasView {
  box = div("canvases");
  drawn = layers(this.box);
  /** @type {Filled[]} */
  pictures = [];
  /** @type {(HTMLCanvasElement | null)[]} */
  images = [];
  /** @type {import("./layout.js").Place[]} */
  places = [];
  height = 0;
  shown = "";

  build() {
    this.stage.append(this.box);
    this.stage.onblur = () => this.point(null);
    this.root.prepend(this.stage, this.note);
    this.listen(this.drawn.canvas);
  }

  update() {
    const data = /** @type {Sent & import("../shared/frame.js").Frame} */ (this.data);
    this.pictures = data.pictures.map((picture, i) => ({
      ...picture,
      values: data[`values${i}`],
      closed: data[`closed${i}`],
    }));
    this.images = this.pictures.map((picture) => image(picture, data.colors));
    this.stage.setAttribute("aria-label", data.title);
    this.selected = null;
    this.point(null);
    const shared = [...new Set(this.pictures.filter((one) => one.is_shared).map(({ name }) => name))];
    const scale = shared.length ? `One colour scale for ${shared.join(" and ")}. ` : "";
    this.note.textContent = `${scale}Point at a cell, or move to it with the arrow keys, to read it in full and to see which cells it is computed from.`;
    this.shown = data.stage;
    this.layout();
  }

  place() {
    const pen = penOf(this.drawn.canvas);
    pen.font = `${SIZE}px ${getComputedStyle(this.root).fontFamily}`;
    const { places, height } = layout(this.pictures, this.width - 4, (text) => pen.measureText(text).width);
    [this.places, this.height] = [places, height];
    this.paint();
    this.mark();
  }

  paint() {
    const pen = prepare(this.drawn.canvas, this.width, this.height);
    const brush = { pen, colors: this.data.colors };
    for (const [i, picture] of this.pictures.entries()) {
      const { x, y, width, height } = this.places[i];
      paintCells(brush, picture, this.images[i], [x, y, width, height]);
      paintWords(brush, picture, this.places[i]);
    }
  }

  /** @param {MouseEvent} event */
  find(event) {
    return cellAt(this.places, this.pictures, positionOn(this.drawn.canvas, event));
  }

  /** Frame a cell, and the operand cells that feed it. */
  mark() {
    const pen = prepare(this.drawn.overlay, this.width, this.height);
    const cell = this.hovered ?? this.selected;
    if (!cell) return;
    const { text, accent } = this.data.colors;
    const last = this.pictures.length - 1;
    const [number, row, column] = cell;
    this.outline(pen, text, number, [row, row], [column, column]);
    if (number !== last) return;
    for (let i = 0; i < last; i++) {
      const { link, rows, columns } = this.pictures[i];
      const [n, m] = [rows.labels.length, columns.labels.length];
      const part = (/** @type {boolean} */ own, /** @type {number} */ at, /** @type {number} */ size) =>
        /** @type {[number, number]} */ (own && size > 1 ? [at, at] : [0, size - 1]);
      if ((link[0] && n > 1 && row >= n) || (link[1] && m > 1 && column >= m)) continue;
      this.outline(pen, accent, i, part(link[0], row, n), part(link[1], column, m));
    }
  }

  /**
   * @param {import("../shared/canvas.js").Pen} pen
   * @param {string} color
   * @param {number} number of the picture
   * @param {[first: number, last: number]} rows
   * @param {[first: number, last: number]} columns
   */
  outline(pen, color, number, rows, columns) {
    const { x, y, wide, tall } = this.places[number];
    const [left, top] = [x + columns[0] * wide, y + rows[0] * tall];
    const [width, height] = [(columns[1] - columns[0] + 1) * wide, (rows[1] - rows[0] + 1) * tall];
    strokeBox(pen, color, 2, [left - 1, top - 1, width + 2, height + 2]);
  }

  /**
   * @param {Cell} cell
   * @returns {import("../shared/words.js").Line[]}
   */
  describe([number, row, column]) {
    const { name, rows, columns, kind, values, closed, words } = this.pictures[number];
    const at = row * columns.labels.length + column;
    const where = [
      [rows, row],
      [columns, column],
    ]
      .filter(([axis]) => isNamed(/** @type {import("./layout.js").Axis} */ (axis)))
      .map(([axis, i]) => named(/** @type {import("./layout.js").Axis} */ (axis), /** @type {number} */ (i)));
    /** @type {import("../shared/words.js").Line[]} */
    const lines = [["title", `${name}: ${where.join(", ")}`]];
    if (kind === "words") lines.push(["value", quoted(words[row])]);
    else lines.push(["value", closed?.[at] ? closedValue(kind) : precise(values[at], kind)]);
    if (number === this.pictures.length - 1 && number > 0)
      lines.push(["quiet", "Computed from the framed cells."]);
    return lines;
  }

  /** @param {Cell} cell */
  cornerOf([number, row, column]) {
    const { x, y, wide, tall } = this.places[number];
    return positionInWindow(this.drawn.canvas, [x + (column + 1) * wide, y + (row + 1) * tall]);
  }

  /** Select a cell, which is not reported to Python. @param {Cell | null} cell */
  select(cell) {
    this.selected = cell;
    this.mark();
    if (cell) this.announce(cell);
  }

  /** @param {string} key @param {[down: number, right: number]} [step] */
  onKey(key, step) {
    if (key === "Escape" && this.selected)
      return () => {
        this.select(null);
        this.point(null);
      };
    if (!step) return undefined;
    return () => {
      const cell = this.next(step);
      this.select(cell);
      this.point(cell);
    };
  }

  /** The cell one step away; from a picture's edge to the next picture. @param {[number, number]} step */
  next([down, right]) {
    const last = this.pictures.length - 1;
    if (!this.selected) return /** @type {Cell} */ ([last, 0, 0]);
    const [number, row, column] = this.selected;
    const counts = this.countsOf(number);
    const beyond = column + right < 0 ? -1 : column + right >= counts[1] ? 1 : 0;
    const to = number + beyond;
    if (beyond && to >= 0 && to <= last) {
      const [rows, columns] = this.countsOf(to);
      return /** @type {Cell} */ ([to, Math.min(row, rows - 1), beyond < 0 ? columns - 1 : 0]);
    }
    return /** @type {Cell} */ ([number, ...stepped([row, column], [down, right], counts)]);
  }

  /** @param {number} number */
  countsOf(number) {
    const { rows, columns } = this.pictures[number];
    return /** @type {[number, number]} */ ([rows.labels.length, columns.labels.length]);
  }

  state() {
    const pictures = this.pictures.map(({ name, rows, columns }, i) => {
      const { x, y, width, height } = this.places[i];
      return { name, sizes: sizes(rows, columns), box: [x, y, width, height] };
    });
    return { stage: this.shown, pictures };
  }
}

/** @param {import("./layout.js").Axis} axis @param {number} i */
const named = ({ title, labels, has_words }, i) =>
  has_words ? `${title} ${i} ${quoted(labels[i])}` : `${title} ${labels[i]}`;

/** @param {string} kind */
const closedValue = (kind) => (kind === "share" ? "0: closed" : "−∞: closed");

/** A number with all the digits of a float32. @param {number} value @param {string} kind */
const precise = (value, kind) => (kind === "ids" ? String(value) : format(value, 6));

export const mount = mounting(StagePictures, "pictures", style);
export default forStreamlit(mount);
