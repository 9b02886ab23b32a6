// @ts-check
// Every layer and head at a glance, on one canvas: a row per layer and a column per head, or all in one order.

import { clipped, fontOf, layers, penOf, prepare, raster, sharpnessOf } from "../../shared/canvas.js";
import { hatchSwatch, pixel, ramp, stopsOf } from "../../shared/color.js";
import { choice, fadeWhereMore } from "../../shared/controls.js";
import { div, positionInWindow, positionOn } from "../../shared/dom.js";
import { drawLegend } from "../../shared/legend.js";
import { format } from "../../shared/numbers.js";
import { KEY_DELAY } from "../../shared/selection.js";
import { CanvasView } from "../../shared/shell.js";
import { quoted } from "../../shared/words.js";
import { centred } from "../range.js";
import { GridLayout } from "./layout.js";
import { paintGrid, partOf, placeOf } from "./paint.js";
import { CLOSED, paintMaps, palette } from "./pixels.js";

/**
 * The label of an ordered map.
 * @typedef {object} Caption
 * @property {string} name
 * @property {string} brief a short name
 * @property {string} rank "#1" for the first
 * @property {string} score with its unit
 * @property {number} exact the score
 */

/**
 * @typedef {object} GridFields
 * @property {string} title
 * @property {string} label
 * @property {string} note
 * @property {"weights" | "scores"} kind
 * @property {[number, number]} range the ends of the colour scale
 * @property {number} tallest it may be without being scrolled
 * @property {boolean} hasLegend whether to show the scale that all maps share
 * @property {string[]} layers
 * @property {string[]} heads
 * @property {string[]} queries
 * @property {string[]} keys
 * @property {string[] | null} roles what each row reads and writes
 * @property {number[] | null} order numbers of the maps; null for a row per layer
 * @property {Caption[] | null} captions of the maps, by layer and head
 * @property {string} score the name of the score
 * @property {(map: MapIndex, rows: Span, columns: Span) => number | null} exact the largest of some cells of a map;
 *   null while its numbers are not here
 * @property {string} pending the text of a number that is not here
 * @property {MapIndex | null} selected
 */
/** @typedef {GridFields & import("./maps.js").Maps & import("../../shared/frame.js").Frame} GridData */
/** @typedef {import("./layout.js").MapIndex} MapIndex */
/** @typedef {import("./layout.js").Point} Point */
/** @typedef {[first: number, end: number]} Span positions of tokens, the end excluded */

const SCALINGS = { shared: "shared", own: "each its own" };
const OWN_NOTE =
  "Each head has its own colour scale here: the same colour means another number in another head and in the large picture.";

/** @extends {CanvasView<GridData, MapIndex>} */
export class GridView extends CanvasView {
  /** @type {"shared" | "own"} */
  scaling = "shared";
  /** @type {GridLayout} */
  at;
  /** @type {import("./paint.js").Maps} */
  maps;
  /** Called with the map that is pointed at. @type {(map: MapIndex | null) => void} */
  onPoint = () => {};
  legend = div("hl-legend");
  bar = div("hl-bar");
  showScaling = choice(this.bar, "Colours", SCALINGS, (scaling) => {
    this.scaling = scaling;
    this.update();
  });
  fade = fadeWhereMore(this.stage);
  window = div("hl-window");
  space = div("hl-space", this.window);
  layers = layers(this.window);

  build() {
    this.bar.append(this.legend);
    this.stage.append(this.space);
    this.root.append(this.bar, this.stage, this.note);
    this.listen(this.stage);
    this.stage.onscroll = () => this.paint();
  }

  /** @param {string} _key @param {[number, number]} [step] */
  onKey(_key, step) {
    return step && (() => this.moveTo(this.at.step(this.selected, step), true));
  }

  update() {
    const { title } = this.data;
    this.follow();
    this.stage.ariaLabel = `${title}: arrow keys choose a head`;
    this.explain();
    this.layout();
    if (this.pointer) this.point(this.find(this.pointer), this.pointer);
  }

