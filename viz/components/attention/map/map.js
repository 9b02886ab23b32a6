// @ts-check
// Attention as lines: one attention between its queries and keys, or all of a run around two columns of tokens. One
// token at a time is in focus.

import { layers, penOf, prepare } from "../../shared/canvas.js";
import { choice, fadeWhereMore } from "../../shared/controls.js";
import { div, h, positionOn, span } from "../../shared/dom.js";
import { clamp, stepped } from "../../shared/numbers.js";
import { CanvasView, same } from "../../shared/shell.js";
import { HeadButtons } from "./heads.js";
import { MapLayout } from "./layout.js";
import { drawLines } from "./lines.js";
import { meansOf, moved, placed, positioned, relationsOf, weightsOf } from "./links.js";
import { Slices } from "./slices.js";
import { strokesOf } from "./strokes.js";
import { RowTables } from "./table.js";
import { drawTokens } from "./tokens.js";
import { massWords, notes, sentence } from "./words.js";

/** @typedef {import("./links.js").Token} Token */
/** @typedef {import("./links.js").Link} Link */
/** @typedef {import("../../shared/canvas.js").Pen} Pen */

/**
 * @typedef {object} MapData
 * @property {string} title
 * @property {string} run
 * @property {import("./links.js").Column[]} columns two
 * @property {Link[]} links
 * @property {number} heads of a layer
 * @property {number[]} shown heads
 * @property {number} mass percent of each row's attention that lines show
 * @property {Token | null} locked the locked token, as `positioned` has it
 * @property {number} top the weight of a line that is opaque
 * @property {number} coming the number of missing heads
 * @property {"keep" | "hide" | "spread"} special
 * @property {(number | null)[]} hidden the hidden share of each link's attention
 * @property {"one" | "all" | null} families what the picture shows; null if the run has one attention
 */

const FAMILIES = { one: "this attention", all: "all attentions" };
const ZOOM = { smallest: 1, largest: 3, step: 1.25 };

/** @extends {CanvasView<MapData, Token>} */
export class MapView extends CanvasView {
  /** @type {Token | null} */
  selected = null;
  zoom = 1;
  /** The data that was drawn last. @type {MapData | null} */
  drawn = null;
  letters = "";
  /** @type {MapLayout} */
  at;
  /** @type {import("./strokes.js").Stroke[]} */
  strokes = [];
  heads = new HeadButtons((heads) => this.change({ heads }));
  switch = div("");
  showFamilies = choice(this.switch, "Lines of", FAMILIES, (families) => this.change({ families }));
  slider = h("input", { type: "range", min: 5, max: 100, step: 5 });
  output = h("output");
  slices = new Slices();
  tables = new RowTables();
  mass = span("hl-mass-words");
  window = div("hl-window");
  space = div("hl-space", this.window);
  layers = layers(this.window);
  fade = fadeWhereMore(this.stage);

  /** @param {HTMLElement} root @param {(changed: Partial<import("../choice.js").Choice>) => void} change */
  constructor(root, change) {
    super(root, { get: () => new Uint8Array(), onChange: () => {}, select: () => {} });
    this.change = change;
  }

  build() {
    const { stage } = this;
    stage.classList.replace("hl-stage", "hl-box");
    stage.append(this.space);
    this.slider.oninput = () => this.change({ mass: Number(this.slider.value) });
    const mass = h("label", { class: "hl-mass" }, "Strongest", this.slider, this.output);
    this.root.append(div("hl-map-bar", this.switch, this.heads.box, mass));
    this.root.append(this.mass, stage, this.note, this.tables.box);
    this.listen(stage);
    stage.onscroll = () => this.paint();
    stage.onblur = () => this.point(null);
    stage.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoomBy(event.deltaY < 0 ? ZOOM.step : 1 / ZOOM.step);
  }

