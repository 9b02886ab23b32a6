// @ts-check
// Every layer x head at a glance, on one canvas: rows are layers, columns are heads.

import { forStreamlit, mounting } from "../mount.js";
import {
  fillBox,
  fontOf,
  hatching,
  layers,
  penOf,
  prepare,
  raster,
  strokeBox,
  write,
} from "../shared/canvas.js";
import { hatchSwatch, ramp, stopsOf } from "../shared/color.js";
import { choice } from "../shared/controls.js";
import { div, positionOn } from "../shared/dom.js";
import { drawLegend, scaleLabel } from "../shared/legend.js";
import { format, stepped } from "../shared/numbers.js";
import { KEY_DELAY } from "../shared/selection.js";
import { CanvasView } from "../shared/shell.js";
import { quoted } from "../shared/tell.js";
import { GridLayout, LABELS } from "./layout.js";
import { CLOSED, paintMaps, palette, scaleFor, sharedScale, valueAt } from "./pixels.js";
import style from "./style.css";

/**
 * @typedef {object} GridData
 * @property {string} title
 * @property {string} label
 * @property {string} note
 * @property {"weights" | "scores"} kind
 * @property {[number, number] | null} range
 * @property {[rows: number, columns: number]} size
 * @property {string[]} layers
 * @property {string[]} heads
 * @property {string[]} queries
 * @property {string[]} keys
 * @property {number[]} strongest_query
 * @property {number[]} strongest_key
 * @property {MapIndex | null} selected
 * @property {Uint8Array} levels
 * @property {Float32Array} low
 * @property {Float32Array} high
 */
/** @typedef {import("./layout.js").MapIndex} MapIndex */

const SCALINGS = { shared: "same for all", own: "each head its own" };
const OWN_NOTE =
  "Each head has a colour scale of its own here: the same colour is another number in another head, and in the large picture.";

/** @extends {CanvasView<GridData, MapIndex>} */
class AttentionGrid extends CanvasView {
  /** @type {"shared" | "own"} */
  scaling = "shared";
  /** @type {GridLayout} */
  at;
  /** @type {[number, number]} */
  scale;
  legend = div("hl-legend");
  bar = div("hl-bar", this.legend);
  showScaling = choice(this.bar, "Colour scale", SCALINGS, (scaling) => {
    this.scaling = scaling;
    this.update();
  });
  layers = layers(this.stage);

  build() {
    this.root.append(this.bar, this.stage, this.note);
    this.listen(this.stage);
  }

  /** @param {string} _key @param {[number, number]} [step] */
  onKey(_key, step) {
    const counts = [this.data.layers.length, this.data.heads.length];
    return step && (() => this.select(stepped(this.selected ?? [-1, -1], step, counts), KEY_DELAY));
  }

  update() {
    const { title, range, kind, low, high } = this.data;
    this.follow();
    this.stage.ariaLabel = `${title}: arrow keys choose a layer and a head`;
    this.scale = range ?? sharedScale(kind, low, high);
    this.explain();
    this.layout();
    if (this.pointer) this.point(this.find(this.pointer), this.pointer);
  }

  /** Say what the colours mean, and the pixels. */
  explain() {
    const { colors, kind, label, levels, note } = this.data;
    const own = this.scaling === "own";
    const [from, to] = this.scale.map((value) => format(value));
    const ends = kind === "scores" ? ["−largest", "0", "largest"] : ["0", "the head’s largest"];
    drawLegend(this.legend, {
      stops: stopsOf(this.data),
      ticks: own ? ends : kind === "scores" ? [from, "0", to] : [from, to],
      label: own ? label : scaleLabel(this.data, to),
      swatches: levels.includes(CLOSED) ? [["closed by a mask", hatchSwatch(colors)]] : [],
    });
    this.showScaling(this.scaling);
    this.note.textContent = own ? `${note} ${OWN_NOTE}` : note;
  }

  place() {
    const pen = penOf(this.layers.canvas);
    pen.font = fontOf(this.root, 15);
    const gutter = Math.ceil(Math.max(...this.data.layers.map((label) => pen.measureText(label).width))) + 14;
    this.at = new GridLayout(this.data, this.width, gutter);
    this.paint();
  }

  /**
   * All maps in one image, and the pixels of each: one pixel per block or, shown smaller, the maximum of its blocks.
   * @returns {[HTMLCanvasElement, [number, number]]}
   */
  image() {
    const { kind, levels, low, high, size, heads } = this.data;
    const sharpness = window.devicePixelRatio || 1;
    const [width, height] = this.at.box.map((side) => Math.round(side * sharpness));
    /** @type {[number, number]} */
    const shown = [Math.min(size[1], width), Math.min(size[0], height)];
    const colors = ramp(stopsOf(this.data));
    const pixels = paintMaps(levels, size, heads.length, shown, (map) => {
      const scale = this.scaling === "own" ? scaleFor(kind, low[map], high[map]) : this.scale;
      return palette(colors, low[map], high[map], scale);
    });
    return [raster(pixels, heads.length * shown[0]), shown];
  }

