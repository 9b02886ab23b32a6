// @ts-check
// A run as far as the browser holds it, with the names of viz/viewer/frames.py. Missing pieces are requested by name.

import { CLOSED, valueAt } from "./grid/pixels.js";

/** @typedef {"encoder" | "decoder" | "cross"} AttentionName */
/** @typedef {"encoder" | "decoder"} Stack */

/**
 * One attention, with all its layers and heads.
 * @typedef {object} AttentionView
 * @property {AttentionName} name
 * @property {string} label
 * @property {Stack} queries the stack whose tokens look
 * @property {Stack} keys the stack whose tokens are looked at
 * @property {number} layers
 * @property {number} heads
 * @property {number} kv_heads
 * @property {string} path a layer's module, with `{layer}` in place of its number
 * @property {string} formula of a score
 * @property {number} scale what q · k is divided by
 * @property {number} soft_cap c of c tanh(score / c); 0 for none
 * @property {string[]} reasons why cells are closed
 * @property {boolean} causal whether exactly the keys after each query are closed
 * @property {("scores" | "vectors" | "lengths" | "costs")[]} has what is known besides the weights
 * @property {[layer: number, head: number]} easiest the head that is easiest to read
 * @property {number[][]} resting the share of attention that special tokens get, by layer and head
 */

/**
 * A stack's input.
 * @typedef {object} Side
 * @property {string[]} tokens
 * @property {number[]} special positions of special tokens
 * @property {number[]} punctuation positions of punctuation
 * @property {string[] | null} words
 * @property {number[] | null} word_of the word that each token is part of
 * @property {(string | null)[]} written the token written after reading each token; empty for a stack that writes
 *   nothing
 * @property {string[]} spelled the text that each token written adds to the output
 * @property {(import("../shared/controls.js").Predicted | null)[]} predicted the best tokens at each position
 */

/**
 * The viewer's first message.
 * @typedef {object} RunFrame
 * @property {string} run identifies the run
 * @property {string} channel
 * @property {string} unit
 * @property {boolean} whole whether pictures of all heads use all weights, here or requested as soon as pooled maps
 *   are not enough
 * @property {number} pooled the most pixels per side of a map pooled by Python
 * @property {string[]} rounded arrays of weights stored in steps: see viz/viewer/contents.py
 * @property {string} absent the text in place of a piece that is never available; "" if pieces can be requested
 * @property {Record<Stack, Side>} sides
 * @property {AttentionView[]} attentions
 * @property {string[]} others runs to compare it with
 * @property {string[]} views that are offered; see choice.js
 * @property {boolean} grid whether all heads are shown at a glance
 * @property {boolean} detail whether the arithmetic of a cell is shown
 * @property {import("./output.js").Output} [output] shown above the pictures
 * @property {import("./output.js").Why} [why] the words that a page can be asked about
 * @property {Partial<Record<string, string>>} [look_for] what to look for in each attention
 * @property {Record<string, import("./cell/step.js").Link>} [terms] those that are explained where they stand
 */

/** Arrays of a head's vectors with one row per query; the others have one per key. */
const OF_QUERIES = ["q", "q_unrotated", "q_unnormed", "z", "bias"];
/** Steps of rounded weights from 0 to 1: two per unit of the fourth decimal. */
const STEPS = 20_000;
/** The note on rounded weights. */
export const ROUNDED = "rounded to 4 decimals";

export class ViewerRun {
  /** Pieces that were needed and are missing. @type {Set<string>} */
  missing = new Set();
  /** @type {Map<string, any>} */
  #arrays = new Map();
  /** @type {Map<string, Float32Array>} */
  #rough = new Map();
  /** Pieces that were answered: they are here, or do not exist. @type {Set<string>} */
  #answered = new Set();
  /** Arrays that are not exact. @type {Set<string>} */
  #rounded = new Set();

