// @ts-check
// The numbers of one cell, as far as the browser has them. Null means pending, or unknown for this attention.

import { dotProduct, softmaxRow } from "./arithmetic.js";
import { Sources } from "./sources.js";

/** @typedef {import("../panels.js").Scene} Scene */
/** @typedef {ReturnType<typeof factsOf>} Facts */

/** @param {Scene} scene */
export function factsOf({ run, attn, choice, sheet, cell }) {
  const { layer, head } = choice;
  const [query, key] = cell;
  const width = sheet.size[1];
  /** @template {Float32Array | Uint8Array} Values @param {Values | null} values @returns {Values | null} */
  const row = (values) =>
    values && /** @type {Values} */ (values.subarray(query * width, (query + 1) * width));
  const closed = /** @type {Uint8Array} */ (row(run.closed(attn, layer)));
  const weights = row(run.weights(attn, layer, head));
  const scores = row(run.scores(attn, layer, head));
  const vectors = vectorsOf(run, attn, layer, head);
  const [q, k] = [vectors.row("q", query), vectors.row("k", key)];
  return {
    run,
    attn,
    layer,
    head,
    query,
    key,
    closed,
    reason: closed[key] ? attn.reasons[closed[key] - 1] : "",
    weights,
    weight: weights?.[key] ?? null,
    scores,
    score: scores?.[key] ?? null,
    softmax: scores && softmaxRow(scores, closed),
    vectors,
    q,
    k,
    product: q && k && dotProduct(q, k),
    sources: new Sources(attn, choice, sheet.size),
  };
}

/**
 * The vectors of a head; only those that every head has are requested.
 * @param {import("../run.js").ViewerRun} run
 * @param {import("../run.js").AttentionView} attn
 * @param {number} layer
 * @param {number} head
 */
function vectorsOf(run, attn, layer, head) {
  const piece = `vectors:${attn.name}:${layer}:${head}`;
  const areKnown = attn.has.includes("vectors") && (run.has(piece, "q") || !run.absent);
  const areHere = areKnown && run.array(piece, "q") !== null;
  const has = (/** @type {string} */ name) => areHere && run.has(piece, name);
  return {
    areKnown,
    areHere,
    has,
    /** @param {string} name @param {number} position @returns {Float32Array | null} */
    row: (name, position) => (has(name) ? run.vector(attn, layer, head, name, position) : null),
    /** All rows of a vector. @param {string} name @returns {Float32Array | null} */
    all: (name) => (has(name) ? run.array(piece, name) : null),
  };
}

/** A token by its position. @param {Facts} facts @param {"queries" | "keys"} axis @param {number} position */
export const tokenOf = ({ run, attn }, axis, position) => run.sides[attn[axis]].tokens[position];
