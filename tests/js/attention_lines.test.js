// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { KEY, LinesLayout, QUERY } from "../../viz/components/attention_lines/layout.js";
import { Weights } from "../../viz/components/attention_lines/weights.js";

/** Two heads, two queries, three keys. */
const SHARES = [0.5, 0.2, 0.3, 0, 1, 0, 0.1, 0.1, 0.8, 1 / 3, 1 / 3, 1 / 3];
const weights = new Weights(
  Uint16Array.from(SHARES, (share) => Math.round(65535 * share)),
  [2, 3],
);

/** @param {number} head @param {number} query @param {number} share */
const keysOf = (head, query, share) => weights.strongest(head, query, share).map(({ key }) => key);

test("weights are by head, query and key", () => {
  assert.equal(weights.at(0, 1, 1), 1);
  assert.ok(Math.abs(weights.at(1, 0, 2) - 0.8) < 1e-4);
});

test("the fewest keys that hold a share are kept, the strongest first", () => {
  assert.deepEqual(keysOf(0, 0, 0.5), [0]);
  assert.deepEqual(keysOf(0, 0, 0.6), [0, 2]);
  assert.deepEqual(keysOf(0, 0, 1), [0, 2, 1]);
  assert.deepEqual(keysOf(0, 1, 1), [1], "a weight of 0 is never needed");
});

test("a number beside a token is the mean of the heads shown", () => {
  const [first] = weights.means([0, 1], [QUERY, 0]);
  assert.ok(Math.abs(first - 0.3) < 1e-4);
  assert.deepEqual(weights.means([], [QUERY, 0]), [0, 0, 0]);
  assert.equal(weights.means([0], [KEY, 1])[1], 1, "a key's numbers are those of the queries");
  assert.equal(weights.means([0], [KEY, 1]).length, 2);
});

test("a token is found on its side at its height", () => {
  const tokens = /** @type {[string[], string[]]} */ ([
    ["a", "b"],
    ["long word", "d", "e"],
  ]);
  const at = new LinesLayout(tokens, 900, (text) => 8 * text.length);
  assert.deepEqual(at.tokenAt(10, at.y(1)), [QUERY, 1]);
  assert.deepEqual(at.tokenAt(at.to + 10, at.y(2)), [KEY, 2]);
  assert.equal(at.tokenAt(10, at.y(2)), null, "the left side ends before");
  assert.equal(at.tokenAt((at.from + at.to) / 2, at.y(0)), null);
  assert.equal(at.tokenAt(10, 3), null);
  assert.ok(at.width <= 900);
});
