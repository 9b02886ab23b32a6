// @ts-check
// A model as in the paper's figure 1. Blocks are buttons in ordinary layout; the lines between them are drawn
// afterwards, from the blocks' positions.

import { forStreamlit, mounting } from "../mount.js";
import { div, h, span, svg, zoomOf } from "../shared/dom.js";
import { grouped } from "../shared/numbers.js";
import { View } from "../shared/shell.js";
import { Tooltip } from "../shared/words.js";
import style from "./style.css";

/**
 * @typedef {object} Block
 * @property {keyof typeof KINDS} kind
 * @property {string} label
 * @property {string} detail
 * @property {string} about
 * @property {string} path
 * @property {number} parameters
 * @property {[name: string, shape: string][]} weights
 * @property {boolean} reads whether it reads the encoder's output
 */
/**
 * @typedef {object} Stack
 * @property {string} title
 * @property {string} reads
 * @property {Block[]} below
 * @property {{inside: Block[], after: Block[]}[]} layer
 * @property {number} n_layers
 * @property {Block[]} above
 * @property {string} writes
 */
/**
 * @typedef {object} ArchitectureData
 * @property {string} title
 * @property {Stack[]} stacks
 * @property {string} here the path of the current block, or ""
 * @property {boolean} jumps whether a click goes to a block instead of listing its weights
 */
/** @typedef {{block: Block, stack: Stack, times: number, node: HTMLElement}} Entry */

/**
 * A drawn stack: the blocks its vectors pass through, the blocks they bypass, and the block that reads the encoder's
 * output.
 * @typedef {object} Column
 * @property {HTMLElement} box
 * @property {HTMLElement} layers
 * @property {HTMLElement[]} stream from the bottom up
 * @property {[first: HTMLElement, plus: HTMLElement][]} loops
 * @property {HTMLElement | null} reader
 * @property {HTMLElement} top
 */
/** @typedef {(node: HTMLElement) => DOMRect} RectOf */

/** The index of each kind's categorical colour. */
const KINDS = { embedding: 0, attention: 1, "feed-forward": 2, norm: 3, generator: 6 };

/** @extends {View<ArchitectureData>} */
class Architecture extends View {
  /** The path of the chosen block. */
  chosen = "";
  /** What was drawn last. */
  look = "";
  /** @type {Entry[]} */
  blocks = [];
  /** @type {Column[]} */
  columns = [];
  stacks = div("stacks");
  lines = svg("svg", { "aria-hidden": "true" });
  picture = h("div", { class: "picture", role: "group" }, this.stacks, this.lines);
  panel = h("div", { class: "panel", "aria-live": "polite" });
  tip = new Tooltip(this.root);

  build() {
    this.root.append(this.picture, this.panel);
    this.root.onmouseleave = () => this.tip.hide();
  }

  update() {
    const { stacks, title, here, jumps } = this.data;
    this.picture.setAttribute("aria-label", title);
    this.root.classList.toggle("jumps", jumps);
    const look = JSON.stringify([stacks, this.data.colors]);
    if (jumps && look === this.look) {
      // Keep the blocks, and with them the focus.
      this.markHere(here);
      return;
    }
    this.look = look;
    this.blocks = [];
    this.columns = stacks.map((stack) => this.column(stack));
    this.stacks.replaceChildren(...this.columns.map(({ box }) => box));
    this.markHere(here);
    if (!jumps) {
      const known = this.blocks.findIndex(({ block }) => block.path === this.chosen);
      this.choose(this.blocks[Math.max(0, known)]);
    }
    this.layout();
  }

  /** @param {string} here a block's path */
  markHere(here) {
    for (const { block, node } of this.blocks) {
      if (here && block.path === here) node.setAttribute("aria-current", "step");
      else node.removeAttribute("aria-current");
    }
  }

  /**
   * Build a stack from the bottom up.
   * @param {Stack} stack
   * @returns {Column}
   */
  column(stack) {
    const [box, layers] = [div("stack"), div("layers")];
    /** @type {HTMLElement[]} */
    const stream = [];
    /** @type {Column["loops"]} */
    const loops = [];
    /** @type {HTMLElement | null} */
    let reader = null;
    const add = (/** @type {HTMLElement} */ parent, /** @type {HTMLElement} */ node) => {
      parent.append(node);
      stream.push(node);
      return node;
    };
    const addBlock = (/** @type {HTMLElement} */ parent, /** @type {Block} */ block, times = 1) => {
      const node = add(parent, this.block(block, stack, times));
      if (block.reads) reader = node;
      return node;
    };
    add(box, div("end", stack.reads));
    for (const block of stack.below) addBlock(box, block);
    box.append(layers);
    for (const { inside, after } of stack.layer) {
      const sub = div("sub");
      layers.append(sub);
      const nodes = inside.map((block) => addBlock(sub, block, stack.n_layers));
      loops.push([nodes[0], add(sub, div("plus", "+"))]);
      for (const block of after) addBlock(sub, block, stack.n_layers);
    }
    layers.append(div("times", `${stack.n_layers} ×`));
    for (const block of stack.above) addBlock(box, block);
    const top = stream[stream.length - 1];
    if (stack.writes) add(box, div("end", stack.writes));
    box.append(div("title", stack.title));
    return { box, layers, stream, loops, reader, top };
  }

