// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  dotProduct,
  lengthOf,
  rankOf,
  shareOf,
  shownKeys,
  softmaxRow,
  times,
  weightedSum,
  wordWeight,
} from "../../viz/components/attention/cell/arithmetic.js";
import { distance } from "../../viz/components/attention/cell/score.js";
import { Sources } from "../../viz/components/attention/cell/sources.js";
import { float32List, float32Text } from "../../viz/components/shared/float32.js";

/** The numbers whose bits are these. @param {number[]} bits */
const ofBits = (bits) => new Float32Array(Uint32Array.from(bits).buffer);

test("the text of a float32 reads back to the same number", () => {
  // Every exponent, with mantissas that differ in few and in many bits; subnormal numbers are those of exponent 0.
  const mantissas = [0, 1, 2, 3, 0x7fffff, 0x7ffffe, 0x400000, 0x2aaaaa, 0x555555, 0x123456, 0x6543ab];
  for (let exponent = 0; exponent < 255; exponent++) {
    for (const value of ofBits(
      mantissas.flatMap((m) => [m, m + 0x80000000].map((x) => x + exponent * 2 ** 23)),
    )) {
      const text = float32Text(value);
      assert.ok(Math.fround(Number(text)) === value, text);
    }
  }
});

test("the text of a float32 has no superfluous digit", () => {
  assert.equal(float32Text(0.1), "0.1");
  assert.equal(float32Text(Math.fround(1 / 3)), "0.33333334");
  assert.equal(float32Text(16777216), "16777216");
  assert.equal(float32Text(1.5e-39), "1.5e-39");
  assert.equal(float32Text(-0), "0");
  assert.deepEqual([-Infinity, Infinity, NaN].map(float32Text), ["-inf", "inf", "nan"]);
});

test("a vector is copied as a list that JSON reads", () => {
  const vector = Float32Array.of(0.1, -2.5, 1e-9, 3e20);
  assert.deepEqual(Float32Array.from(JSON.parse(float32List(vector))), vector);
});

test("the sums of a dot product end at the product", () => {
  const { terms, sums, total } = dotProduct(Float32Array.of(1, -2, 0.5), Float32Array.of(3, 4, 8));
  assert.deepEqual([...terms], [3, -8, 4]);
  assert.deepEqual([...sums], [3, -5, -1]);
  assert.equal(total, -1);
});

test("a softmax covers the open keys, whatever the closed ones score", () => {
  const row = softmaxRow(Float32Array.of(1, 900, 3, 2), Uint8Array.of(0, 1, 0, 0));
  assert.equal(row.strongest, 2);
  assert.equal(row.largest, 3);
  assert.deepEqual([...row.powers], [Math.exp(-2), 0, 1, Math.exp(-1)].map(Math.fround));
  assert.equal(row.total, Math.fround(row.powers[0] + row.powers[3] + 1));
});

test("large scores neither overflow nor differ from small ones", () => {
  const open = new Uint8Array(3);
  const far = softmaxRow(Float32Array.of(1001, 1003, 1002), open);
  assert.deepEqual(far.powers, softmaxRow(Float32Array.of(1, 3, 2), open).powers);
});

test("a row without an open key has no strongest key", () => {
  const { strongest, largest, total } = softmaxRow(Float32Array.of(1, 2), Uint8Array.of(1, 2));
  assert.deepEqual([strongest, largest, total], [-1, NaN, 0]);
});

test("a long row shows its heaviest keys and the chosen one", () => {
  const weights = Float32Array.of(0.1, 0.3, 0.05, 0.2, 0.3, 0.05);
  assert.deepEqual(shownKeys(weights, 2, 6), [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(shownKeys(weights, 3, 5), [1, 4, 3, 0]);
  assert.deepEqual(shownKeys(weights, 5, 5), [1, 4, 3, 5]);
  assert.deepEqual(
    [1, 4, 3, 0, 2].map((key) => rankOf(weights, key)),
    [1, 1, 3, 4, 5],
  );
});

test("the shares of all keys add up to the whole", () => {
  const weights = Float32Array.of(0.5, 0.25, 0.25);
  const moved = Float32Array.of(2, 0, 0, 4, -4, 8);
  const whole = weightedSum(weights, moved);
  assert.deepEqual([...whole], [0, 3]);
  const parts = [0, 1, 2].map((key) => times(moved.subarray(2 * key, 2 * key + 2), weights[key]));
  assert.deepEqual(
    parts.map((part) => shareOf(part, whole)),
    [0, 1 / 3, 2 / 3].map(Math.fround),
  );
  assert.equal(lengthOf(parts[2]), Math.fround(Math.sqrt(5)));
  assert.ok(Number.isNaN(shareOf(whole, new Float32Array(2))));
});

test("between words a key's parts add up and a query's are averaged", () => {
  const weights = Float32Array.of(0.1, 0.2, 0.7, 0.3, 0.3, 0.4, 0.5, 0.25, 0.25);
  const { sums, mean } = wordWeight(weights, [0, 2], [1, 2], 3);
  assert.deepEqual(sums, [0.9, 0.5].map(Math.fround));
  assert.equal(mean, Math.fround(0.7));
});

test("a number's source is an index and a shape, also in shared heads", () => {
  /** @type {any} */
  const attn = { path: "decoder.layers.{layer}.self_attn", heads: 6, kv_heads: 2 };
  /** @type {any} */
  const choice = { layer: 3, head: 4 };
  const sources = new Sources(attn, choice, [5, 7]);
  assert.equal(
    sources.cell("scores", 2, 6),
    "decoder.layers.3.self_attn.scores [0, 4, 2, 6] of (1, 6, 5, 7)",
  );
  assert.equal(sources.ofQuery("q", 2, 11), "decoder.layers.3.self_attn.q [0, 4, 2, :] of (1, 6, 5, 11)");
  assert.equal(sources.ofKey("k", 6, 11, 10), "decoder.layers.3.self_attn.k [0, 1, 6, 10] of (1, 2, 7, 11)");
  assert.equal(sources.output(11, 13), "decoder.layers.3.self_attn.w_o.weight [:, 44:55] of (13, 66)");
  const unknown = new Sources({ ...attn, path: "" }, choice, [5, 7]);
  assert.equal(unknown.cell("weights", 2, 6), "weights of layer 3 [4, 2, 6] of (6, 5, 7)");
});

test("a distance is described in words", () => {
  assert.equal(distance(0), "at the query's own position");
  assert.equal(distance(-1), "1 position before the query");
  assert.equal(distance(3), "3 positions after the query");
});