  /** Spread or compress the rows around the middle of the view. @param {number} factor */
  zoomBy(factor) {
    const { stage } = this;
    const before = this.at.row;
    const middle = stage.scrollTop + stage.clientHeight / 2;
    this.zoom = clamp(this.zoom * factor, ZOOM.smallest, ZOOM.largest);
    this.layout();
    stage.scrollTop = (middle * this.at.row) / before - stage.clientHeight / 2;
    this.paint();
  }

  /** @param {string} key @param {[number, number]} [step] */
  onKey(key, step) {
    if (step) return () => this.goTo(step);
    if (key === "Enter" || key === " ") return () => this.click(this.hovered ?? this.selected);
    if (key === "Escape") return () => this.letGo();
    if (key === "+" || key === "=") return () => this.zoomBy(ZOOM.step);
    if (key === "-") return () => this.zoomBy(1 / ZOOM.step);
    return undefined;
  }

  /** @param {[number, number]} step */
  goTo([down, right]) {
    const [column, position] = this.focused ?? [0, -down];
    const [to] = stepped([column], [right], [2]);
    const [place] = stepped([position], [down], [this.at.counts[to]]);
    this.stage.scrollTop = this.at.reveal([to, place], this.stage.scrollTop);
    this.point([to, place]);
    this.say(sentence(this, [to, place]));
  }

  letGo() {
    this.hovered = null;
    this.select(null);
  }

  /** @param {Token | null} token */
  click(token) {
    if (!token) return;
    const frees = same(token, this.selected);
    this.select(frees ? null : token);
    this.say(`${frees ? "Freed" : "Locked"}. ${sentence(this, token)}`);
  }

  /** @param {Token | null} token */
  select(token) {
    this.change({ locked: token && positioned(token, this.columns) });
  }

  /** The token in focus. */
  get focused() {
    return this.hovered ?? this.selected;
  }

  get columns() {
    return this.data.columns;
  }

  get links() {
    return this.data.links;
  }

  get shown() {
    return this.data.shown;
  }

  /** Update; the lock stays with its token. */
  update() {
    const { data, drawn } = this;
    if (drawn?.run !== data.run) this.stage.scrollTo(0, 0);
    if (drawn?.run !== data.run || String(drawn.locked) !== String(data.locked))
      this.selected = placed(data.locked, data.columns);
    else this.keepLocked(moved(this.selected, drawn.columns, data.columns));
    if (!drawn || labelsOf(drawn) !== labelsOf(data)) this.hovered = null;
    this.drawn = data;
    this.strokes = strokesOf(data.heads, data.colors);
    this.heads.show(this.strokes, data.shown);
    this.switch.hidden = !data.families;
    this.showFamilies(data.families ?? "one");
    this.slider.value = String(data.mass);
    this.output.textContent = `${data.mass} %`;
    const links = data.links.map(({ label }, i) => ({ label, hidden: data.hidden[i] }));
    this.mass.textContent = massWords(data.mass, data.special, links);
    this.stage.ariaLabel = `${data.title}: arrow keys move from token to token, Enter locks one, Escape frees it`;
    this.layout();
  }

  /** Move the lock: another picture may have the token elsewhere, or not at all. @param {Token | null} token */
  keepLocked(token) {
    this.selected = token;
    const locked = token && positioned(token, this.columns);
    if (String(locked) !== String(this.data.locked)) queueMicrotask(() => this.change({ locked }));
  }

  layout() {
    if (this.drawn) super.layout();
  }

  place() {
    const { data, stage } = this;
    this.letters = getComputedStyle(this.root).fontFamily;
    const pen = penOf(this.layers.overlay);
    pen.font = `700 20px ${this.letters}`;
    const widthOf = (/** @type {string} */ text) => pen.measureText(text).width / 20;
    const labels = data.columns.map((column) => column.labels);
    const arcs = data.links.some(({ from, to }) => from === to);
    this.at = new MapLayout(labels, arcs, data.shown.length, this.width, widthOf, this.zoom);
    Object.assign(this.space.style, { width: `${this.at.width}px`, height: `${this.at.height}px` });
    stage.style.maxHeight = `${this.at.view}px`;
    Object.assign(this.window.style, { width: `${this.at.width}px`, height: `${this.at.view}px` });
    this.fade();
    this.note.textContent = notes(data, this.at.height > this.at.view);
    this.paint();
  }

