// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { ROUNDED, ViewerRun } from "../../viz/components/attention/run.js";
import { bytesOf, unshuffled, unzipped } from "../../viz/components/attention_page/unpack.js";

test("the bytes of each element are put together again", () => {
  const plain = Float32Array.of(1.5, -Infinity, 3e-9);
  const bytes = new Uint8Array(plain.buffer);
  const order = [0, 1, 2, 3].flatMap((place) => [0, 1, 2].map((i) => bytes[4 * i + place]));
  assert.deepEqual(unshuffled(new Float32Array(Uint8Array.from(order).buffer)), plain);
  assert.deepEqual(unshuffled(Uint8Array.of(3, 1, 2)), Uint8Array.of(3, 1, 2));
});

test("a block is read and unpacked", async () => {
  const { gzipSync } = await import("node:zlib");
  const packed = gzipSync(Uint8Array.of(0, 255, 7)).toString("base64");
  assert.deepEqual(await unzipped(bytesOf(packed)), Uint8Array.of(0, 255, 7));
});

const ATTENTION = /** @type {any} */ ({
  name: "cross",
  queries: "decoder",
  keys: "encoder",
  layers: 1,
  heads: 2,
  has: ["scores"],
});

/**
 * One query, two keys, two heads, of which the last may be there as it was computed too.
 * @param {number[]} steps of both heads
 * @param {Record<string, Float32Array>} exact
 */
const held = (steps, exact = {}) =>
  new ViewerRun(
    /** @type {any} */ ({
      whole: true,
      absent: "not here",
      sides: { encoder: { tokens: ["a", "b"] }, decoder: { tokens: ["c"] } },
      attentions: [ATTENTION],
      rounded: ["weights:cross/values"],
      "weights:cross/values": Uint16Array.from(steps),
      ...exact,
    }),
  );

test("rounded weights are the middles of their steps, from 0 to 1", () => {
  const run = held([0, 20_000, 3, 4]);
  assert.deepEqual(run.weights(ATTENTION, 0, 0), Float32Array.of(0, 1));
  assert.deepEqual(run.weights(ATTENTION, 0, 1), Float32Array.of(3.5 / 20_000, 4.5 / 20_000));
  assert.equal(run.precision(ATTENTION, 0, 0), ROUNDED);
});

test("the middle of a step rounds like all numbers in it, to any decimals", () => {
  const [below, above] = held([2_499, 2_500, 0, 0]).weights(ATTENTION, 0, 0) ?? [];
  assert.deepEqual([below.toFixed(2), above.toFixed(2)], ["0.12", "0.13"]);
  assert.deepEqual([below.toFixed(4), above.toFixed(4)], ["0.1250", "0.1250"]);
});

test("exact numbers are preferred, and absent ones are noted as missing", () => {
  const run = held([0, 20_000, 2_499, 17_500], {
    "head:cross:0:1/weights": Float32Array.of(0.125, 0.875),
    "head_scores:cross:0:1/scores": Float32Array.of(-1, 1),
  });
  assert.deepEqual(run.weights(ATTENTION, 0, 1), Float32Array.of(0.125, 0.875));
  assert.equal(run.precision(ATTENTION, 0, 1), "");
  assert.deepEqual(run.scores(ATTENTION, 0, 1), Float32Array.of(-1, 1));
  assert.equal(run.scores(ATTENTION, 0, 0), null);
  assert.deepEqual([...run.missing], ["head_scores:cross:0:0"]);
});

test("where no array says which cells are closed, none is, or those of later keys", () => {
  const run = held([0, 0, 0, 0]);
  assert.deepEqual([...run.closed(ATTENTION, 0)], [0, 0]);
  assert.deepEqual([...held([0, 0, 0, 0]).closed({ ...ATTENTION, causal: true }, 0)], [0, 1]);
});
