// @ts-check
// The rows and columns that are shown of an attention, each of one or several tokens, and their numbers.

import { sum } from "../shared/numbers.js";
import { quoted } from "../shared/words.js";
import { adds } from "./choice.js";
import { extremes } from "./range.js";

/** @typedef {import("./run.js").ViewerRun} ViewerRun */
/** @typedef {import("./run.js").AttentionView} AttentionView */
/** @typedef {import("./choice.js").Choice} Choice */

/** The label of a row where the model writes nothing. */
const NOTHING = "–";
/** How many computed numbers to cache. */
const KEPT = 8_000_000;

export class Sheet {
  /** Numbers as shown, by measure, layer and head. @type {Map<string, Float32Array>} */
  #known = new Map();
  #count = 0;
  /** Closed cells as shown, by those between tokens. @type {WeakMap<Uint8Array, Uint8Array>} */
  #closed = new WeakMap();
  /** @type {WeakMap<Uint8Array, number[]>} */
  #reasons = new WeakMap();
  /** @type {WeakMap<Float32Array, [number, number]>} */
  #extremes = new WeakMap();

  /**
   * @param {ViewerRun} run
   * @param {AttentionView} attn
   * @param {Choice} choice
   */
  constructor(run, attn, choice) {
    this.run = run;
    this.attn = attn;
    this.size = run.size(attn);
    this.spread = choice.special === "spread";
    /** The tokens of each row and of each column. @type {[number[][], number[][]]} */
    this.groups = /** @type {[number[][], number[][]]} */ (
      [attn.queries, attn.keys].map((stack) => groupsOf(run.sides[stack], choice))
    );
    const [rows, columns] = this.groups;
    this.isPlain = rows.length === this.size[0] && columns.length === this.size[1];
    const byWord = choice.by === "word";
    const side = run.sides[attn.queries];
    const [read, written] = [false, true].map((is) => labelsOf(side, rows, byWord, is));
    const isWriting = side.written.length > 0;
    const byWritten = isWriting && choice.rows === "written";
    this.queries = byWritten ? written : read;
    this.keys = labelsOf(run.sides[attn.keys], columns, byWord, false);
    /** The position of each row's and column's token or word, counting hidden ones. */
    this.numbers = /** @type {[number[], number[]]} */ (
      [attn.queries, attn.keys].map((stack, axis) => numbersOf(run.sides[stack], this.groups[axis], byWord))
    );
    /** What each row reads and writes; null for a stack that writes nothing. */
    this.roles = isWriting ? read.map((token, row) => roles(token, written[row])) : null;
    /** What a row is. */
    this.axis = isWriting ? `query, by the token ${byWritten ? "written" : "read"}` : "looks from (query)";
  }

  /** The number of the reason why each cell is closed in a layer; 0 for open cells. @param {number} layer */
  closed(layer) {
    const codes = this.run.closed(this.attn, layer);
    if (this.isPlain) return codes;
    const known = this.#closed.get(codes);
    if (known) return known;
    const [rows, columns] = this.groups;
    const closed = new Uint8Array(rows.length * columns.length);
    for (const [row, queries] of rows.entries()) {
      for (const [column, keys] of columns.entries()) {
        // A cell between words is closed if all cells between their tokens are.
        const own = queries.flatMap((query) => keys.map((key) => codes[query * this.size[1] + key]));
        closed[row * columns.length + column] = own.every(Boolean) ? own[0] : 0;
      }
    }
    this.#closed.set(codes, closed);
    return closed;
  }

  /** The numbers of the reasons why cells of a layer are closed, in order. @param {number} layer */
  reasons(layer) {
    const closed = this.closed(layer);
    const known = this.#reasons.get(closed) ?? [...new Set(closed)].filter(Boolean).sort();
    this.#reasons.set(closed, known);
    return known;
  }

  /**
   * The numbers of a head; null while they are missing.
   * @param {Choice["measure"]} measure
   * @param {number} layer
   * @param {number} head
   * @returns {Float32Array | null}
   */
  values(measure, layer, head) {
    const name = [measure, layer, head].join();
    const known = this.#known.get(name);
    if (known) return known;
    const [values, weights] = [
      this.#tokenValues(measure, layer, head),
      this.run.weights(this.attn, layer, head),
    ];
    if (!values || !weights) return null;
    const shown = this.shown(values, measure, weights);
    this.#keep(name, shown);
    return shown;
  }

  /**
   * The numbers of a head of another run.
   * @param {string} piece
   * @param {Float32Array} values between tokens
   * @param {Float32Array} weights of the same head
   * @param {Choice["measure"]} measure
   * @param {number} layer
   */
  ofOther(piece, values, weights, measure, layer) {
    const name = `${piece},${measure}`;
    const known = this.#known.get(name);
    if (known) return known;
    const closed = this.run.closed(this.attn, layer);
    const masked = measure === "masked" ? values.map((x, i) => (closed[i] ? -Infinity : x)) : values;
    const shown = this.shown(masked, measure, weights);
    this.#keep(name, shown);
    return shown;
  }

