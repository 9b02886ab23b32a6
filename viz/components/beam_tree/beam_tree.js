// @ts-check
// A beam search as a tree: step through it, choose a node, continue from any token of it.

import { forStreamlit, mounting } from "../mount.js";
import { fontOf, penOf } from "../shared/canvas.js";
import { askButton, namedButton } from "../shared/controls.js";
import { div, h, span, svg } from "../shared/dom.js";
import { clamp, format, percent } from "../shared/numbers.js";
import { KEY_DELAY } from "../shared/selection.js";
import { StageView } from "../shared/shell.js";
import { COLUMN, MARGIN, TreeLayout } from "./layout.js";
import { cutLabel, edge, head, mark, stepName } from "./shapes.js";
import style from "./style.css";

/**
 * @typedef {object} TreeData
 * @property {string} title
 * @property {number} given the first depth that the search chose itself
 * @property {(number | null)[]} cuts for each depth the score below which all candidates were pruned
 * @property {number[]} more for each depth the number of pruned candidates not drawn
 * @property {number} selected
 * @property {string} word the selected node's, if it can be asked why the model wrote it
 * @property {import("./layout.js").TreeNode[]} nodes
 * @property {{node: number, text: string, score: number}[]} hypotheses
 */

const KEYS = "arrow keys go from node to node, Page Up and Page Down from step to step, Enter continues";
const KINDS = [
  ["path", "the path of the chosen hypothesis"],
  ["alive", "kept"],
  ["dead", "kept, but led nowhere"],
  ["pruned", "pruned at once"],
  ["ended", "ended the sentence"],
];

/** @extends {StageView<TreeData>} */
class BeamTree extends StageView {
  search = "";
  chosen = 0;
  leaf = 0;
  unseen = false;
  /** Width of the part of the tree that is seen, in pixels. */
  room = 0;
  /** @type {TreeLayout} */
  at;
  /** @type {SVGGElement[]} */
  heads = [];
  /** @type {SVGGElement[]} */
  marks = [];
  /** Null for the root. @type {(SVGPathElement | null)[]} */
  edges = [];
  /** @type {HTMLButtonElement[]} */
  rows = [];
  pen = penOf(h("canvas"));
  back = namedButton("◀", "one step back", () => this.goTo(this.step - 1));
  forth = namedButton("▶", "one step on", () => this.goTo(this.step + 1));
  slider = h("input", { type: "range", step: 1, "aria-label": "step of the search" });
  summary = h("output");
  ask = askButton();
  details = div("hl-node");
  ranking = div("hl-ranking");

  build() {
    this.stage.className = "hl-tree";
    this.slider.oninput = () => this.goTo(Number(this.slider.value));
    const slider = h("label", { class: "hl-step-slider" }, this.slider);
    const bar = div("hl-bar", this.back, slider, this.forth, this.summary, this.ask.button);
    const entries = KINDS.map(([kind, text]) =>
      span("hl-legend-entry", span(`hl-swatch ${kind}`), span("", text)),
    );
    const legend = div("hl-legend", ...entries);
    this.root.append(bar, this.stage, legend, this.details, this.ranking);
  }

  update() {
    const { nodes, selected, title } = this.data;
    this.at = this.measured();
    const search = nodes.map(({ parent, token }) => `${parent} ${token}`).join();
    const another = search !== this.search;
    this.search = search;
    if (another) this.selection.forget();
    const isMoved = this.selection.movedByPython({ node: selected }) && selected !== this.chosen;
    if (isMoved || another) {
      this.chosen = selected;
      this.leaf = this.leafOf(selected);
      this.unseen = true;
    }
    Object.assign(this.slider, { min: Math.min(1, this.at.last), max: this.at.last });
    this.stage.ariaLabel = `${title}: ${KEYS}`;
    this.draw();
    this.mark();
    this.layout();
  }

  /** The step shown is the one that chose the node: all else on the page is about it. */
  get step() {
    return this.data.nodes[this.chosen].depth;
  }

  measured() {
    const { pen } = this;
    const { nodes, cuts } = this.data;
    pen.font = fontOf(this.root, 14);
    const labels = cuts.map((cut) => pen.measureText(cutLabel(cut)).width);
    pen.font = fontOf(this.root, 16, 600);
    return new TreeLayout(nodes, (i) => pen.measureText(nodes[i].token).width + 92, labels);
  }

  /** Called on every change of width: the tree scrolls, so only the scroll position moves. */
  place() {
    const room = this.stage.clientWidth;
    if (this.unseen || room !== this.room) this.reveal();
    this.unseen = false;
    this.room = room;
  }

  /** @param {string} key */
  onKey(key) {
    const { nodes } = this.data;
    const column = this.at.columns[nodes[this.chosen].depth];
    const row = column.indexOf(this.chosen);
    /** @type {Record<string, () => void>} */
    const moves = {
      ArrowLeft: () => this.choose(nodes[this.chosen].parent ?? this.chosen, KEY_DELAY),
      ArrowRight: () => this.choose(this.child(), KEY_DELAY),
      ArrowUp: () => this.choose(column[Math.max(row - 1, 0)], KEY_DELAY),
      ArrowDown: () => this.choose(column[Math.min(row + 1, column.length - 1)], KEY_DELAY),
      PageUp: () => this.goTo(this.step - 1),
      PageDown: () => this.goTo(this.step + 1),
      Home: () => this.goTo(1),
      End: () => this.goTo(this.at.last),
      Enter: () => this.goOn(),
    };
    return moves[key];
  }