  /** @param {RunFrame & Record<string, any>} frame */
  constructor(frame) {
    const { run, unit, whole, pooled, sides, attentions, others, views, grid, absent, terms } = frame;
    this.id = run;
    this.unit = unit;
    this.whole = whole;
    this.pooledSide = pooled;
    this.sides = sides;
    this.attentions = attentions;
    this.others = others;
    this.views = views;
    this.hasGrid = grid;
    this.absent = absent;
    this.terms = terms ?? {};
    this.add(frame);
  }

  /** Take in a frame's arrays, which are named after their pieces. @param {Record<string, any>} frame */
  add(frame) {
    for (const name of frame.rounded ?? []) this.#rounded.add(name);
    for (const [name, value] of Object.entries(frame)) {
      if (!ArrayBuffer.isView(value)) continue;
      this.#arrays.set(name, frame.rounded?.includes(name) ? unrounded(/** @type {any} */ (value)) : value);
    }
    for (const piece of [...(frame.pieces ?? []), ...(frame.none ?? [])]) this.#answered.add(piece);
  }

  /** The attention of a name; where the run lacks it, the cross-attention or else the first. @param {string} name */
  attn(name) {
    const named = (/** @type {string} */ wanted) => this.attentions.find((attn) => attn.name === wanted);
    return named(name) ?? named("cross") ?? this.attentions[0];
  }

  /** How many queries and keys a attn has. @param {AttentionView} attn @returns {[number, number]} */
  size(attn) {
    return [this.sides[attn.queries].tokens.length, this.sides[attn.keys].tokens.length];
  }

  /**
   * The number of the reason why each cell is closed in a layer; 0 for open cells.
   * @param {AttentionView} attn
   * @param {number} layer
   */
  closed(attn, layer) {
    const name = `closed:${attn.name}`;
    const own = this.#arrays.get(`${name}:${layer}`);
    const codes = own ?? this.#arrays.get(name) ?? codesOf(attn.causal, this.size(attn));
    if (!own) this.#arrays.set(name, codes);
    return /** @type {Uint8Array} */ (codes);
  }

