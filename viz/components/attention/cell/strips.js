// @ts-check
// Vectors as strips of bars, aligned by dimension; hovering shows the numbers.

import { fillBox, layers, prepare, strokeBox } from "../../shared/canvas.js";
import { div, h, positionInWindow, positionOn, span } from "../../shared/dom.js";
import { float32List, float32Text } from "../../shared/float32.js";
import { clamp, format, stepped } from "../../shared/numbers.js";
import { CanvasView } from "../../shared/shell.js";
import { partHost } from "../parts/host.js";
import { symbol } from "./number.js";

/**
 * @typedef {object} Row
 * @property {string} name as in a formula
 * @property {string} text its description
 * @property {Float32Array | null | undefined} values null while pending
 * @property {(at: number | string) => string} source where one number of it comes from; at ":" the whole vector
 * @property {string} [scale] rows with the same name share a scale; without one, each row has its own
 * @property {boolean} [line] drawn as a line instead of bars
 */
/** @typedef {{title: string, rows: Row[], selected?: Place | null}} StripData */
/** @typedef {[row: number, dimension: number]} Place */

/** Heights of the text above a strip and of the strip, in pixels. */
const [TEXT, BARS] = [26, 38];
const EACH = TEXT + BARS;
/** Wider bars have a gap between them. */
const GAP_FROM = 4;

/** @extends {CanvasView<StripData, Place>} */
export class StripsView extends CanvasView {
  texts = div("hl-strip-texts");
  layers = layers(this.stage);

  /**
   * @param {HTMLElement} root
   * @param {(text: string, source: string) => void} copy
   * @param {(source: string, text: string) => void} read called with the number that is pointed at
   */
  constructor(root, copy, read) {
    super(
      root,
      partHost(() => {}),
    );
    this.copy = copy;
    this.read = read;
    root.classList.add("hl-strips");
    root.append(this.stage, this.texts);
    this.listen(this.stage);
    this.stage.onblur = () => this.point(null);
  }

  /** How many numbers a vector has. */
  get dimensions() {
    return this.data.rows.find((row) => row.values)?.values?.length ?? 0;
  }

  /** Update without layout: `layout` is called later, when everything else has been written. */
  update() {
    const { rows, title } = this.data;
    this.stage.ariaLabel = `${title}: arrow keys move, Enter copies the number`;
    this.stage.style.height = this.texts.style.height = `${rows.length * EACH}px`;
    this.texts.replaceChildren(...rows.map((row) => this.caption(row)));
    this.hovered &&= /** @type {Place} */ (
      stepped(this.hovered, [0, 0], [rows.length, this.dimensions || 1])
    );
  }

  /** @param {Row} row */
  caption({ name, text, values, source }) {
    const label = span("hl-strip-label", symbol(name), span("quiet", text));
    const count = values?.length ?? 0;
    const attributes = {
      class: "hl-copy",
      "data-name": `all of ${name}`,
      "aria-label": `copy all ${count} numbers of ${name}`,
      title: source(":"),
      tabindex: -1,
      onclick: () => values && this.copy(float32List(values), source(":")),
    };
    return div("hl-strip-text", label, values ? h("button", attributes, "copy") : "…");
  }

  place() {
    const { rows, colors } = this.data;
    const pen = prepare(this.layers.canvas, this.width, rows.length * EACH);
    for (const [i, row] of rows.entries()) {
      const top = i * EACH + TEXT;
      fillBox(pen, colors.surface, [0, top, this.width, BARS]);
      if (row.values) this.#paint(pen, row, top);
      fillBox(pen, colors.muted, [0, top + BARS / 2 - 0.5, this.width, 1]);
    }
    this.mark();
    if (this.hovered && this.dimensions) this.point(this.hovered, this.pointer);
  }

