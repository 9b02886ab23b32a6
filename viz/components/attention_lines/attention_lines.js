// @ts-check
// All heads of a layer as lines from the tokens that look (left) to the tokens looked at (right).

import { forStreamlit, mounting } from "../mount.js";
import { fillBox, fontOf, layers, penOf, prepare, write } from "../shared/canvas.js";
import { div, h, positionOn, span } from "../shared/dom.js";
import { format, stepped } from "../shared/numbers.js";
import { CanvasView, same } from "../shared/shell.js";
import { HeadButtons } from "./heads.js";
import { KEY, LinesLayout, QUERY } from "./layout.js";
import style from "./style.css";
import { Weights } from "./weights.js";

/**
 * @typedef {object} LinesData
 * @property {string} title
 * @property {string} note
 * @property {string[]} heads
 * @property {string[]} queries
 * @property {string[]} keys
 * @property {Uint16Array} weights
 */
/** @typedef {import("./layout.js").Token} Token */
/** @typedef {import("../shared/canvas.js").Pen} Pen */

const FONT = 15;
/** A line fainter than this changes no pixel by a visible step. */
const FAINTEST = 0.006;
/** A mean that would be written as 0.00 is left out. */
const SMALLEST = 0.005;

/**
 * The token that is hovered is shown, else the one that is selected. Python hears of neither.
 * @extends {CanvasView<LinesData, Token>}
 */
class AttentionLines extends CanvasView {
  /** @type {Token | null} */
  hovered = null;
  /** @type {Token | null} */
  selected = null;
  /** How much of each query's attention the lines show, in percent. */
  mass = 90;
  shape = "";
  /** @type {Weights} */
  weights;
  /** For each head and query the keys that it has lines to. @type {import("./weights.js").Strongest[][]} */
  kept = [];
  /** @type {LinesLayout} */
  at;
  heads = new HeadButtons(() => this.paint());
  layers = layers(this.stage);

  build() {
    this.root.append(div("hl-bar", this.heads.box, this.slider()), this.stage, this.note);
    this.listen(this.stage);
  }

  slider() {
    const output = h("output", {}, `${this.mass} %`);
    const input = h("input", { type: "range", min: 5, max: 100, step: 5, value: this.mass });
    input.oninput = () => {
      this.mass = Number(input.value);
      output.textContent = `${this.mass} %`;
      this.choose();
      this.paint();
    };
    const meaning = span("", "of each token’s attention");
    return h("label", { class: "hl-mass" }, "Show the strongest", input, output, meaning);
  }

  /** @param {string} key @param {[number, number]} [step] */
  onKey(key, step) {
    if (step) return () => this.goTo(step);
    return key === "Escape" ? () => this.select(null) : undefined;
  }

  /** @param {[number, number]} step */
  goTo([down, right]) {
    const [side, position] = this.selected ?? [QUERY, -1];
    const [to] = stepped([side], [right], [2]);
    const [at] = stepped([position], [down], [this.tokens[to].length]);
    this.select([to, at]);
    this.say(this.sentence([to, at]));
  }

  /** @param {Token | null} token */
  click(token) {
    this.selected = same(token, this.selected) ? null : token;
    this.mark();
  }

  /** @param {Token | null} token */
  select(token) {
    this.hovered = null;
    this.selected = token;
    this.mark();
  }

  /** The tokens of both sides. @returns {[string[], string[]]} */
  get tokens() {
    return [this.data.queries, this.data.keys];
  }

  update() {
    const { heads, queries, keys, title, note, weights } = this.data;
    this.weights = new Weights(weights, [queries.length, keys.length]);
    const shape = String([heads.length, queries.length, keys.length]);
    if (shape !== this.shape) this.hovered = this.selected = null;
    this.shape = shape;
    this.stage.ariaLabel = `${title}: arrow keys move from token to token, Escape clears`;
    this.note.textContent = note;
    this.heads.update(heads, this.data.colors);
    this.choose();
    this.layout();
  }

  choose() {
    const { heads, queries } = this.data;
    this.kept = heads.map((_, head) =>
      queries.map((_, query) => this.weights.strongest(head, query, this.mass / 100)),
    );
  }

  place() {
    const pen = penOf(this.layers.overlay);
    pen.font = fontOf(this.root, FONT, 700);
    this.at = new LinesLayout(this.tokens, this.width, (text) => pen.measureText(text).width);
    this.paint();
  }

  paint() {
    const pen = prepare(this.layers.canvas, this.at.width, this.at.height);
    for (const query of this.data.queries.keys()) this.lines(pen, query);
    this.mark();
  }

