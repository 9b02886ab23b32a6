// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { entropy, samplingDistribution, softmax } from "../../viz/components/next_tokens/distribution.js";

const LOGITS = [Math.log(0.5), Math.log(0.3), Math.log(0.15), Math.log(0.05)];
const AS_TRAINED = { temperature: 1, top_k: 0, top_p: 1 };

/** @param {number[]} found @param {number[]} expected */
function close(found, expected) {
  assert.equal(found.length, expected.length);
  for (const [i, x] of expected.entries())
    assert.ok(Math.abs(found[i] - x) < 1e-9, `${found} is not ${expected}`);
}

test("softmax survives large logits", () => {
  close(softmax([1000, 1000]), [0.5, 0.5]);
  close(softmax(LOGITS), [0.5, 0.3, 0.15, 0.05]);
});

test("as trained, nothing is cut off", () => {
  const { probabilities, kept, nucleus, cutByK, cutByP } = samplingDistribution(LOGITS, AS_TRAINED);
  close(probabilities, [0.5, 0.3, 0.15, 0.05]);
  assert.deepEqual([kept, nucleus], [4, 4]);
  close([cutByK, cutByP], [0, 0]);
});

test("top-k keeps the best k, top-p the fewest that hold p of these", () => {
  const byK = samplingDistribution(LOGITS, { ...AS_TRAINED, top_k: 2 });
  close(byK.probabilities, [0.625, 0.375, 0, 0]);
  close([byK.cutByK], [0.2]);
  const byP = samplingDistribution(LOGITS, { ...AS_TRAINED, top_p: 0.79 });
  close(byP.probabilities, [0.625, 0.375, 0, 0]);
  close([byP.cutByP], [0.2]);
  const both = samplingDistribution(LOGITS, { ...AS_TRAINED, top_k: 2, top_p: 0.6 });
  assert.equal(both.nucleus, 1, "0.625 of what top-k left is enough");
});

test("temperature comes first", () => {
  close(samplingDistribution(LOGITS, { ...AS_TRAINED, temperature: 0.5, top_k: 2 }).probabilities, [
    25 / 34,
    9 / 34,
    0,
    0,
  ]);
});

test("entropy is in bits", () => {
  close([entropy([0.25, 0.25, 0.25, 0.25]), entropy([1, 0]) + 0], [2, 0]);
});