  /** @param {Row} row */
  #reach(row) {
    const together = this.data.rows.filter(
      (other) => other === row || (row.scale && other.scale === row.scale),
    );
    return Math.max(...together.map(({ values }) => largest(values))) || 1;
  }

  /** @param {CanvasRenderingContext2D} pen @param {Row} row @param {number} top */
  #paint(pen, row, top) {
    const { colors } = this.data;
    const values = /** @type {Float32Array} */ (row.values);
    const each = this.width / values.length;
    const scale = (BARS / 2 - 1) / this.#reach(row);
    const middle = top + BARS / 2;
    const wide = Math.max(each - (each >= GAP_FROM ? 1 : 0), 1);
    const [negative, positive] = [colors.diverging[1], colors.diverging.at(-2) ?? colors.text];
    if (row.line) {
      pen.beginPath();
      for (const [i, value] of values.entries()) {
        const y = middle - value * scale;
        pen.lineTo(i * each, y);
        pen.lineTo((i + 1) * each, y);
      }
      Object.assign(pen, { strokeStyle: colors.text, lineWidth: 2 });
      pen.stroke();
      return;
    }
    for (const [i, value] of values.entries()) {
      const tall = value * scale;
      fillBox(pen, tall < 0 ? negative : positive, [i * each, middle, wide, -tall]);
    }
  }

  mark() {
    const { colors, rows } = this.data;
    const pen = prepare(this.layers.overlay, this.width, rows.length * EACH);
    if (!this.hovered || !this.dimensions) return;
    const [row, at] = this.hovered;
    const each = this.width / this.dimensions;
    const [left, wide] = [at * each - 1, Math.max(each, 2) + 1];
    for (const i of rows.keys()) {
      const box = /** @type {const} */ ([left, i * EACH + TEXT, wide, BARS]);
      if (i === row) strokeBox(pen, colors.accent, 3, [...box]);
      else strokeBox(pen, colors.text, 1, [...box]);
    }
  }

  /** @param {MouseEvent} event @returns {Place | null} */
  find(event) {
    const [x, y] = positionOn(this.layers.canvas, event);
    const row = clamp(Math.floor(y / EACH), 0, this.data.rows.length - 1);
    const { values } = this.data.rows[row];
    if (!values) return null;
    const perPixel = values.length / this.width;
    const first = clamp(Math.floor(x * perPixel), 0, values.length - 1);
    // Where a pixel shows several dimensions, point at its highest bar.
    const under = values.subarray(first, first + Math.max(1, Math.round(perPixel)));
    const best = under.reduce((found, value, i) => (Math.abs(value) > Math.abs(under[found]) ? i : found), 0);
    return [row, first + best];
  }

  /** @param {string} key @param {[down: number, right: number]} [step] */
  onKey(key, step) {
    if (step && this.dimensions) return () => this.goTo(step);
    if (key === "Enter" || key === " ") return () => this.click(this.hovered);
    if (key === "Escape") return () => this.point(null);
    return undefined;
  }

  /** @param {[down: number, right: number]} step */
  goTo(step) {
    const counts = [this.data.rows.length, this.dimensions];
    const place = this.hovered ? stepped(this.hovered, step, counts) : /** @type {Place} */ ([0, 0]);
    this.point(place);
    this.announce(place);
  }

  /** @param {Place | null} place @param {MouseEvent | null} pointer */
  point(place, pointer = null) {
    super.point(place, pointer);
    const row = place && this.data.rows[place[0]];
    const value = row?.values?.[place?.[1] ?? 0];
    if (row && place && value !== undefined) this.read(row.source(place[1]), float32Text(value));
  }

  /** @param {Place | null} place */
  click(place) {
    const row = place && this.data.rows[place[0]];
    if (!row?.values || !place) return;
    this.copy(float32Text(row.values[place[1]]), row.source(place[1]));
  }

  /** @param {Place} place */
  cornerOf([row, at]) {
    const right = ((at + 1) * this.width) / (this.dimensions || 1);
    return positionInWindow(this.layers.canvas, [right, (row + 1) * EACH]);
  }

  /** @param {Place} place @returns {import("../../shared/words.js").Line[]} */
  describe([chosen, at]) {
    const numbers = this.data.rows.map(({ name, values }, row) => {
      const text = `${name}: ${values ? format(values[at], 4) : "…"}`;
      return /** @type {[string, string]} */ ([row === chosen ? "title" : "", text]);
    });
    return [["quiet", `dimension ${at}`], ...numbers];
  }

  state() {
    return { hovered: this.hovered };
  }
}

/** The largest distance from 0. @param {Float32Array | null | undefined} values */
const largest = (values) => values?.reduce((most, value) => Math.max(most, Math.abs(value)), 0) ?? 0;
