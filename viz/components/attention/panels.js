// @ts-check
// The viewer's pictures: all heads at a glance, the chosen view, and the arithmetic of a cell.

import { div } from "../shared/dom.js";
import { CellPanel } from "./cell/panel.js";
import { mapsOf } from "./grid/maps.js";
import { GridPart } from "./parts/grid.js";
import { HeadPart } from "./parts/head.js";
import { LayerPart } from "./parts/layer.js";
import { MapPart } from "./parts/map.js";
import { PredictedPart } from "./parts/predicted.js";
import { ReadingPart } from "./parts/reading.js";
import { TokenPart } from "./parts/token.js";
import { extremes, rangeFor } from "./range.js";
import { Sheet } from "./sheet.js";

/** @typedef {import("./choice.js").Choice} Choice */
/** @typedef {import("./run.js").ViewerRun} ViewerRun */

/** In fewer pixels than this the grid goes above the other pictures. */
const BESIDE = 760;
/** Views with the grid of all heads next to them; the others show many heads themselves. */
const WITH_GRID = ["head", "map"];
/** More heads than this need more of the width. */
const FEW = 5;

/**
 * What the parts draw from.
 * @typedef {object} Scene
 * @property {ViewerRun} run
 * @property {Choice} choice
 * @property {import("./run.js").AttentionView} attn
 * @property {Sheet} sheet
 * @property {import("./choice.js").Cell} cell the tokens of the chosen cell, or else of the head's strongest
 * @property {[number, number]} range the ends of the colour scale of weights and scores
 * @property {import("../shared/color.js").Colors} colors
 * @property {string} label the name of the numbers
 * @property {"weights" | "scores"} kind "scores" may be negative
 */

export class Panels {
  width = 0;
  /**
   * The grid's maps and what they depend on; `instead` if they show weights because the chosen numbers are never
   * available.
   * @type {{look: string, maps: import("./grid/maps.js").Maps | null, instead: boolean}}
   */
  known = { look: "", maps: null, instead: false };
  /** @type {{look: string, sheet: Sheet} | null} */
  sheet = null;

  /**
   * @param {(changed: Partial<Choice>) => void} change
   * @param {(piece: string) => void} want requests a piece
   */
  constructor(change, want) {
    this.change = change;
    this.gridBox = div("hl-part hl-grid");
    this.mainBox = div("hl-part hl-main");
    this.readingBox = div("hl-part hl-reading-of-head");
    this.predictedBox = div("hl-part hl-predicted");
    this.cellBox = div("hl-part hl-cell");
    const center = div("hl-center", this.mainBox, this.predictedBox);
    const side = div("hl-side", this.gridBox, this.readingBox);
    this.box = div("hl-panels", center, side, this.cellBox);
    this.grid = new GridPart(this.gridBox, change, want);
    this.reading = new ReadingPart(this.readingBox, change);
    this.predicted = new PredictedPart(this.predictedBox);
    this.map = new MapPart(this.mainBox, change);
    this.parts = {
      head: new HeadPart(this.mainBox, change),
      layer: new LayerPart(this.mainBox, change),
      map: this.map,
      token: new TokenPart(this.mainBox, change),
    };
    this.cell = new CellPanel(this.cellBox, change);
  }

  /**
   * Draw the pictures, and note what they lack.
   * @param {ViewerRun} run
   * @param {Choice} choice
   * @param {import("./run.js").RunFrame & import("../shared/frame.js").Frame} data
   * @returns {Scene} what `write` then writes about
   */
  show(run, choice, data) {
    const scene = this.scene(run, choice, data.colors);
    const isWide = choice.view === "head" && this.parts.head.isWide(choice);
    const hasGrid = data.grid && WITH_GRID.includes(choice.view);
    const beside = hasGrid && this.width >= BESIDE && !isWide;
    this.box.classList.toggle("hl-beside", beside);
    this.box.classList.toggle("hl-many", scene.attn.heads > FEW);
    this.gridBox.hidden = !hasGrid;
    this.readingBox.hidden = !data.detail || !["head", "map"].includes(choice.view);
    this.predictedBox.classList.toggle("hl-unchosen", !choice.cell);
    this.cellBox.hidden = !data.detail || choice.view !== "head";
    const { look, maps, instead } = this.known;
    if (hasGrid && maps) this.grid.show(scene, maps, look, { width: this.width, beside, instead });
    for (const [name, part] of Object.entries(this.parts)) {
      part.box.hidden = name !== choice.view;
      if (name === choice.view) part.show(scene);
    }
    return scene;
  }

