// @ts-check
// One head large: a row is a query, a column is a key. Hovering previews, a click locks.

import { forStreamlit, mounting } from "../mount.js";
import { clipped, fontOf, layers, penOf, prepare, raster } from "../shared/canvas.js";
import { hatchSwatch, stopsOf } from "../shared/color.js";
import { fadeWhereMore, namedButton } from "../shared/controls.js";
import { div, positionOn } from "../shared/dom.js";
import { drawLegend, pointOnScale, scaleLabel } from "../shared/legend.js";
import { clamp, format, stepped } from "../shared/numbers.js";
import { CanvasView } from "../shared/shell.js";
import { quoted } from "../shared/tell.js";
import { markLabels, paintAxes } from "./axes.js";
import { MatrixCells } from "./cells.js";
import { CELL, FONT, MatrixLayout, TALLEST } from "./layout.js";
import { paintClosed, paintCross, paintFrame, paintGrid, paintNumbers } from "./paint.js";
import style from "./style.css";

/**
 * @typedef {object} MatrixFields
 * @property {string} title
 * @property {string} label
 * @property {import("./layout.js").Tokens[]} beside
 * @property {Cell | null} selected
 */
/** @typedef {MatrixFields & import("./cells.js").CellFields} MatrixData */
/** @typedef {import("./layout.js").Cell} Cell */
/** @typedef {import("./layout.js").Point} Point */

/** @extends {CanvasView<MatrixData, Cell>} */
class AttentionMatrix extends CanvasView {
  /** @type {Cell | null} */
  hovered = null;
  /** @type {Cell | null} */
  selected = null;
  /** The size of a cell that the user wants; null for what fits. @type {number | null} */
  wanted = null;
  shape = "";
  /** @type {MatrixCells} */
  cells;
  /** @type {HTMLCanvasElement} */
  image;
  /** @type {MatrixLayout} */
  at;
  legend = div("hl-legend");
  fade = fadeWhereMore(this.stage);
  window = div("hl-window");
  space = div("hl-space", this.window);
  layers = layers(this.window);

  build() {
    const { stage } = this;
    stage.classList.replace("hl-stage", "hl-box");
    const zooms = [
      namedButton("−", "smaller cells", () => this.zoomBy(1 / 1.35)),
      namedButton("+", "larger cells", () => this.zoomBy(1.35)),
      namedButton("fit", "whole matrix", () => this.zoomBy(0)),
    ];
    stage.append(this.space);
    this.root.append(div("hl-bar", this.legend, div("hl-zoom", ...zooms)), stage, this.note);
    this.listen(stage);
    stage.onscroll = () => this.paint();
    stage.onblur = () => this.point(null);
    stage.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoomBy(event.deltaY < 0 ? 1.15 : 1 / 1.15, this.find(event));
    this.point(this.find(event), event);
  }

  /** @param {string} key @param {[number, number]} [step] */
  onKey(key, step) {
    if (step) return () => this.goTo(step);
    if (key === "Enter" || key === " ") return () => this.click(this.hovered);
    if (key === "Escape") return () => this.letGo();
    return undefined;
  }

  /** @param {[number, number]} step */
  goTo(step) {
    const from = this.hovered ?? this.selected ?? [-step[0], -step[1]];
    const cell = stepped(from, step, [this.cells.queries, this.cells.keys]);
    this.stage.scrollTo(...this.at.reveal(cell, this.scroll, this.view));
    this.paint();
    this.point(cell);
    this.tell(cell);
  }

  letGo() {
    this.point(null);
    this.select(null);
  }

  update() {
    const { data } = this;
    const shape = String([data.queries.length, data.keys.length]);
    if (shape !== this.shape) {
      this.wanted = null;
      this.hovered = null;
      this.selected = null;
      this.tip.hide();
      this.stage.scrollTo(0, 0);
    }
    this.shape = shape;
    this.follow();
    this.cells = new MatrixCells(data);
    this.image = raster(this.cells.pixels(), this.cells.keys);
    this.stage.ariaLabel = `${data.title}: arrow keys move, Enter selects, Escape clears`;
    this.explain();
    this.layout();
    if (this.hovered) this.point(this.hovered, this.pointer);
  }

  /** Say what the colours mean. */
  explain() {
    const { data, cells } = this;
    const { colors } = data;
    const used = data.reasons.map((_, i) => i + 1).filter((number) => cells.closed.includes(number));
    /** @type {[string, string][]} */
    const swatches = used.map((number) => [data.reasons[number - 1], hatchSwatch(colors, number)]);
    const [low, high] = cells.range;
    const ticks = [low, (low + high) / 2, high].map((value) => format(value));
    drawLegend(this.legend, { stops: stopsOf(data), ticks, label: scaleLabel(data, ticks[2]), swatches });
  }