  /** @param {string} name @param {Float32Array} shown */
  #keep(name, shown) {
    this.#count += shown.length;
    if (this.#count > KEPT) {
      this.#known.clear();
      this.#count = shown.length;
    }
    this.#known.set(name, shown);
  }

  /**
   * Shows numbers between tokens: a column's tokens are added up, a row's are averaged.
   * @param {Float32Array} values
   * @param {Choice["measure"]} measure
   * @param {Float32Array} weights of the same head
   */
  shown(values, measure, weights) {
    if (this.isPlain) return values;
    const [rows, columns] = this.groups;
    const shown = new Float32Array(rows.length * columns.length);
    for (const [row, queries] of rows.entries()) {
      const kept = this.spread && adds(measure) ? this.keptMass(weights, row) || 1 : 1;
      for (const [column, keys] of columns.entries()) {
        let total = 0;
        for (const query of queries) for (const key of keys) total += values[query * this.size[1] + key];
        shown[row * columns.length + column] = total / queries.length / kept;
      }
    }
    return shown;
  }

  /**
   * The share of a row's weight on shown columns; NaN if the row has no weight.
   * @param {Float32Array} weights
   * @param {number} row
   */
  keptMass(weights, row) {
    const queries = this.groups[0][row];
    let [kept, all] = [0, 0];
    for (const query of queries) {
      const own = weights.subarray(query * this.size[1], (query + 1) * this.size[1]);
      for (const value of own) all += value;
      for (const keys of this.groups[1]) for (const key of keys) kept += own[key];
    }
    return kept / all;
  }

  /**
   * The share of a head's weight on hidden columns, averaged over rows with any weight; 0 if no column is hidden or
   * the weights are missing.
   * @param {Float32Array | null} weights between tokens
   */
  hiddenShare(weights) {
    if (this.isPlain || !weights) return 0;
    const kept = this.groups[0].map((_, row) => this.keptMass(weights, row)).filter(Number.isFinite);
    return kept.length ? 1 - sum(kept) / kept.length : 0;
  }

  /** @param {Choice["measure"]} measure @param {number} layer @param {number} head */
  #tokenValues(measure, layer, head) {
    const { run, attn } = this;
    if (measure === "weights") return run.weights(attn, layer, head);
    if (measure === "scores") return run.scores(attn, layer, head);
    if (measure === "masked") {
      const scores = run.scores(attn, layer, head);
      const closed = run.closed(attn, layer);
      return scores?.map((score, cell) => (closed[cell] ? -Infinity : score)) ?? null;
    }
    const [weights, lengths] = [run.weights(attn, layer, head), run.lengths(attn, layer, head)];
    return weights && lengths && weights.map((weight, cell) => weight * lengths[cell % lengths.length]);
  }

  /**
   * The lowest and highest open number.
   * @param {Float32Array} values of this sheet
   * @param {number} layer
   */
  extremesOf(values, layer) {
    const known = this.#extremes.get(values) ?? extremes(values, this.closed(layer));
    this.#extremes.set(values, known);
    return known;
  }

  /**
   * The row and column that show a cell between tokens; null if it is hidden.
   * @param {import("./choice.js").Cell | null} cell
   * @returns {[number, number] | null}
   */
  place(cell) {
    if (!cell) return null;
    const at = cell.map((position, axis) => this.groups[axis].findIndex((own) => own.includes(position)));
    return at.includes(-1) ? null : /** @type {[number, number]} */ (at);
  }

  /**
   * The first tokens of a row and of a column.
   * @param {readonly [number, number]} place
   * @returns {[number, number]}
   */
  tokens([row, column]) {
    return [this.groups[0][row][0], this.groups[1][column][0]];
  }
}

/**
 * The tokens of each row or column.
 * @param {import("./run.js").Side} side
 * @param {Choice} choice
 * @returns {number[][]}
 */
function groupsOf({ tokens, special, punctuation, words, word_of }, choice) {
  /** @type {number[][]} */
  const groups = [];
  for (const position of tokens.keys()) {
    const group = choice.by === "word" && word_of && words ? word_of[position] : groups.length;
    groups[group] = [...(groups[group] ?? []), position];
  }
  if (choice.special === "keep") return groups;
  const hidden = new Set([...special, ...punctuation]);
  const kept = groups.filter((own) => !own.every((position) => hidden.has(position)));
  return kept.length ? kept : groups;
}

/**
 * @param {import("./run.js").Side} side
 * @param {number[][]} groups
 * @param {boolean} byWord
 * @param {boolean} written
 */
function labelsOf({ tokens, words, word_of, written: next }, groups, byWord, written) {
  return groups.map((own) => {
    // A word's tokens are written by several steps; together they name the row.
    if (written) return own.map((position) => next[position] ?? "").join("") || NOTHING;
    return byWord && words && word_of ? words[word_of[own[0]]] : tokens[own[0]];
  });
}

/** @param {import("./run.js").Side} side @param {number[][]} groups @param {boolean} byWord */
const numbersOf = ({ word_of }, groups, byWord) =>
  groups.map(([first]) => (byWord && word_of ? word_of[first] : first));

/** @param {string} read @param {string} written */
const roles = (read, written) =>
  `reads ${quoted(read)}, writes ${written === NOTHING ? "nothing" : quoted(written)}`;
