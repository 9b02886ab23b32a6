// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOSED, TOP } from "../../viz/components/attention/grid/pixels.js";
import { describeCell, PENDING } from "../../viz/components/attention/matrix/describe.js";
import { ViewerRun } from "../../viz/components/attention/run.js";

const attn = { name: "decoder", queries: "decoder", keys: "decoder", layers: 1, heads: 2, has: [] };
const LEVELS = [TOP, CLOSED, 0, TOP / 2, TOP, CLOSED, TOP, 0];

/** A run whose maps have a byte per cell. @param {number} pooled @param {object} [arrays] @returns {any} */
const run = (pooled, arrays = {}) =>
  new ViewerRun(
    /** @type {any} */ ({
      sides: { decoder: { tokens: ["<bos>", "il"] } },
      attentions: [attn],
      pooled,
      "pooled:decoder/levels": Uint8Array.from(LEVELS),
      "pooled:decoder/low": Float32Array.of(0.25, 0),
      "pooled:decoder/high": Float32Array.of(0.75, 1),
      ...arrays,
    }),
  );

test("a map of a byte per cell stands for the weights, about", () => {
  assert.deepEqual([...(run(2).rough(attn, 0, 0) ?? [])], [0.75, 0, 0.25, 0.5]);
  assert.deepEqual([...(run(2).rough(attn, 0, 1) ?? [])], [1, 0, 1, 0]);
  const same = run(2);
  assert.equal(same.rough(attn, 0, 1), same.rough(attn, 0, 1), "made once");
});

test("it is not taken for the weights", () => {
  const rough = run(2);
  assert.equal(rough.weights(attn, 0, 1), null);
  assert.equal(rough.hasHead(attn, 0, 1), false);
  assert.deepEqual([...rough.missing], ["head:decoder:0:1"]);
  const here = run(2, { "head:decoder:0:1/weights": Float32Array.of(1, 0, 0.9, 0.1) });
  assert.equal(here.hasHead(attn, 0, 1), true);
  assert.equal(here.hasHead(attn, 0, 0), false);
});

test("a map whose bytes show several cells, or that is not here, stands for nothing", () => {
  assert.equal(run(1).rough(attn, 0, 0), null);
  const none = run(2, { "pooled:decoder/levels": undefined });
  assert.equal(none.rough(attn, 0, 0), null);
  assert.deepEqual([...none.missing], [], "and is not requested for it");
});

test("no number is written of it", () => {
  const data = { queries: ["a"], keys: ["b"], numbers: [[0], [0]], label: "weight", roles: null };
  const cells = { reason: () => "", at: () => 0.5 };
  const shown = (/** @type {boolean} */ isRough) =>
    describeCell(/** @type {any} */ ({ data: { ...data, isRough }, cells }), [0, 0]).find(
      ([kind]) => kind === "value",
    )?.[1];
  assert.equal(shown(true), PENDING);
  assert.equal(shown(false), "0.5000");
});