  /**
   * The end of the path through a node: a returned hypothesis, if one passes through it.
   * @param {number} node
   */
  leafOf(node) {
    const returned = this.data.hypotheses.find((hypothesis) => this.at.path(hypothesis.node).includes(node));
    return returned ? returned.node : this.at.onward(node);
  }

  /** The chosen node's child on the path to the chosen leaf, or else the best child. */
  child() {
    const path = this.at.path(this.leaf);
    const children = this.at.children(this.chosen);
    return children.find((i) => path.includes(i)) ?? children[0] ?? this.chosen;
  }

  /** @param {number} node */
  choose(node, delay = 0) {
    const { nodes } = this.data;
    if (node === this.chosen || nodes[node].depth === 0) return;
    this.chosen = node;
    if (!this.at.path(this.leaf).includes(node)) this.leaf = this.leafOf(node);
    this.moved(delay);
  }

  /** @param {number} step */
  goTo(step) {
    const to = clamp(step, 1, this.at.last);
    if (to === this.step || to > this.at.last) return;
    // The chosen hypothesis may have ended before.
    const there = this.at.path(this.leaf)[to] ?? this.at.columns[to][0];
    this.choose(there, KEY_DELAY);
  }

  /** @param {number} delay */
  moved(delay) {
    this.mark();
    this.reveal();
    const { depth, token, probability, why } = this.data.nodes[this.chosen];
    this.say(`${stepName(depth)}: ${token}, ${percent(probability)}. ${why}`);
    this.selection.report({ node: this.chosen }, delay);
  }

  goOn() {
    if (this.data.nodes[this.chosen].is_open) this.selection.report({ go_on: this.chosen });
  }

  draw() {
    const { at, data, pen } = this;
    const [width, height] = at.size;
    this.heads = at.columns.map((_, depth) => head(at, data, depth));
    this.edges = data.nodes.map(({ parent }, i) => (parent === null ? null : edge(at, parent, i)));
    this.marks = data.nodes.map((_, i) => {
      return mark(at, pen, i, { onclick: () => this.choose(i), ondblclick: () => this.goOn() });
    });
    const shapes = [...this.heads, ...this.edges.filter((edge) => edge !== null), ...this.marks];
    this.stage.replaceChildren(svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, ...shapes));
    this.rank();
  }

  /** Update what depends on the step and the chosen node: classes only, the shapes stay. */
  mark() {
    const { at, chosen, data, step } = this;
    const path = new Set(at.path(this.leaf).filter((i) => data.nodes[i].depth <= step));
    for (const [i, fate] of at.fates(step).entries()) {
      const look = path.has(i) ? `${fate} path` : fate;
      this.marks[i].setAttribute("class", `node ${look}${i === chosen ? " chosen" : ""}`);
      this.edges[i]?.setAttribute("class", `edge ${look}`);
    }
    for (const [depth, head] of this.heads.entries()) {
      head.setAttribute("class", depth > step ? "head future" : "head");
    }
    this.slider.value = String(step);
    this.back.disabled = step <= 1;
    this.forth.disabled = step >= at.last;
    this.summary.textContent = `${stepName(step)} (the last is ${at.last - 1})`;
    this.describe();
    const { selected, word } = data;
    // Python answers a choice with its word.
    this.ask.offer(selected === chosen ? word : "", () => this.selection.report({ why: chosen }));
    for (const [i, row] of this.rows.entries()) {
      row.setAttribute("aria-pressed", String(data.hypotheses[i].node === this.leaf));
    }
  }

  describe() {
    const { depth, token, numbers, why, is_open } = this.data.nodes[this.chosen];
    const title = is_open ? "The search restarts after this token" : "Nothing can follow this token";
    const go = h("button", { class: "go", title, onclick: () => this.goOn() }, "Continue from here");
    go.disabled = !is_open;
    this.details.replaceChildren(
      h("div", { class: "title" }, depth ? `Step ${depth - 1}: ` : "Start: ", span("word", token)),
      h(
        "div",
        { class: "numbers" },
        ...numbers.map(([name, value]) => h("span", {}, `${name} `, h("b", {}, value))),
      ),
      div("why", why),
      go,
    );
  }

  /** List the returned hypotheses, best first. */
  rank() {
    this.rows = this.data.hypotheses.map(({ node, text, score }, i) =>
      h(
        "button",
        { onclick: () => this.follow(node) },
        span("place", `${i + 1}.`),
        span("word", text),
        span("score", `score ${format(score)}`),
      ),
    );
    const heading = div("hl-legend-label", "What the search returned, best first");
    this.ranking.replaceChildren(heading, ...this.rows);
  }

  /** @param {number} node */
  follow(node) {
    this.leaf = this.chosen = node;
    this.moved(0);
  }

  reveal() {
    const { x, width } = this.at.boxes[this.chosen];
    const room = this.stage.clientWidth;
    const ahead = this.step === this.at.last ? 0 : COLUMN.least + COLUMN.gap;
    const end = x + width + ahead + MARGIN - room;
    this.stage.scrollLeft = clamp(this.stage.scrollLeft, end, x - COLUMN.gap - ahead);
  }
}

export const mount = mounting(BeamTree, "beam_tree", style);
export default forStreamlit(mount);
