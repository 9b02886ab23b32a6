// @ts-check
// Where every head looks from one position: one row per head, one column per token, one block per attention.

import { fillBox, fontOf, penOf, prepare, strokeBox, write } from "../../shared/canvas.js";
import { css, inkOn, ramp, shade } from "../../shared/color.js";
import { fadeWhereMore, stopWhereMore } from "../../shared/controls.js";
import { div, h, positionOn } from "../../shared/dom.js";
import { drawLegend } from "../../shared/legend.js";
import { format, stepped, withoutZero } from "../../shared/numbers.js";
import { KEY_DELAY } from "../../shared/selection.js";
import { CanvasView, same } from "../../shared/shell.js";
import { quoted } from "../../shared/words.js";
import { PENDING } from "../matrix/describe.js";
import { LEFT, RowsLayout } from "./layout.js";

/** @typedef {[block: number, layer: number, head: number, ...hovered: number[]]} Row the token under the pointer comes last */
/** @typedef {import("../../shared/canvas.js").Pen} Pen */

/**
 * @typedef {object} RowsFields
 * @property {string} title
 * @property {number} layers
 * @property {number} heads
 * @property {{name: string, tokens: string[]}[]} blocks
 * @property {Row | null} selected
 * @property {boolean} isRough whether weights are missing or for colours only: no number may be written yet
 */
/** @typedef {Record<`weights${number}`, Float32Array | null>} RowsWeights a block's weights are null until they are here */
/** @typedef {RowsFields & RowsWeights} RowsData */

const FONT = 14;
const SLANT = -Math.PI / 4;
const LABEL_LIMIT = 130;

/** One attention's canvas. */
class Block {
  /** Where the first row begins, below the tokens. */
  top = 0;
  name = div("name");
  canvas = h("canvas");
  box = div("hl-scroll", this.canvas);
  frame = div("hl-block", this.name, this.box);
  fade = fadeWhereMore(this.box);

  constructor() {
    // While it has the focus, arrow keys scroll it and choose no head.
    this.box.onkeydown = (event) => {
      if (event.key.startsWith("Arrow")) event.stopPropagation();
    };
  }
}

/** @extends {CanvasView<RowsData, Row>} */
export class RowsView extends CanvasView {
  /** @type {Block[]} */
  blocks = [];
  /** @type {import("../../shared/color.js").Rgb[]} */
  colors = [];
  /** @type {RowsLayout} */
  at;
  legend = div("hl-legend");
  /** The room for the end of slanted tokens, after the last column. */
  beyond = 0;

  build() {
    this.stage.className = "hl-blocks";
    this.root.append(this.legend, this.stage);
  }

  update() {
    const { data } = this;
    this.follow();
    this.colors = ramp(data.colors.sequential);
    this.stage.ariaLabel = `${data.title}: arrow keys choose a head`;
    drawLegend(this.legend, {
      stops: data.colors.sequential,
      ticks: ["0", "1"],
      label: "attention weight",
    });
    if (this.blocks.length !== data.blocks.length) this.makeBlocks();
    for (const [i, { name }] of data.blocks.entries()) this.blocks[i].name.textContent = name;
    this.layout();
    if (this.hovered) this.point(this.hovered, this.pointer);
  }

  makeBlocks() {
    this.blocks = this.data.blocks.map(() => new Block());
    for (const { canvas } of this.blocks) this.listen(canvas);
    this.stage.replaceChildren(...this.blocks.map(({ frame }) => frame));
  }

  place() {
    const lengths = this.data.blocks.map(({ tokens }) => tokens.length);
    this.beyond = Math.max(...this.data.blocks.map(({ tokens }) => this.slanted(tokens.slice(-3)))) + 12;
    this.at = new RowsLayout(this.data, lengths, this.width, this.beyond);
    this.stage.classList.toggle("wide", this.at.wide);
    this.paint();
    for (const { box, fade } of this.blocks) {
      stopWhereMore(box);
      fade();
    }
  }

  paint() {
    for (const i of this.blocks.keys()) this.paintBlock(i);
  }

  /** @param {number} i */
  paintBlock(i) {
    const { at } = this;
    const { blocks, colors } = this.data;
    const { tokens, name } = blocks[i];
    const block = this.blocks[i];
    block.frame.classList.toggle("hl-waiting", !this.data[`weights${i}`]);
    block.top = this.slanted(tokens) + 18;
    block.canvas.setAttribute("aria-label", name);
    const width = LEFT + tokens.length * at.column + this.beyond;
    const pen = prepare(block.canvas, width, block.top + at.height + 6);
    pen.translate(LEFT, block.top);
    this.tokens(pen, tokens);
    this.heads(pen, i);
    if (this.selected?.[0] !== i) return;
    const y = at.edge(this.selected[1], this.selected[2]);
    strokeBox(pen, colors.accent, 3, [-1, y, tokens.length * at.column + 2, at.row - 1]);
  }

  /** How far slanted tokens reach, upwards and to the right. @param {string[]} tokens */
  slanted(tokens) {
    const pen = penOf(this.blocks[0].canvas);
    pen.font = fontOf(this.root, FONT);
    const longest = Math.max(...tokens.map((token) => pen.measureText(token).width));
    return Math.ceil(Math.min(longest, LABEL_LIMIT) * Math.SQRT1_2);
  }

