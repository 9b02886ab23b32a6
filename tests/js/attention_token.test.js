// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { ViewerRun } from "../../viz/components/attention/run.js";
import { choosing, chosenIn, keptCell, strongestOther } from "../../viz/components/attention/token.js";

// One layer of two heads, 2 source tokens, 3 target tokens.
const ENCODER = [0.9, 0.1, 0.2, 0.8];
const DECODER = [1, 0, 0, 0.7, 0.3, 0, 0.1, 0.6, 0.3];
const CROSS = [0.4, 0.6, 0.3, 0.7, 0.8, 0.2];
/** @param {string} name @param {string} queries @param {string} keys */
const attention = (name, queries, keys) => ({ name, queries, keys, layers: 1, heads: 2 });
/** Both heads; the second has its rows' weights in reverse. @param {number[]} weights @param {number} keys */
const both = (weights, keys) => {
  const rows = Array.from({ length: weights.length / keys }, (_, i) =>
    weights.slice(i * keys, (i + 1) * keys),
  );
  return Float32Array.from([...weights, ...rows.flatMap((row) => row.toReversed())]);
};
const run = new ViewerRun(
  /** @type {any} */ ({
    sides: { encoder: { tokens: ["the", "cat"] }, decoder: { tokens: ["<bos>", "il", "gatto"] } },
    attentions: [
      attention("encoder", "encoder", "encoder"),
      attention("decoder", "decoder", "decoder"),
      attention("cross", "decoder", "encoder"),
    ],
    "weights:encoder/values": both(ENCODER, 2),
    "weights:decoder/values": both(DECODER, 3),
    "weights:cross/values": both(CROSS, 2),
  }),
);
/** @param {object} chosen @returns {any} */
const choice = (chosen) => ({ layer: 0, head: 0, cell: null, families: "all", ...chosen });

test("a query looks most at a key, and a key is looked at most by a query", () => {
  const cross = run.attn("cross");
  assert.equal(strongestOther(run, cross, choice({}), 1, true), 1);
  assert.equal(strongestOther(run, cross, choice({}), 1, false), 1);
  assert.equal(strongestOther(run, cross, choice({ head: 1 }), 1, false), 2);
  const far = choice({ layer: 7, head: 7 });
  assert.equal(strongestOther(run, cross, far, 1, false), 2, "a head that it lacks is its last");
});

test("a token is a row where it looks, and a column where it is only looked at", () => {
  const cross = choice({ attention: "cross" });
  assert.deepEqual(choosing(run, cross, { stack: "decoder", position: 2 }), {
    attention: "cross",
    cell: [2, 0],
    locked: [1, 2],
  });
  assert.deepEqual(choosing(run, cross, { stack: "encoder", position: 0 }), {
    attention: "cross",
    cell: [2, 0],
    locked: [0, 0],
  });
});

test("a token that an attention lacks is chosen in one in which it looks", () => {
  const source = choosing(run, choice({ attention: "decoder" }), { stack: "encoder", position: 1 });
  assert.deepEqual([source.attention, source.cell], ["encoder", [1, 1]]);
  const target = choosing(run, choice({ attention: "encoder" }), { stack: "decoder", position: 1 });
  assert.deepEqual([target.attention, target.cell], ["cross", [1, 1]]);
});

test("among the lines of one attention, the column of its queries comes first", () => {
  const one = choice({ attention: "cross", families: "one" });
  assert.deepEqual(choosing(run, one, { stack: "decoder", position: 2 }).locked, [0, 2]);
  assert.deepEqual(choosing(run, one, { stack: "encoder", position: 1 }).locked, [1, 1]);
});

test("a chosen cell has a token in each stack of its attention", () => {
  const chosen = choice({ attention: "cross", cell: [2, 1] });
  assert.deepEqual([chosenIn(run, chosen, "decoder"), chosenIn(run, chosen, "encoder")], [2, 1]);
  assert.equal(chosenIn(run, choice({ attention: "decoder", cell: [2, 1] }), "encoder"), null);
  assert.equal(chosenIn(run, choice({ attention: "cross" }), "decoder"), null, "no cell is chosen");
});

test("another head keeps the cell, another attention of the same queries keeps the row", () => {
  const before = choice({ attention: "cross", cell: [2, 1] });
  assert.deepEqual(keptCell(run, before, { ...before, head: 1 }), [2, 1]);
  assert.deepEqual(keptCell(run, before, { ...before, attention: "decoder" }), [2, 1]);
  assert.deepEqual(keptCell(run, before, { ...before, attention: "decoder", head: 1 }), [2, 1]);
  assert.equal(keptCell(run, before, { ...before, attention: "encoder" }), null);
  const row = choice({ attention: "decoder", cell: [0, 2] });
  assert.deepEqual(keptCell(run, row, { ...row, attention: "cross" }), [0, 1], "its strongest key there");
});
