// @ts-check
// Names the tensors that numbers come from: path in the model's trace, index, and shape.

import { pathOf } from "../run.js";

/** @param {readonly (number | string)[]} numbers */
const inBrackets = (numbers) => `[${numbers.join(", ")}]`;
/** @param {readonly number[]} sizes */
const inParentheses = (sizes) => `(${sizes.join(", ")})`;

export class Sources {
  /**
   * @param {import("../run.js").AttentionView} attn
   * @param {import("../choice.js").Choice} choice
   * @param {readonly [number, number]} size queries and keys
   */
  constructor(attn, { layer, head }, [queries, keys]) {
    const { heads, kv_heads } = attn;
    this.path = pathOf(attn, layer);
    this.layer = layer;
    this.head = head;
    this.heads = heads;
    this.queries = queries;
    this.keys = keys;
    this.kv_heads = kv_heads;
    /** The head of keys and values that serves this head. */
    this.kv_head = kv_heads ? Math.floor(head / (heads / kv_heads)) : head;
  }

  /**
   * A number of a query and a key, or a row of them.
   * @param {string} name
   * @param {number} query
   * @param {number | string} key
   */
  cell(name, query, key) {
    const { path, layer, head, heads, queries, keys } = this;
    if (!path)
      return `${name} of layer ${layer} ${inBrackets([head, query, key])} of ${inParentheses([heads, queries, keys])}`;
    return `${path}.${name} ${inBrackets([0, head, query, key])} of ${inParentheses([1, heads, queries, keys])}`;
  }

  /** @param {number} query @param {number} key */
  mask(query, key) {
    const shape = inParentheses([1, 1, this.queries, this.keys]);
    return `${this.path}.mask ${inBrackets([0, 0, query, key])}, broadcast to ${shape}`;
  }

  /**
   * A query's vector, or one of its numbers.
   * @param {string} name
   * @param {number} query
   * @param {number} width
   * @param {number | string} at
   */
  ofQuery(name, query, width, at = ":") {
    const { path, head, heads, queries } = this;
    return `${path}.${name} ${inBrackets([0, head, query, at])} of ${inParentheses([1, heads, queries, width])}`;
  }

  /**
   * A key's vector, or one of its numbers.
   * @param {string} name
   * @param {number} key
   * @param {number} width
   * @param {number | string} at
   */
  ofKey(name, key, width, at = ":") {
    const { path, kv_head, kv_heads, keys } = this;
    return `${path}.${name} ${inBrackets([0, kv_head, key, at])} of ${inParentheses([1, kv_heads, keys, width])}`;
  }

  /**
   * This head's columns of W_O, or a row of them.
   * @param {number} width of the head
   * @param {number} out W_O's output size
   * @param {number | string} at
   */
  output(width, out, at = ":") {
    const columns = `${this.head * width}:${(this.head + 1) * width}`;
    return `${this.path}.w_o.weight ${inBrackets([at, columns])} of ${inParentheses([out, this.heads * width])}`;
  }
}
