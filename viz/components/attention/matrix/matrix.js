// @ts-check
// One head as a large matrix: a row per query, a column per key. Hovering previews, a click locks.

import { fontOf, layers, penOf, prepare, raster, sharpnessOf } from "../../shared/canvas.js";
import { fadeWhereMore } from "../../shared/controls.js";
import { div, positionInWindow, positionOn } from "../../shared/dom.js";
import { clamp, stepped } from "../../shared/numbers.js";
import { CanvasView } from "../../shared/shell.js";
import { tallest } from "../room.js";
import { MatrixCells } from "./cells.js";
import { describeCell, describeSum } from "./describe.js";
import { CELL, FONT, MatrixLayout } from "./layout.js";
import { paintMarks, paintMatrix } from "./picture.js";
import { BELOW, BESIDE } from "./sums.js";
import { zoomable } from "./zoom.js";

/**
 * @typedef {object} MatrixFields
 * @property {string} title
 * @property {string} label
 * @property {[queries: number[], keys: number[]]} numbers the positions of rows and columns
 * @property {string[] | null} roles what each row reads and writes
 * @property {string} axis what a row stands for
 * @property {import("./sums.js").Sums | null} sums
 * @property {Cell | null} selected
 * @property {Rounded | null} rounded
 */
/** @typedef {{note: string, zero: string}} Rounded notes on rounded numbers, and the text for 0 */
/** @typedef {MatrixFields & import("./cells.js").CellFields} MatrixData */
/** @typedef {import("./layout.js").Cell} Cell */
/** @typedef {import("./layout.js").Point} Point */

/**
 * What neighbouring matrices are told.
 * @typedef {object} Beside
 * @property {(view: MatrixView) => void} moved after zooming or scrolling
 * @property {(view: MatrixView) => void} pointed after another cell is hovered or chosen
 */

/** @extends {CanvasView<MatrixData, Cell>} */
export class MatrixView extends CanvasView {
  /** @type {Cell | null} */
  hovered = null;
  /** The cell size that the user wants; null fits the matrix. @type {number | null} */
  wanted = null;
  shape = "";
  /** What the last painting depended on, except the selection. @type {Record<"cells" | "labels" | "rest", unknown[]> | null} */
  painted = null;
  /** @type {MatrixCells} */
  cells;
  /** @type {HTMLCanvasElement} */
  image;
  /** @type {MatrixLayout} */
  at;
  fade = fadeWhereMore(this.stage);
  window = div("hl-window");
  space = div("hl-space", this.window);
  layers = layers(this.window);

  /** @param {HTMLElement} root @param {import("../../shared/shell.js").Host} host @param {Beside} beside */
  constructor(root, host, beside) {
    super(root, host);
    this.beside = beside;
  }

  build() {
    const { stage } = this;
    stage.classList.replace("hl-stage", "hl-box");
    stage.append(this.space);
    this.root.append(stage, this.note);
    this.listen(stage);
    stage.onclick = (event) => this.click(this.find(event) ?? this.findLabelled(event));
    stage.onscroll = () => {
      this.paint();
      this.beside.moved(this);
    };
    stage.onblur = () => this.point(null);
    zoomable(stage, (factor, around) => {
      const event = /** @type {MouseEvent} */ (around);
      this.zoomBy(factor, this.find(event));
      this.point(this.find(event), event);
    });
  }

  /** @param {string} key @param {[number, number]} [step] */
  onKey(key, step) {
    if (step) return () => this.goTo(step);
    if (key === "Enter" || key === " ") return () => this.click(this.hovered);
    if (key === "Escape") return () => this.letGo();
    if (key === "+" || key === "=") return () => this.zoomBy(1.35);
    if (key === "-") return () => this.zoomBy(1 / 1.35);
    return undefined;
  }

  /** @param {[number, number]} step */
  goTo(step) {
    const { sums } = this.data;
    const from = this.hovered ?? this.selected ?? [-step[0], -step[1]];
    const counts = [this.cells.queries + (sums ? 1 : 0), this.cells.keys + (sums?.hasRows ? 1 : 0)];
    const cell = stepped(from, step, counts);
    if (cell[0] === this.cells.queries && cell[1] === this.cells.keys) return;
    this.stage.scrollTo(...this.at.reveal(cell, this.scroll, this.view));
    this.paint();
    this.point(cell);
    this.announce(cell);
  }