  paint() {
    const { at } = this;
    const { layers, heads, colors } = this.data;
    const [width, height] = at.box;
    const pen = prepare(this.layers.canvas, ...at.extent);
    const stripes = hatching(pen, colors.hatch);
    const ink = { font: fontOf(this.root, 15), color: colors.text };
    for (const [layer, label] of layers.entries()) write(pen, label, [0, at.middle(layer, 0)[1]], ink);
    const fits = heads.every((label) => pen.measureText(label).width <= at.pitch[0]);
    for (const [head, label] of heads.entries()) {
      const name = fits ? label : label.slice(label.lastIndexOf(" ") + 1);
      write(pen, name, [at.middle(0, head)[0], LABELS], { ...ink, align: "center" });
    }
    const [image, [across, down]] = this.image();
    for (let map = 0; map < layers.length * heads.length; map++) {
      const [layer, head] = [Math.floor(map / heads.length), map % heads.length];
      const [x, y] = at.corner(layer, head);
      fillBox(pen, colors.masked, [x, y, width, height]);
      fillBox(pen, stripes, [x, y, width, height]);
      pen.drawImage(image, head * across, layer * down, across, down, x, y, width, height);
      strokeBox(pen, colors.grid, 1, [x - 0.5, y - 0.5, width + 1, height + 1]);
    }
    this.mark();
  }

  mark() {
    const { colors } = this.data;
    const pen = prepare(this.layers.overlay, ...this.at.extent);
    this.outline(pen, this.hovered, colors.text, 1.5);
    this.outline(pen, this.selected, colors.accent, 4);
  }

  /**
   * @param {import("../shared/canvas.js").Pen} pen
   * @param {MapIndex | null} map
   * @param {string} color
   * @param {number} width
   */
  outline(pen, map, color, width) {
    if (!map || map[0] >= this.data.layers.length || map[1] >= this.data.heads.length) return;
    const [x, y] = this.at.corner(...map);
    Object.assign(pen, { strokeStyle: color, lineWidth: width });
    pen.beginPath();
    pen.roundRect(x - 2, y - 2, this.at.box[0] + 4, this.at.box[1] + 4, 3);
    pen.stroke();
  }

  /** @param {MouseEvent} event */
  find(event) {
    return this.at.mapAt(...positionOn(this.layers.canvas, event));
  }

  /**
   * @param {MapIndex} index
   * @param {MouseEvent | null} event
   * @returns {import("../shared/tell.js").Line[]}
   */
  describe(index, event) {
    const { layers, heads, strongest_query, strongest_key, high, queries, keys } = this.data;
    const map = index[0] * heads.length + index[1];
    const [query, key] = [strongest_query[map], strongest_key[map]];
    const pair = query < 0 ? "" : `${quoted(queries[query])} → ${quoted(keys[key])} ${format(high[map])}`;
    return [
      ["title", `${layers[index[0]]}, ${heads[index[1]]}`],
      ["", pair ? `strongest: ${pair}` : "every cell is closed"],
      ...(event ? [this.here(index, event)] : []),
    ];
  }

  /**
   * What the pixel under the pointer stands for.
   * @param {MapIndex} index
   * @param {MouseEvent} event
   * @returns {import("../shared/tell.js").Line}
   */
  here(index, event) {
    const { levels, low, high, size, queries, keys, heads } = this.data;
    const block = this.at.blockAt(index, ...positionOn(this.layers.canvas, event), size);
    if (!block) return ["quiet", ""];
    const map = index[0] * heads.length + index[1];
    const level = levels[(map * size[0] + block[0]) * size[1] + block[1]];
    const single = queries.length === size[0] && keys.length === size[1];
    const value = format(valueAt(level, low[map], high[map]));
    const amount = level === CLOSED ? "closed" : single ? value : `at most ${value}`;
    return [
      "quiet",
      `here: ${span(queries, size[0], block[0])} → ${span(keys, size[1], block[1])} ${amount}`,
    ];
  }

  /** @param {MapIndex} map */
  reported([layer, head]) {
    return { layer, head };
  }

  state() {
    const { layers, heads } = this.data;
    const { selected, at } = this;
    return { selected, middles: layers.map((_, layer) => heads.map((_, head) => at.middle(layer, head))) };
  }
}

/**
 * The tokens that one of n equal blocks of them stands for.
 * @param {string[]} tokens
 * @param {number} n
 * @param {number} i
 */
function span(tokens, n, i) {
  const [first, end] = [i, i + 1].map((block) => Math.floor((block * tokens.length) / n));
  const name = quoted(tokens[first]);
  return first === end - 1 ? name : `${name} to ${quoted(tokens[end - 1])}`;
}

export const mount = mounting(AttentionGrid, "attention_grid", style);
export default forStreamlit(mount);