  /**
   * Outline a map, and scroll to it.
   * @param {MapIndex} map
   * @param {boolean} isChosen whether the user chose it here, so that it is reported
   */
  moveTo(map, isChosen = false) {
    if (isChosen) this.select(map, KEY_DELAY);
    else this.selected = map;
    this.stage.scrollTo(...this.at.reveal(map, this.scroll, this.view));
    this.mark();
  }

  /** Draw the legend and the note. */
  explain() {
    const { colors, kind, label, note, range, hasLegend, isClosed } = this.data;
    const own = this.scaling === "own";
    const [from, to] = range.map((value) => format(value));
    const ends = kind === "scores" ? ["−largest", "largest"] : ["0", "the head’s largest"];
    drawLegend(this.legend, {
      stops: stopsOf(this.data),
      ticks: own ? ends : [from, to],
      label,
      swatches: isClosed ? [["closed by a mask", hatchSwatch(colors)]] : [],
    });
    this.legend.hidden = !own && !hasLegend;
    this.showScaling(this.scaling);
    this.note.textContent = own ? `${note} ${OWN_NOTE}` : note;
  }

  place() {
    const { layers, heads, order, queries, keys } = this.data;
    const pen = penOf(this.layers.canvas);
    pen.font = fontOf(this.root, 15);
    const gutter = Math.ceil(Math.max(...layers.map((label) => pen.measureText(label).width))) + 14;
    const plan = { counts: /** @type {MapIndex} */ ([layers.length, heads.length]), order };
    const aspect = queries.length / keys.length;
    this.at = new GridLayout({ ...plan, aspect }, this.width, this.data.tallest, gutter);
    const [width, height] = this.at.extent;
    Object.assign(this.space.style, { width: `${width}px`, height: `${height}px` });
    this.stage.style.maxHeight = `${this.data.tallest}px`;
    this.maps = this.image();
    if (this.selected) this.stage.scrollTo(...this.at.reveal(this.selected, this.scroll, this.view));
    this.paint();
    this.fade();
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
   * All maps in one image, and the size of each: a pixel per block or, if there is less room, the maximum of several
   * blocks.
   * @returns {import("./paint.js").Maps}
   */
  image() {
    const { kind, levels, low, high, size, heads, range } = this.data;
    const sharpness = sharpnessOf(this.layers.canvas);
    const [width, height] = this.at.box.map((side) => Math.round(side * sharpness));
    /** @type {[number, number]} */
    const shown = [Math.min(size[1], width), Math.min(size[0], height)];
    const colors = Uint32Array.from(ramp(stopsOf(this.data)), pixel);
    const pixels = paintMaps(levels, size, heads.length, shown, (map) => {
      const own = kind === "scores" ? centred(low[map], high[map]) : [0, high[map]];
      const scale = this.scaling === "own" ? /** @type {[number, number]} */ (own) : range;
      return palette(colors, low[map], high[map], scale);
    });
    return [raster(pixels, heads.length * shown[0]), shown];
  }

  /**
   * The scene to paint on a canvas, which is cleared.
   * @param {HTMLCanvasElement} canvas
   * @returns {import("./paint.js").GridScene}
   */
  scene(canvas) {
    const { root, data, at, scroll, view } = this;
    return { root, data, at, scroll, view, pen: prepare(canvas, ...view) };
  }

  paint() {
    const [width, height] = this.view;
    Object.assign(this.window.style, { width: `${width}px`, height: `${height}px` });
    paintGrid(this.scene(this.layers.canvas), this.maps);
    this.mark();
  }

  mark() {
    const { colors } = this.data;
    const scene = this.scene(this.layers.overlay);
    clipped(scene.pen, partOf(scene), () => {
      this.outline(scene, this.hovered, colors.text, 1.5);
      this.outline(scene, this.selected, colors.accent, 4);
    });
  }

  /**
   * @param {import("./paint.js").GridScene} scene
   * @param {MapIndex | null} map
   * @param {string} color
   * @param {number} width
   */
  outline(scene, map, color, width) {
    if (!map || map[0] >= this.data.layers.length || map[1] >= this.data.heads.length) return;
    const { pen } = scene;
    const [x, y] = placeOf(scene, map);
    Object.assign(pen, { strokeStyle: color, lineWidth: width });
    pen.beginPath();
    pen.roundRect(x - 2, y - 2, this.at.box[0] + 4, this.at.box[1] + 4, 3);
    pen.stroke();
  }

  /** @param {MapIndex | null} map @param {MouseEvent | null} pointer */
  point(map, pointer = null) {
    super.point(map, pointer);
    this.onPoint(map);
  }

  /** The pointer's position on the whole grid. @param {MouseEvent} event @returns {Point} */
  onGrid(event) {
    const [x, y] = positionOn(this.layers.canvas, event);
    return [x + this.scroll[0], y + this.scroll[1]];
  }

  /** @param {MouseEvent} event */
  find(event) {
    const [x, y] = positionOn(this.layers.canvas, event);
    const isOnLabels = !this.at.isOrdered && (x < this.at.gutter || y < this.at.header);
    return isOnLabels ? null : this.at.mapAt(...this.onGrid(event));
  }

  /** The lower right corner of a map. @param {MapIndex} map */
  cornerOf(map) {
    const [x, y] = this.at.corner(...map);
    const [width, height] = this.at.box;
    const [left, top] = this.scroll;
    return positionInWindow(this.layers.canvas, [x - left + width, y - top + height]);
  }

  /**
   * @param {MapIndex} index
   * @param {MouseEvent | null} event
   * @returns {import("../../shared/words.js").Line[]}
   */
  describe(index, event) {
    const { data } = this;
    const map = index[0] * data.heads.length + index[1];
    const [query, key] = [data.strongest_query[map], data.strongest_key[map]];
    const caption = data.captions?.[map];
    /** @type {import("../../shared/words.js").Line[]} */
    const lines = [["title", `${data.layers[index[0]]}, ${data.heads[index[1]]}`]];
    if (caption)
      lines.push(["", `${caption.rank} of ${data.captions?.length}: ${data.score} ${caption.score}`]);
    if (query < 0) return [...lines, ["", "every cell is closed"]];
    const pair = `${quoted(data.queries[query])} → ${quoted(data.keys[key])}`;
    lines.push(["", `strongest: ${pair} ${format(data.high[map])}`]);
    if (data.roles) lines.push(["quiet", data.roles[query]]);
    return event ? [...lines, this.here(index, event)] : lines;
  }

  /**
   * What the pixel under the pointer shows.
   * @param {MapIndex} index
   * @param {MouseEvent} event
   * @returns {import("../../shared/words.js").Line}
   */
  here(index, event) {
    const { levels, size, queries, keys, heads, exact, pending } = this.data;
    const block = this.at.blockAt(index, ...this.onGrid(event), size);
    if (!block) return ["quiet", ""];
    const map = index[0] * heads.length + index[1];
    const level = levels[(map * size[0] + block[0]) * size[1] + block[1]];
    const [rows, columns] = [queries, keys].map((tokens, i) => spanOf(tokens.length, size[i], block[i]));
    const value = exact(index, rows, columns);
    const isOne = rows[1] - rows[0] === 1 && columns[1] - columns[0] === 1;
    const amount = value === null ? pending : `${isOne ? "" : "at most "}${format(value)}`;
    const place = `here: ${named(queries, rows)} → ${named(keys, columns)}`;
    return ["quiet", `${place} ${level === CLOSED ? "closed" : amount}`.trimEnd()];
  }

  /** @param {MapIndex} map */
  reported([layer, head]) {
    return { layer, head };
  }

  state() {
    const { layers, heads } = this.data;
    const { selected, at, scroll } = this;
    const middle = (/** @type {number} */ layer, /** @type {number} */ head) =>
      at.middle(layer, head).map((place, axis) => place - scroll[axis]);
    return { selected, order: at.order, middles: layers.map((_, l) => heads.map((_, h) => middle(l, h))) };
  }
}

/**
 * The positions in block i of n equal blocks.
 * @param {number} length
 * @param {number} n
 * @param {number} i
 */
const spanOf = (length, n, i) =>
  /** @type {Span} */ ([i, i + 1].map((block) => Math.floor((block * length) / n)));

/** @param {string[]} tokens @param {Span} span */
function named(tokens, [first, end]) {
  const name = quoted(tokens[first]);
  return first === end - 1 ? name : `${name} to ${quoted(tokens[end - 1])}`;
}