  /** The settings for drawing lines. @returns {import("./lines.js").Drawing} */
  get drawing() {
    const { at, strokes, data, stage } = this;
    const { shown, mass, top } = data;
    return { at, strokes, shown, share: mass / 100, top, scrolled: stage.scrollTop };
  }

  paint() {
    const pen = prepare(this.layers.canvas, this.at.width, this.at.view);
    this.slices.run(this.#allLines(pen));
    this.mark();
  }

  /** Draw row by row, visible ones first. @param {Pen} pen */
  *#allLines(pen) {
    const { drawing, at } = this;
    for (const isSeen of [true, false]) {
      for (const link of this.links) {
        const [first, beyond] = at.seen(link.from, drawing.scrolled);
        for (const query of this.columns[link.from].labels.keys()) {
          if ((query >= first && query < beyond) !== isSeen) continue;
          drawLines(pen, drawing, link, query);
          yield;
        }
      }
    }
  }

  /** Draw the tokens, and the focused token's lines and numbers, in front of all lines. */
  mark() {
    const { at, focused, columns, links, drawing } = this;
    const pen = prepare(this.layers.overlay, at.width, at.view);
    this.layers.canvas.style.opacity = focused ? "0.06" : "1";
    const relations = focused ? relationsOf(links, focused) : [];
    for (const { link, role } of relations) {
      const position = /** @type {Token} */ (focused)[1];
      if (role === "query") drawLines(pen, drawing, link, position);
      else
        for (const query of columns[link.from].labels.keys()) drawLines(pen, drawing, link, query, position);
    }
    drawTokens(pen, {
      at,
      columns,
      colors: this.data.colors,
      fontFamily: this.letters,
      focused,
      locked: this.selected,
      scrolled: drawing.scrolled,
      beside: columns.map((_, column) => this.#beside(relations, column)),
    });
    this.tables.show(this, focused);
  }

  /** The numbers next to a column. @param {import("./links.js").Relation[]} relations @param {number} column @returns {import("./tokens.js").Beside} */
  #beside(relations, column) {
    const relation = relations.find(({ other }) => other === column);
    const { focused, shown, at, strokes } = this;
    if (!relation || !focused) return { means: null, own: [] };
    const heads = shown.filter((head) => head < relation.link.heads.length);
    const means = meansOf(relation, heads, focused[1]);
    if (!means) return { means, own: [] };
    const { text } = this.data.colors;
    if (at.numbers < heads.length) return { means, own: [{ name: "mean", ink: text, weights: means }] };
    const own = heads.map((head) => {
      const weights = weightsOf(relation, head, focused[1]) ?? [];
      return { name: `h${head}`, ink: strokes[head].ink, weights };
    });
    return { means, own };
  }

  /** @param {MouseEvent} event */
  find(event) {
    return this.at.tokenAt(...positionOn(this.layers.overlay, event), this.stage.scrollTop);
  }

  state() {
    const { focused, at, data, stage } = this;
    const relations = focused ? relationsOf(data.links, focused) : [];
    return {
      hovered: this.hovered,
      locked: this.selected,
      shown: data.shown,
      isPainted: !this.slices.isRunning,
      scrolled: stage.scrollTop,
      middles: data.columns.map(({ labels }, column) =>
        labels.map((_, position) => [
          (at.boxes[column][0] + at.boxes[column][1]) / 2,
          at.seenAt(column, position, stage.scrollTop),
        ]),
      ),
      beside: data.columns.map((_, column) =>
        this.#beside(relations, column).own.map(({ name, weights }) => [name, Array.from(weights)]),
      ),
    };
  }
}

/** @param {MapData} data */
const labelsOf = ({ columns }) => JSON.stringify(columns.map(({ labels }) => labels));