  /**
   * An array of a piece; null if the piece is missing, which is noted.
   * @param {string} piece
   * @param {string} name
   * @returns {any}
   */
  array(piece, name) {
    const found = this.#arrays.get(`${piece}/${name}`);
    if (!found && !this.#answered.has(piece)) this.missing.add(piece);
    return found ?? null;
  }

  /** Whether there is no such array: its piece was answered without it. @param {string} piece @param {string} name */
  lacks(piece, name) {
    return this.#answered.has(piece) && !this.has(piece, name);
  }

  /** Whether an array is here. @param {string} piece @param {string} name */
  has(piece, name) {
    return this.#arrays.has(`${piece}/${name}`);
  }

  /**
   * The weights of a head, row after row.
   * @param {AttentionView} attn
   * @param {number} layer
   * @param {number} head
   * @returns {Float32Array | null}
   */
  weights(attn, layer, head) {
    return this.#cells(attn, layer, head, "weights");
  }

  /**
   * The scores of a head before the mask; null also if they are unknown.
   * @param {AttentionView} attn
   * @param {number} layer
   * @param {number} head
   * @returns {Float32Array | null}
   */
  scores(attn, layer, head) {
    return attn.has.includes("scores") ? this.#cells(attn, layer, head, "scores") : null;
  }

  /**
   * A note on the precision of a head's numbers; "" if they are exact.
   * @param {AttentionView} attn
   * @param {number} layer
   * @param {number} head
   */
  precision({ name }, layer, head) {
    const own = `head:${name}:${layer}:${head}/weights`;
    return this.#rounded.has(this.#arrays.has(own) ? own : `weights:${name}/values`) ? ROUNDED : "";
  }

  /**
   * About the weights of a head, from its map of one byte per cell: for colours only, until the weights are here.
   * @param {AttentionView} attn
   * @param {number} layer
   * @param {number} head
   * @returns {Float32Array | null} null if there is no such map, or if it shows several cells by one byte
   */
  rough(attn, layer, head) {
    const [queries, keys] = this.size(attn);
    const piece = `pooled:${attn.name}`;
    if (Math.max(queries, keys) > this.pooledSide || !this.has(piece, "levels")) return null;
    const name = `${piece}:${layer}:${head}`;
    if (!this.#rough.has(name)) {
      const map = layer * attn.heads + head;
      const levels = this.array(piece, "levels").subarray(map * queries * keys, (map + 1) * queries * keys);
      const [low, high] = ["low", "high"].map((end) => this.array(piece, end)[map]);
      const weight = (/** @type {number} */ level) => (level === CLOSED ? 0 : valueAt(level, low, high));
      this.#rough.set(name, Float32Array.from(levels, weight));
    }
    return /** @type {Float32Array} */ (this.#rough.get(name));
  }

  /** Whether the weights of all heads are here. @param {AttentionView} attn */
  hasAll(attn) {
    return this.has(`weights:${attn.name}`, "values");
  }

  /** Whether the weights of a head are here. @param {AttentionView} attn @param {number} layer @param {number} head */
  hasHead(attn, layer, head) {
    return this.hasAll(attn) || this.has(`head:${attn.name}:${layer}:${head}`, "weights");
  }

  /** @param {AttentionView} attn @param {number} layer @param {number} head @param {string} name */
  #cells(attn, layer, head, name) {
    const own = `${name === "scores" ? "head_scores" : "head"}:${attn.name}:${layer}:${head}`;
    const ofAll = `${name}:${attn.name}`;
    // A file may hold a few heads exactly, in addition to all of them rounded.
    if (!this.has(ofAll, "values") || this.has(own, name)) return this.array(own, name);
    const all = this.array(ofAll, "values");
    const [queries, keys] = this.size(attn);
    const at = (layer * attn.heads + head) * queries * keys;
    return all.subarray(at, at + queries * keys);
  }

  /**
   * The length of each key's value vector after W_O, in a head.
   * @param {AttentionView} attn
   * @param {number} layer
   * @param {number} head
   * @returns {Float32Array | null}
   */
  lengths(attn, layer, head) {
    if (!attn.has.includes("lengths")) return null;
    const all = this.array(`lengths:${attn.name}`, "values");
    const [, keys] = this.size(attn);
    const at = (layer * attn.heads + head) * keys;
    return all?.subarray(at, at + keys) ?? null;
  }

  /**
   * A vector of a head: a row of q, k, v, z or moved.
   * @param {AttentionView} attn
   * @param {number} layer
   * @param {number} head
   * @param {string} name
   * @param {number} position
   * @returns {Float32Array | null}
   */
  vector(attn, layer, head, name, position) {
    if (!attn.has.includes("vectors")) return null;
    const all = this.array(`vectors:${attn.name}:${layer}:${head}`, name);
    if (!all) return null;
    const [queries, keys] = this.size(attn);
    const count = OF_QUERIES.includes(name) ? queries : keys;
    const width = all.length / count;
    return all.subarray(position * width, (position + 1) * width);
  }
}

/**
 * Which cells are closed where no array says it: none, or those of later keys.
 * @param {boolean} isCausal
 * @param {[number, number]} size
 */
function codesOf(isCausal, [queries, keys]) {
  const codes = new Uint8Array(queries * keys);
  for (let row = 0; isCausal && row < queries; row++) codes.fill(1, row * keys + row + 1, (row + 1) * keys);
  return codes;
}

/**
 * Weights from their steps: the middle of each step.
 * @param {Uint16Array} steps
 */
function unrounded(steps) {
  return Float32Array.from(steps, (step) => (step ? Math.min(1, (step + 0.5) / STEPS) : 0));
}

/** The path of a layer's module in the model. @param {AttentionView} attn @param {number} layer */
export const pathOf = (attn, layer) => attn.path.replace("{layer}", String(layer));