  /** @param {Block} block @param {Stack} stack @param {number} times */
  block(block, stack, times) {
    const { categorical } = this.data.colors;
    const node = h("button", { class: `block ${block.kind}` }, span("label", block.label));
    node.style.setProperty("--kind", categorical[KINDS[block.kind] % categorical.length]);
    if (block.detail) node.append(span("detail", block.detail));
    const entry = { block, stack, times, node };
    this.blocks.push(entry);
    node.onclick = () => (this.data.jumps ? this.selection.report(block.path) : this.choose(entry));
    node.onmousemove = (event) => this.point(entry, event);
    node.onmouseleave = () => this.tip.hide();
    return node;
  }

  /** @param {Entry} entry @param {MouseEvent} event */
  point({ block, stack, times }, event) {
    const shapes = block.weights.slice(0, 4).map(([name, shape]) => `${name}: ${shape}`);
    if (block.weights.length > 4)
      shapes.push(`and ${block.weights.length - 4} more${this.data.jumps ? "" : ": click"}`);
    this.tip.show(event, [
      ["title", `${block.label} of the ${stack.title}`],
      ["", count(block, times)],
      ...shapes.map((line) => /** @type {[string, string]} */ (["quiet", line])),
    ]);
  }

  /** @param {Entry} entry */
  choose({ block, stack, times, node: chosen }) {
    this.chosen = block.path;
    for (const { node } of this.blocks) node.setAttribute("aria-pressed", String(node === chosen));
    const path = times > 1 ? block.path.replace("layers.0", `layers.0 … ${times - 1}`) : block.path;
    this.panel.replaceChildren(
      div("head", `${block.label} of the ${stack.title}`),
      div("path", path),
      h("p", {}, block.about),
      h("p", {}, `${count(block, times)}.`),
      ...(block.weights.length ? [table(block.weights)] : []),
    );
  }

  place() {
    const { left, top } = this.picture.getBoundingClientRect();
    const zoom = zoomOf(this.picture);
    /** @type {RectOf} */
    const rectOf = (node) => {
      const { x, y, width, height } = node.getBoundingClientRect();
      return new DOMRect((x - left) / zoom, (y - top) / zoom, width / zoom, height / zoom);
    };
    this.lines.replaceChildren();
    for (const [number, column] of this.columns.entries()) this.wire(column, rectOf, number === 0);
    const [encoder, decoder] = this.columns;
    if (decoder?.reader) this.lead(encoder, decoder, decoder.reader, rectOf);
  }

  /**
   * Draw the lines of a stack; those around its sublayers run on its outer side.
   * @param {Column} column
   * @param {RectOf} rectOf
   * @param {boolean} isLeft
   */
  wire({ stream, loops }, rectOf, isLeft) {
    const { text, muted } = this.data.colors;
    for (let i = 1; i < stream.length; i++) {
      const [from, to] = [rectOf(stream[i - 1]), rectOf(stream[i])];
      this.line(`M${middleOf(to)} ${from.top}V${to.bottom + 1}`, text);
    }
    for (const [first, plus] of loops) {
      const [start, end] = [rectOf(first), rectOf(plus)];
      const out = isLeft ? start.left - 11 : start.right + 11;
      const [low, high] = [start.bottom + 8, (end.top + end.bottom) / 2];
      const into = isLeft ? end.left - 1 : end.right + 1;
      this.line(`M${middleOf(start)} ${low}H${out}V${high}H${into}`, muted);
    }
  }

  /**
   * Draw the encoder's output, from its top into the decoder's cross-attention.
   * @param {Column} encoder
   * @param {Column} decoder
   * @param {HTMLElement} reader
   * @param {RectOf} rectOf
   */
  lead(encoder, decoder, reader, rectOf) {
    const [from, to] = [rectOf(encoder.top), rectOf(reader)];
    const middle = (rectOf(encoder.box).right + rectOf(decoder.box).left) / 2;
    const up = Math.min(from.top, rectOf(encoder.layers).top) - 9;
    const y = (to.top + to.bottom) / 2;
    const way = `M${middleOf(from)} ${from.top}V${up}H${middle}V${y}H${to.left - 2}`;
    this.line(way, this.data.colors.accent, 2.5);
  }

  /**
   * Draw a line that ends in an arrow head.
   * @param {string} way an SVG path
   * @param {string} color
   */
  line(way, color, width = 1.6) {
    const path = svg("path", { d: way });
    Object.assign(path.style, { fill: "none", stroke: color, strokeWidth: width });
    const length = path.getTotalLength();
    const [before, { x, y }] = [length - 1, length].map((at) => path.getPointAtLength(at));
    const angle = (Math.atan2(y - before.y, x - before.x) * 180) / Math.PI;
    const transform = `translate(${x} ${y}) rotate(${angle})`;
    const head = svg("path", { d: "M0 0L-8 -4.5L-8 4.5Z", transform });
    head.style.fill = color;
    this.lines.append(path, head);
  }
}

/** The horizontal middle of a box. @param {DOMRect} box */
const middleOf = ({ left, width }) => left + width / 2;

/** @param {Block} block @param {number} times */
function count({ parameters, weights }, times) {
  if (!parameters) return weights.length ? "no parameters of its own: it shares them" : "no parameters";
  if (times === 1) return `${grouped(parameters)} parameters`;
  return `${grouped(parameters)} parameters in each layer, ${grouped(parameters * times)} in all ${times}`;
}

/** @param {[name: string, shape: string][]} weights */
function table(weights) {
  const head = h("tr", {}, h("th", {}, "weight"), h("th", {}, "shape"));
  const rows = weights.map((weight) => h("tr", {}, ...weight.map((cell) => h("td", {}, cell))));
  return div("scroll", h("table", {}, head, ...rows));
}

export const mount = mounting(Architecture, "architecture", style);
export default forStreamlit(mount);
