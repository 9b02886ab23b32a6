// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { pattern, reading } from "../../viz/components/attention/reading.js";
import { ViewerRun } from "../../viz/components/attention/run.js";

const WORDS = ["the", "black", "cat", "slept", "<eos>"];

/**
 * A head of five queries and five keys, the last of which is special.
 * @param {number[][]} rows
 * @param {{queries?: string, resting?: number}} [about]
 * @returns {any} a scene
 */
function scene(rows, { queries = "decoder", resting = 0 } = {}) {
  const side = { tokens: WORDS, special: [4], punctuation: [] };
  const attn = { name: "own", queries, keys: "encoder", layers: 1, heads: 1, resting: [[resting]] };
  const weights = Float32Array.from(rows.flat());
  const sides = { encoder: side, decoder: side };
  const run = new ViewerRun(
    /** @type {any} */ ({ unit: "word", sides, attentions: [attn], "weights:own/values": weights }),
  );
  return { run, attn, choice: { layer: 0, head: 0 } };
}

/** Each row has this weight on one key, and the rest shared by the others. @param {number[]} keys @param {number} weight */
const mostly = (keys, weight) =>
  keys.map((key) => WORDS.map((_, i) => (i === key ? weight : (1 - weight) / (WORDS.length - 1))));

/** @param {ReturnType<typeof scene>} of */
function said(of) {
  const found = reading(of);
  assert.ok(found);
  return pattern(found, of)
    .replace(/[\u2068\u2069]/g, "")
    .replaceAll("\u00a0", " ");
}

test("a head that rests on a special token names it, with the share that Python counted", () => {
  const of = scene(mostly([4, 4, 4, 4, 4], 0.8), { resting: 0.775 });
  assert.match(said(of), /^This head mostly rests on “<eos>”: 77\.5 % of its attention/);
});

test("a head that looks at one distance says which", () => {
  const own = { queries: "encoder" };
  assert.match(said(scene(mostly([0, 1, 2, 3, 4], 0.8), own)), /looks at the word itself: 80\.0 %/);
  assert.match(said(scene(mostly([0, 0, 1, 2, 3], 0.9), own)), /looks at what is one word back: 72\.0 %/);
  assert.match(said(scene(mostly([2, 3, 4, 4, 4], 0.96), own)), /looks at what is 2 words ahead: 57\.6 %/);
  const crossed = scene(mostly([0, 1, 2, 3, 4], 0.8));
  assert.match(said(crossed), /aligns/, "between two sentences a diagonal is no distance");
});

test("a head that looks at one word from every row names it", () => {
  assert.match(said(scene(mostly([1, 1, 1, 1, 1], 0.7))), /at “black”, whatever the row: 70\.0 %/);
});

test("a head that looks everywhere says over how many tokens", () => {
  assert.match(said(scene(mostly([0, 1, 2, 3, 0], 0.2))), /divides it among about 5 of 5 tokens/);
});

test("a head whose rows look at different words aligns the two sentences", () => {
  assert.match(said(scene(mostly([1, 0, 2, 3, 4], 0.8))), /aligns the two sentences/);
});

test("rows that look here and there form no path", () => {
  assert.match(said(scene(mostly([3, 0, 3, 0, 2], 0.8))), /looks at few tokens at a time/);
});

test("of other heads the largest weight of a row is said", () => {
  const few = scene(mostly([0, 0, 1, 1, 4], 0.6), { queries: "encoder" });
  assert.match(said(few), /looks at few tokens at a time: the largest weight of a row is 0\.60/);
  assert.match(said(few), /The largest part, 30\.0 %, goes to the word itself\.$/);
  const crossed = scene(mostly([3, 0, 3, 0, 2], 0.8));
  assert.match(said(crossed), /The largest part, [\d.]+ %, goes to “/);
});

test("the strongest cells are those of ordinary words, the largest first", () => {
  const rows = mostly([4, 2, 1, 0, 3], 0.5);
  rows[2] = [0.1, 0.9, 0, 0, 0];
  const pairs = reading(scene(rows))?.pairs.map(([query, key]) => [query, key]);
  assert.deepEqual(pairs, [
    [2, 1],
    [1, 2],
    [3, 0],
    [4, 3],
  ]);
});

test("nothing is said before the weights are here", () => {
  const of = scene([]);
  of.run = new ViewerRun(/** @type {any} */ ({ sides: of.run.sides, attentions: [of.attn] }));
  assert.equal(reading(of), null);
  assert.deepEqual([...of.run.missing], ["head:own:0:0"]);
});