  place() {
    this.at = this.measured(this.data);
    this.at.place(this.wanted ?? this.fit());
    const { width, height } = this.at;
    Object.assign(this.space.style, { width: `${width}px`, height: `${height}px` });
    this.stage.style.maxHeight = `${TALLEST}px`;
    this.paint();
    this.fade();
    const size = `${this.cells.queries} queries × ${this.cells.keys} keys`;
    const advice = `${size}: scroll to see the rest, or make the cells smaller.`;
    this.note.textContent = this.at.cuts(this.view) ? advice : "";
  }

  /** @param {import("./layout.js").Tokens} tokens */
  measured(tokens) {
    const pen = penOf(this.layers.canvas);
    pen.font = fontOf(this.root, FONT);
    return new MatrixLayout(tokens, this.width, (text) => pen.measureText(text).width);
  }

  /** The size of a cell that suits this matrix and those it is compared with. */
  fit() {
    return Math.min(this.at.fit(), ...this.data.beside.map((tokens) => this.measured(tokens).fit()));
  }

  /** Width and height of what is seen. @returns {Point} */
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
    const before = this.at.cell;
    const [query, key] = around ?? [this.cells.queries / 2, this.cells.keys / 2];
    const wanted = factor > 1 ? Math.ceil(before * factor) : Math.floor(before * factor);
    this.wanted = factor ? clamp(wanted, CELL.smallest, CELL.largest) : null;
    this.layout();
    const grown = this.at.cell - before;
    this.stage.scrollBy((key + 0.5) * grown, (query + 0.5) * grown);
    this.paint();
  }

  /**
   * What is painted on a canvas, which is cleared for it.
   * @param {HTMLCanvasElement} canvas
   * @returns {import("./paint.js").Scene}
   */
  scene(canvas) {
    const { root, data, cells, at, scroll, view } = this;
    return { root, data, cells, at, scroll, view, pen: prepare(canvas, ...view) };
  }

  paint() {
    const { at, cells, view } = this;
    Object.assign(this.window.style, { width: `${view[0]}px`, height: `${view[1]}px` });
    const scene = this.scene(this.layers.canvas);
    paintClosed(scene);
    scene.pen.drawImage(
      this.image,
      ...at.origin(scene.scroll),
      cells.keys * at.cell,
      cells.queries * at.cell,
    );
    if (at.cell >= 12) paintGrid(scene);
    paintNumbers(scene);
    paintAxes(scene);
    this.mark();
  }

  /** Row and column of what is hovered, else of what is locked. */
  mark() {
    const { at, view, selected, hovered, cells } = this;
    const { text, accent } = this.data.colors;
    const scene = this.scene(this.layers.overlay);
    const focused = hovered ?? selected;
    clipped(scene.pen, [at.left - 3, at.top - 3, view[0] - at.left + 3, view[1] - at.top + 3], () => {
      if (focused) paintCross(scene, focused);
      if (selected) paintFrame(scene, selected, accent, 4);
      if (hovered) paintFrame(scene, hovered, text, 2);
    });
    if (focused) markLabels(scene, focused);
    const value = focused && !cells.reason(...focused) ? cells.at(...focused) : NaN;
    pointOnScale(this.legend, Number.isFinite(value) ? cells.share(value) : null);
  }

  /** @param {MouseEvent} event */
  find(event) {
    return this.at.cellAt(positionOn(this.layers.canvas, event), this.scroll);
  }

  /** The lower right corner of a cell. @param {Cell} cell */
  cornerOf([query, key]) {
    const { left, top } = this.layers.canvas.getBoundingClientRect();
    const [x, y] = this.at.origin(this.scroll);
    const { cell } = this.at;
    return { clientX: left + x + (key + 1) * cell, clientY: top + y + (query + 1) * cell };
  }

  /** @param {Cell} cell @returns {import("../shared/tell.js").Line[]} */
  describe([query, key]) {
    const { data, cells } = this;
    const reason = cells.reason(query, key);
    const value = cells.at(query, key);
    const does = reason ? "may not look at" : "looks at";
    /** @type {import("../shared/tell.js").Line[]} */
    const lines = [
      ["title", `${quoted(data.queries[query])} ${does} ${quoted(data.keys[key])}`],
      ["quiet", `query ${query}, key ${key}`],
    ];
    if (reason) lines.push(["title", reason]);
    if (!reason || value !== 0) lines.push(["value", format(value, 4)]);
    return [...lines, ["quiet", data.label]];
  }

  /** @param {Cell | null} cell */
  reported(cell) {
    return cell ? { query: cell[0], key: cell[1] } : "cleared";
  }

  state() {
    const { hovered, selected, at } = this;
    return { hovered, selected, cell: at.cell, corner: [at.left, at.top] };
  }
}

export const mount = mounting(AttentionMatrix, "attention_matrix", style);
export default forStreamlit(mount);