  /** @param {Pen} pen @param {number} i */
  heads(pen, i) {
    const { heads, layers, colors } = this.data;
    for (let layer = 0; layer < layers; layer++) {
      for (let head = 0; head < heads; head++) {
        const y = this.at.edge(layer, head) + this.at.row / 2;
        const ink = { font: fontOf(this.root, FONT, 600), color: colors.text };
        if (!head) write(pen, `layer ${layer}`, [2 - LEFT, y], ink);
        const chosen = same(this.selected, [i, layer, head]);
        const color = chosen ? colors.accent : colors.muted;
        const font = fontOf(this.root, FONT, chosen ? 700 : 400);
        write(pen, `head ${head}`, [-8, y], { font, color, align: "right" });
        this.cells(pen, [i, layer, head]);
      }
    }
  }

  /** @param {Pen} pen @param {string[]} tokens */
  tokens(pen, tokens) {
    const ink = { font: fontOf(this.root, FONT), color: this.data.colors.text, limit: LABEL_LIMIT };
    for (const [key, token] of tokens.entries()) {
      pen.save();
      pen.translate((key + 0.5) * this.at.column, -10);
      pen.rotate(SLANT);
      write(pen, token, [0, 0], ink);
      pen.restore();
    }
  }

  /** @param {Pen} pen @param {Row} row */
  cells(pen, row) {
    const { column, row: tall } = this.at;
    const y = this.at.edge(row[1], row[2]);
    const font = fontOf(this.root, 13);
    for (const [key, weight] of this.weights(row).entries()) {
      const color = this.colors[shade(weight)];
      const x = key * column;
      fillBox(pen, css(color), [x, y, column - 1, tall - 1]);
      if (this.data.isRough || weight < 0.1 || column < 30 || tall < 15) continue;
      const ink = { font, color: inkOn(color), align: /** @type {const} */ ("center") };
      write(pen, withoutZero(weight), [x + column / 2, y + tall / 2], ink);
    }
    const { tokens } = this.data.blocks[row[0]];
    strokeBox(pen, this.data.colors.grid, 1, [-0.5, y - 0.5, tokens.length * column, tall]);
  }

  /**
   * @param {Row} row
   * @returns {Float32Array} one weight per token; none until they are here
   */
  weights([i, layer, head]) {
    const { length } = this.data.blocks[i].tokens;
    const first = (layer * this.data.heads + head) * length;
    return this.data[`weights${i}`]?.subarray(first, first + length) ?? new Float32Array();
  }

  /** @param {MouseEvent} event @returns {Row | null} */
  find(event) {
    const i = this.blocks.findIndex(({ canvas }) => canvas === event.currentTarget);
    const [x, y] = positionOn(this.blocks[i].canvas, event);
    const head = this.at.headAt(y - this.blocks[i].top);
    return head && [i, ...head, this.at.keyAt(x)];
  }

  /** @param {Row} place @returns {import("../../shared/words.js").Line[]} */
  describe(place) {
    const [i, layer, head, key = -1] = place;
    const { tokens } = this.data.blocks[i];
    /** @type {import("../../shared/words.js").Line[]} */
    const lines = [
      ["title", `layer ${layer}, head ${head}`],
      ["", this.strongest(place)],
    ];
    if (!tokens[key]) return lines;
    const weight = this.data.isRough ? PENDING : format(this.weights(place)[key], 4);
    return [...lines, ["quiet", `here: ${quoted(tokens[key])} ${weight}`]];
  }

  /** @param {Row} row */
  strongest(row) {
    if (this.data.isRough) return PENDING;
    const weights = this.weights(row);
    const key = weights.indexOf(Math.max(...weights));
    return `looks most at ${quoted(this.data.blocks[row[0]].tokens[key])}: ${format(weights[key])}`;
  }

  /** @param {string} _key @param {[number, number]} [step] */
  onKey(_key, step) {
    if (!step) return undefined;
    const { heads, layers, blocks } = this.data;
    const [block, layer, head] = this.selected ?? [0, 0, -step[0]];
    const row = [layer * heads + head, block];
    const [to, other] = stepped(row, step, [layers * heads, blocks.length]);
    return () => this.select([other, Math.floor(to / heads), to % heads], KEY_DELAY);
  }

  /** @param {Row} row */
  select([block, layer, head], delay = 0) {
    super.select([block, layer, head], delay);
    this.paint();
  }

  /** @param {Row} row */
  announce(row) {
    const [block, layer, head] = row;
    this.say(`${this.data.blocks[block].name}, layer ${layer}, head ${head} ${this.strongest(row)}`);
  }

  /** @param {Row} row */
  reported([block, layer, head]) {
    return { block, layer, head };
  }

  state() {
    const { layers, heads } = this.data;
    const { at } = this;
    const [layer, head] = [Array(layers).keys(), Array(heads).keys()].map((numbers) => [...numbers]);
    const middles = this.blocks.map(({ top }) =>
      layer.map((layer) => head.map((head) => top + at.edge(layer, head) + at.row / 2)),
    );
    return { selected: this.selected, middles };
  }
}