  /**
   * The lines of a query, or the one to a key. Each head has its own height at a token, so that lines between the
   * same two do not hide each other.
   * @param {Pen} pen
   * @param {number} query
   * @param {number} [only] the key
   */
  lines(pen, query, only) {
    const { from, to, pitch } = this.at;
    const { shown } = this.heads;
    const apart = Math.min(3, (pitch - 8) / Math.max(1, shown.length - 1));
    const middle = (from + to) / 2;
    for (const [i, head] of shown.entries()) {
      const shift = (i - (shown.length - 1) / 2) * apart;
      pen.strokeStyle = this.heads.color(head);
      pen.setLineDash(this.heads.dashed(head) ? [7, 4] : []);
      for (const { key, weight } of this.kept[head][query]) {
        if (weight < FAINTEST || (only ?? key) !== key) continue;
        const [start, end] = [this.at.y(query) + shift, this.at.y(key) + shift];
        pen.globalAlpha = weight;
        pen.lineWidth = 1.5 + 1.5 * weight;
        pen.beginPath();
        pen.moveTo(from, start);
        pen.bezierCurveTo(middle, start, middle, end, to, end);
        pen.stroke();
      }
    }
    pen.globalAlpha = 1;
    pen.setLineDash([]);
  }

  /** Tokens, and for the focused one its own lines and numbers, in front of all lines. */
  mark() {
    const pen = prepare(this.layers.overlay, this.at.width, this.at.height);
    const focused = this.hovered ?? this.selected;
    this.layers.canvas.style.opacity = focused ? "0.06" : "1";
    this.titles(pen, focused);
    const means = focused ? this.weights.means(this.heads.shown, focused) : [];
    for (const side of [QUERY, KEY]) {
      for (const position of this.tokens[side].keys()) this.token(pen, [side, position], focused, means);
    }
    if (!focused) return;
    const [side, position] = focused;
    if (side === QUERY) this.lines(pen, position);
    else for (const query of this.data.queries.keys()) this.lines(pen, query, position);
  }

  /** @param {Pen} pen @param {Token | null} focused */
  titles(pen, focused) {
    const { colors } = this.data;
    const { from, to, width } = this.at;
    const shown = this.heads.shown.length;
    const ink = { font: fontOf(this.root, 14, 600), color: colors.muted };
    write(pen, "looks from", [from - 8, 10], { ...ink, align: "right", limit: from - 8 });
    write(pen, "looked at", [to + 8, 10], { ...ink, limit: width - to - 8 });
    if (!focused || !shown) return;
    const meanings = shown === 1 ? ["weight"] : [`mean weight of ${shown} heads`, "mean"];
    const fitting = meanings.find((text) => pen.measureText(text).width < to - from - 16) ?? "";
    write(pen, fitting, [(from + to) / 2, 10], { ...ink, align: "center" });
  }

  /**
   * @param {Pen} pen
   * @param {Token} token
   * @param {Token | null} focused
   * @param {number[]} means of the other side than the focused token's
   */
  token(pen, token, focused, means) {
    const { colors } = this.data;
    const [side, position] = token;
    const chosen = String(focused) === String(token);
    const mean = focused && focused[0] !== side ? means[position] : 0;
    const right = side === KEY;
    const edge = right ? this.at.to : this.at.from;
    const y = this.at.y(position);
    if (chosen || mean > SMALLEST) {
      const [start, end] = right ? [edge, this.at.width] : [0, edge];
      pen.globalAlpha = chosen ? 0.22 : 0.45 * mean;
      fillBox(pen, colors.accent, [start, y - this.at.pitch / 2 + 1, end - start, this.at.pitch - 2]);
      pen.globalAlpha = 1;
    }
    const color = focused && !chosen && mean <= SMALLEST ? colors.muted : colors.text;
    write(pen, this.tokens[side][position], [right ? edge + 8 : edge - 8, y], {
      font: fontOf(this.root, FONT, chosen || mean > 0.2 ? 700 : 400),
      color,
      align: right ? "left" : "right",
      limit: this.at.limit,
    });
    if (mean <= SMALLEST) return;
    const font = fontOf(this.root, 14, 600);
    write(pen, format(mean), [right ? this.at.width - 4 : 4, y], {
      font,
      color,
      align: right ? "right" : "left",
    });
  }

  /** @param {MouseEvent} event */
  find(event) {
    return this.at.tokenAt(...positionOn(this.layers.overlay, event));
  }

  /** @param {Token} token */
  sentence(token) {
    const [side, position] = token;
    const others = this.tokens[1 - side];
    const ranked = [...this.weights.means(this.heads.shown, token).entries()].sort((a, b) => b[1] - a[1]);
    const verb = side === QUERY ? "looks at" : "is looked at by";
    const named = ranked.slice(0, 3).map(([other, mean]) => `${others[other]} ${format(mean)}`);
    return `${this.tokens[side][position]} ${verb} ${named.join(", ")}`;
  }

  state() {
    const focused = this.hovered ?? this.selected;
    return {
      on: this.heads.on,
      hovered: this.hovered,
      middles: this.data.queries.map((_, position) => this.at.y(position)),
      kept: this.kept.map((rows) => rows.map((row) => row.map(({ key }) => key))),
      means: focused && this.weights.means(this.heads.shown, focused),
    };
  }
}

export const mount = mounting(AttentionLines, "attention_lines", style);
export default forStreamlit(mount);