  letGo() {
    this.point(null);
    this.select(null);
  }

  /** Choose a cell; a sum cannot be chosen. @param {Cell | null} cell */
  click(cell) {
    if (cell && this.cells.has(cell)) this.select(cell);
  }

  update() {
    const { data, stage } = this;
    const shape = String([data.queries.length, data.keys.length]);
    this.follow();
    if (shape !== this.shape) {
      this.wanted = null;
      this.hovered = null;
      this.selected = data.selected ?? null;
      this.tip.hide();
      stage.scrollTo(0, 0);
    }
    this.shape = shape;
    stage.ariaLabel = `${data.title}: arrow keys move, Enter selects, Escape clears, + and − zoom`;
    this.place();
    if (this.hovered) this.point(this.hovered, this.pointer);
  }

  /** Adapt to another width or other data, and repaint only what has changed. */
  place() {
    const { data, painted } = this;
    const room = this.room();
    const look = {
      cells: [data.values, data.isRough, data.closed, data.colors, data.kind, String(data.range)],
      labels: [
        ...[data.queries, data.keys, data.numbers, data.sums?.title],
        ...[Object.values(room).join(), document.fonts.status],
      ],
      rest: [data.axis, data.sums?.columns, data.sums?.reach, sharpnessOf(this.layers.canvas)],
    };
    const isNew = (/** @type {keyof typeof look} */ part) => !painted || !areSame(painted[part], look[part]);
    const [cells, labels, rest] = [isNew("cells"), isNew("labels"), isNew("rest")];
    this.painted = look;
    if (cells) {
      this.cells = new MatrixCells(data);
      this.image = raster(this.cells.pixels(), this.cells.keys, this.image);
    }
    if (labels) this.at = this.measured(room);
    if (labels) this.arrange();
    else if (cells || rest) this.paint();
    else this.mark();
  }

  /** Compute every cell's size and place. */
  arrange() {
    this.at.place(this.wanted ?? this.at.fit());
    const { width, height } = this.at;
    Object.assign(this.space.style, { width: `${width}px`, height: `${height}px` });
    this.stage.style.maxHeight = `${tallest()}px`;
    this.stage.classList.toggle("hl-summed", Boolean(this.data.sums));
    this.stage.classList.toggle("hl-rows-summed", Boolean(this.data.sums?.hasRows));
    this.paint();
    this.fade();
    const size = `${this.cells.queries} queries × ${this.cells.keys} keys`;
    const advice = `${size}: scroll or drag to see the rest, or make the cells smaller.`;
    this.note.textContent = this.at.cuts(this.view) ? advice : "";
  }

  /** @returns {import("./layout.js").Room} */
  room() {
    const { sums } = this.data;
    const [below, beside] = [sums ? BELOW : 0, sums?.hasRows ? BESIDE : 0];
    return { width: this.width, tallest: tallest(), below, beside };
  }

  /** @param {import("./layout.js").Room} room */
  measured(room) {
    const pen = penOf(this.layers.canvas);
    pen.font = fontOf(this.root, FONT);
    return new MatrixLayout(this.data, room, (text) => pen.measureText(text).width);
  }

  /** Width and height of the visible part. @returns {Point} */
  get view() {
    return [this.stage.clientWidth, this.stage.clientHeight];
  }

  /** @returns {Point} */
  get scroll() {
    return [this.stage.scrollLeft, this.stage.scrollTop];
  }

  /**
   * Make cells larger or smaller around one of them; 0 fits the whole matrix.
   * @param {number} factor
   * @param {Cell | null} around
   */
  zoomBy(factor, around = null) {
    const { cell, wide } = this.at;
    const [query, key] = around ?? [this.cells.queries / 2, this.cells.keys / 2];
    const wanted = factor > 1 ? Math.ceil(cell * factor) : Math.floor(cell * factor);
    this.wanted = factor ? clamp(wanted, CELL.smallest, CELL.largest) : null;
    this.arrange();
    this.stage.scrollBy((key + 0.5) * (this.at.wide - wide), (query + 0.5) * (this.at.cell - cell));
    this.paint();
    this.beside.moved(this);
  }

