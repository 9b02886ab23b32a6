// @ts-check
// The user's choice in the viewer, and the nearest choice that another run allows.

import { clamp } from "../shared/numbers.js";
import { ordersOf } from "./grid/order.js";

/** @typedef {import("./run.js").ViewerRun} ViewerRun */
/** @typedef {import("./run.js").AttentionView} AttentionView */
/** @typedef {[query: number, key: number]} Cell positions of tokens */
/** @typedef {"weights" | "scores" | "masked" | "moved"} Measure */

/**
 * @typedef {object} Choice
 * @property {string} view "head", "layer", "map" or "token"
 * @property {string} attention
 * @property {number} layer
 * @property {number} head
 * @property {Cell | null} cell
 * @property {Measure} measure
 * @property {"token" | "word"} by what each row and column stands for
 * @property {"read" | "written"} rows which token names a decoder's row
 * @property {"keep" | "hide" | "spread"} special how to treat special tokens and punctuation
 * @property {string} against what the head is compared with: "", another run's name, or "head 3"
 * @property {number} mass percent of each row's attention that lines show
 * @property {number[] | null} heads the heads whose lines are drawn; null for all
 * @property {"one" | "all"} families whether the lines are of the chosen attention or all of the run
 * @property {import("./map/links.js").Token | null} locked the token locked among the lines
 * @property {string} sort the grid's order: "layer" or a score
 */

/** @type {Record<string, string>} */
export const VIEWS = { head: "One head", layer: "All heads", map: "Lines", token: "One token" };
/** @type {Record<Measure, string>} */
export const MEASURES = {
  weights: "Weights",
  scores: "Raw scores",
  masked: "Scores after the mask",
  moved: "Moved",
};

/**
 * The measures that an attention has.
 * @param {AttentionView} attn
 * @returns {Measure[]}
 */
export function measuresOf({ has }) {
  const scores = has.includes("scores") ? /** @type {Measure[]} */ (["scores", "masked"]) : [];
  return ["weights", ...scores, ...(has.includes("lengths") ? /** @type {Measure[]} */ (["moved"]) : [])];
}

/**
 * The nearest choice that a run allows.
 * @param {Choice} choice
 * @param {ViewerRun} run
 * @returns {Choice}
 */
export function possible(choice, run) {
  const attn = run.attn(choice.attention);
  const [queries, keys] = run.size(attn);
  const { cell, locked } = choice;
  const most = Math.max(...Object.values(run.sides).map(({ tokens }) => tokens.length));
  const heads = choice.heads?.filter((head) => head < attn.heads);
  const measure = measuresOf(attn).includes(choice.measure) ? choice.measure : "weights";
  return {
    ...choice,
    attention: attn.name,
    layer: clamp(choice.layer, 0, attn.layers - 1),
    head: clamp(choice.head, 0, attn.heads - 1),
    cell: cell && cell[0] < queries && cell[1] < keys ? cell : null,
    measure,
    by: hasWords(run, attn) && adds(measure) ? choice.by : "token",
    against: againstOf(run, attn).includes(choice.against) ? choice.against : "",
    sort: ordersOf(run, attn).includes(choice.sort) ? choice.sort : "layer",
    heads: heads?.length || !choice.heads?.length ? (heads ?? null) : null,
    families: choice.families === "one" ? "one" : "all",
    locked: locked && locked[0] < 2 && locked[1] < most ? locked : null,
  };
}

/** Whether the numbers of sub-words add up to those of words. @param {Measure} measure */
export const adds = (measure) => measure === "weights" || measure === "moved";

/** Whether the words are known and differ from the tokens. @param {ViewerRun} run @param {AttentionView} attn */
export const hasWords = (run, { queries, keys }) =>
  [queries, keys].every((stack) => run.sides[stack].words) &&
  [queries, keys].some((stack) => run.sides[stack].words?.length !== run.sides[stack].tokens.length);

/** What a head can be compared with; "" is nothing. @param {ViewerRun} run @param {AttentionView} attn */
export const againstOf = (run, attn) => [
  "",
  ...run.others,
  ...Array.from({ length: attn.heads > 1 ? attn.heads : 0 }, (_, head) => `head ${head}`),
];
