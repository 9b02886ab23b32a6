// @ts-check
// The positions of a search's nodes, in CSS pixels, and the state of each node after a number of steps. A column is a
// step; its candidates are sorted by score, with those that the search kept above the line.

import { clamp } from "../shared/numbers.js";

/**
 * @typedef {object} TreeNode
 * @property {string} token
 * @property {number | null} parent
 * @property {number} depth
 * @property {number} probability
 * @property {number} score
 * @property {number} rank
 * @property {"given" | "kept" | "pruned" | "ended"} kind
 * @property {string} why
 * @property {[name: string, value: string][]} numbers
 * @property {boolean} is_open
 */
/** @typedef {{x: number, y: number, width: number, height: number}} Box */
/** @typedef {"future" | "pruned" | "ended" | "alive" | "dead"} Fate "dead": kept once, but led nowhere */

export const COLUMN = { least: 92, most: 200, gap: 40 };
export const ROW = { height: 34, pitch: 42 };
export const MARGIN = 8;
const TOP = 34;
const CUT = 26;
// The gap between the labels of two lines, which reach into the gap between their columns.
const APART = 14;

export class TreeLayout {
  /** @type {number[][]} nodes of each depth, from above */
  columns = [];
  /** @type {Box[]} of each node */
  boxes = [];
  /** @type {{x: number, y: number, width: number, cuts: boolean}[]} the line of each depth, if it cuts any off */
  cuts = [];
  /** @type {[width: number, height: number]} */
  size = [0, 0];

  /**
   * @param {TreeNode[]} nodes parents before their children
   * @param {(i: number) => number} widthOf the width of a node's text
   * @param {number[]} labels for each depth the width of the text at its line
   */
  constructor(nodes, widthOf, labels) {
    this.nodes = nodes;
    for (const [i, { depth }] of nodes.entries()) {
      this.columns[depth] ??= [];
      this.columns[depth].push(i);
    }
    const place = (/** @type {number} */ i) => (this.isPruned(i) ? 1e6 : 0) + nodes[i].rank;
    for (const column of this.columns) column.sort((a, b) => place(a) - place(b));
    this.last = this.columns.length - 1;
    this.place(widthOf, labels);
  }

  /** @param {number} i */
  isPruned(i) {
    return this.nodes[i].kind === "pruned";
  }

  /** @param {(i: number) => number} widthOf @param {number[]} labels */
  place(widthOf, labels) {
    let [x, bottom] = [MARGIN, 0];
    for (const [depth, column] of this.columns.entries()) {
      const kept = column.filter((i) => !this.isPruned(i)).length;
      const cuts = kept < column.length;
      const tokens = clamp(Math.max(...column.map(widthOf)), COLUMN.least, COLUMN.most);
      const width = Math.ceil(Math.max(tokens, cuts ? labels[depth] + APART - COLUMN.gap : 0));
      for (const [row, i] of column.entries()) {
        const y = TOP + row * ROW.pitch + (row >= kept ? CUT : 0);
        this.boxes[i] = { x, y, width, height: ROW.height };
        bottom = Math.max(bottom, y + ROW.height);
      }
      this.cuts.push({ x, y: TOP + kept * ROW.pitch + 4, width, cuts });
      x += width + COLUMN.gap;
    }
    this.size = [x - COLUMN.gap + MARGIN, bottom + CUT];
  }

  /** A node's children, from the top down. @param {number} i */
  children(i) {
    const next = this.columns[this.nodes[i].depth + 1] ?? [];
    return next.filter((child) => this.nodes[child].parent === i);
  }

  /** The path from the root to a node, both included. @param {number} i */
  path(i) {
    /** @type {number[]} */
    const path = [];
    for (let at = /** @type {number | null} */ (i); at !== null; at = this.nodes[at].parent) path.unshift(at);
    return path;
  }

  /**
   * The end of the best continuation of a node: the best-scored kept child at each step.
   * @param {number} i
   * @returns {number}
   */
  onward(i) {
    const next = this.children(i).find((child) => !this.isPruned(child));
    return next === undefined ? i : this.onward(next);
  }

  /**
   * Whether a hypothesis ends in a node after a step.
   * @param {number} i
   * @param {number} step
   */
  runs(i, step) {
    const { depth, kind } = this.nodes[i];
    return depth === step ? kind !== "pruned" : depth < step && kind === "ended";
  }

  /**
   * The state of each node after a step.
   * @param {number} step
   * @returns {Fate[]}
   */
  fates(step) {
    const running = [...this.nodes.keys()].filter((i) => this.runs(i, step));
    const alive = new Set(running.flatMap((i) => this.path(i)));
    return this.nodes.map(({ depth, kind }, i) => {
      if (depth > step) return "future";
      if (kind === "pruned" || kind === "ended") return kind;
      return alive.has(i) ? "alive" : "dead";
    });
  }
}