  /** Zoom and scroll as another matrix of the same tokens does. @param {MatrixView} other */
  moveAs({ wanted, scroll }) {
    if (wanted !== this.wanted) {
      this.wanted = wanted;
      this.arrange();
    }
    if (String(scroll) !== String(this.scroll)) this.stage.scrollTo(...scroll);
  }

  /** Mark the cell that is hovered in another matrix. @param {MatrixView} other */
  pointAs({ hovered }) {
    if (String(hovered) === String(this.hovered)) return;
    this.hovered = hovered;
    this.mark();
  }

  /**
   * The scene to paint on a canvas, which is cleared.
   * @param {HTMLCanvasElement} canvas
   * @returns {import("./paint.js").Scene}
   */
  scene(canvas) {
    const { data, cells, at, scroll, view } = this;
    const fontFamily = getComputedStyle(this.root).fontFamily;
    const font = (/** @type {number} */ size, weight = 400) => `${weight} ${size}px ${fontFamily}`;
    return { font, data, cells, at, scroll, view, pen: prepare(canvas, ...view) };
  }

  paint() {
    const [width, height] = this.view;
    Object.assign(this.window.style, { width: `${width}px`, height: `${height}px` });
    paintMatrix(this.scene(this.layers.canvas), this.image);
    this.mark();
  }

  mark() {
    paintMarks(this.scene(this.layers.overlay), this.hovered, this.selected);
    this.beside.pointed(this);
  }

  /** The position of the hovered or chosen number on the colour scale, from 0 to 1; null if there is none. */
  share() {
    const { hovered, selected, cells } = this;
    const focused = hovered ?? selected;
    const isOpen = focused && !this.data.isRough && this.cells.has(focused) && !cells.reason(...focused);
    const value = isOpen ? cells.at(...focused) : NaN;
    return Number.isFinite(value) ? cells.share(value) : null;
  }

  /** @param {MouseEvent} event */
  find(event) {
    const found = this.at.cellAt(positionOn(this.layers.canvas, event), this.scroll, this.view);
    return found && (this.data.sums || this.cells.has(found)) ? found : null;
  }

  /** The largest number in the row or column of a label. @param {MouseEvent} event @returns {Cell | null} */
  findLabelled(event) {
    const [query, key] = this.at.labelAt(positionOn(this.layers.canvas, event), this.scroll);
    const isOpen = (/** @type {Cell} */ cell) => this.cells.has(cell) && !this.cells.reason(...cell);
    const { queries, keys } = this.cells;
    const count = query >= 0 ? keys : key >= 0 ? queries : 0;
    const cells = Array.from(
      { length: count },
      (_, i) => /** @type {Cell} */ (query >= 0 ? [query, i] : [i, key]),
    );
    const best = cells.filter(isOpen).sort((a, b) => this.cells.at(...b) - this.cells.at(...a));
    return best[0] ?? null;
  }

  /** The lower right corner of a cell. @param {Cell} cell */
  cornerOf([query, key]) {
    const [x, y] = this.at.origin(this.scroll);
    const { cell, wide } = this.at;
    return positionInWindow(this.layers.canvas, [x + (key + 1) * wide, y + (query + 1) * cell]);
  }

  /** @param {Cell} place @returns {import("../../shared/words.js").Line[]} */
  describe(place) {
    return this.cells.has(place) ? describeCell(this, place) : describeSum(this, place);
  }

  /** @param {Cell | null} cell */
  reported(cell) {
    return cell ? { query: cell[0], key: cell[1] } : "cleared";
  }

  state() {
    const { hovered, selected, at } = this;
    return { hovered, selected, cell: [at.wide, at.cell], corner: [at.left, at.top] };
  }
}

/** @param {unknown[]} a @param {unknown[]} b */
const areSame = (a, b) => a.every((value, i) => Object.is(value, b[i]));