  /**
   * Write what the pictures show, once the numbers of the chosen head are here; hide what is about another head.
   * @param {Scene} scene
   * @param {import("./run.js").RunFrame} data
   * @returns {boolean} whether the numbers are here, or will never be
   */
  write(scene, data) {
    const { run, attn, choice } = scene;
    const { view, layer, head } = choice;
    const isPending = view === "head" && !run.absent && !run.hasHead(attn, layer, head);
    for (const box of [this.readingBox, this.cellBox]) box.classList.toggle("hl-unwritten", isPending);
    if (isPending) return false;
    if (!this.readingBox.hidden) this.reading.show(scene, data.look_for ?? {});
    this.predictedBox.hidden = !data.detail;
    if (data.detail) this.predicted.show(scene, data.output?.how ?? "");
    if (!this.cellBox.hidden) this.cell.show(scene);
    return true;
  }

  /** @param {ViewerRun} run @param {Choice} choice @param {import("../shared/color.js").Colors} colors @returns {Scene} */
  scene(run, choice, colors) {
    const attn = run.attn(choice.attention);
    const look = [run.id, attn.name, choice.by, choice.special, choice.rows].join();
    if (this.sheet?.look !== look) this.sheet = { look, sheet: new Sheet(run, attn, choice) };
    const { sheet } = this.sheet;
    const { measure } = choice;
    const mapsLook = [look, measure].join();
    if (this.known.look !== mapsLook || !this.known.maps) {
      const maps = mapsOf(sheet, measure);
      const instead = !maps && Boolean(run.absent);
      this.known = { look: mapsLook, maps: instead ? mapsOf(sheet, "weights") : maps, instead };
    }
    const { maps, instead } = this.known;
    const ends = this.#endsOf(sheet, choice, instead ? null : maps);
    const labels = {
      weights: "attention weight",
      scores: `score ${attn.formula}`,
      masked: `score ${attn.formula}`,
      moved: "length of the moved vector",
    };
    return {
      run,
      choice,
      attn,
      sheet,
      cell: choice.cell ?? strongest(sheet, choice),
      range: rangeFor(measure, ends[0], ends[1]),
      colors,
      label: labels[measure],
      kind: measure === "scores" || measure === "masked" ? "scores" : "weights",
    };
  }

  /**
   * The lowest and highest number of an attention, as far as the browser has them.
   * @param {Sheet} sheet
   * @param {Choice} choice
   * @param {import("./grid/maps.js").Maps | null} maps
   */
  #endsOf(sheet, { measure, layer, head }, maps) {
    const most = maps && (!maps.isPooled || measure === "weights") ? extremes(maps.high)[1] : 0;
    if (maps && (!maps.isPooled || (measure === "weights" && sheet.isPlain)))
      return [extremes(maps.low)[0], most];
    const values = sheet.values(measure, layer, head);
    const [low, high] = values ? sheet.extremesOf(values, layer) : [0, most || 1];
    return [low, Math.max(high, most)];
  }

  /** Pieces that are likely to be needed next. @param {ViewerRun} run @param {Choice} choice */
  ahead(run, choice) {
    const attn = run.attn(choice.attention);
    const { layer, head } = choice;
    const around = [
      [layer, head],
      [layer, head + 1],
      [layer, head - 1],
      [layer + 1, head],
      [layer - 1, head],
    ].filter(([l, h]) => l >= 0 && h >= 0 && l < attn.layers && h < attn.heads);
    const wanted = [];
    if (attn.has.includes("vectors")) wanted.push(`vectors:${attn.name}:${layer}:${head}`);
    if (!run.hasAll(attn)) for (const [l, h] of around) wanted.push(`head:${attn.name}:${l}:${h}`);
    const first = { head: "weights", vectors: "q" };
    const here = (/** @type {string} */ name) => first[/** @type {"head"} */ (name.split(":")[0])];
    return wanted.filter((name) => !run.has(name, here(name)) && !run.lacks(name, here(name)));
  }

  /** Stop requesting. */
  end() {
    this.grid.end();
  }

  state() {
    const part = Object.values(this.parts).find(({ box }) => !box.hidden);
    const rows = this.parts.token.view;
    return {
      ...(this.grid.view.data ? this.grid.view.state() : {}),
      matrices: part && "matrices" in part ? part.matrices.state() : [],
      map: this.map.box.hidden ? null : this.map.view.state(),
      rows: rows.data && rows.state(),
    };
  }
}

/**
 * The tokens of the chosen head's largest open number, in a row with several open cells if there is one.
 * @param {Sheet} sheet
 * @param {Choice} choice
 * @returns {[number, number]}
 */
function strongest(sheet, { measure, layer, head }) {
  const values = sheet.values(measure, layer, head);
  const columns = sheet.keys.length;
  const closed = sheet.closed(layer);
  let [best, place] = [-Infinity, 0];
  for (let row = 0; row < sheet.queries.length && values; row++) {
    let [open, strongestHere] = [0, -1];
    for (let at = row * columns; at < (row + 1) * columns; at++) {
      if (closed[at]) continue;
      open++;
      if (strongestHere < 0 || values[at] > values[strongestHere]) strongestHere = at;
    }
    if (open > 1 && values[strongestHere] > best) [best, place] = [values[strongestHere], strongestHere];
  }
  return sheet.tokens([Math.floor(place / columns), place % columns]);
}
