// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { ViewerRun } from "../../viz/components/attention/run.js";
import { Sheet } from "../../viz/components/attention/sheet.js";

/** Three queries, of two words; four keys, the last of them special. One layer, one head. */
const WEIGHTS = Float32Array.of(0.25, 0.25, 0.375, 0.125, 0.5, 0, 0, 0.5, 0, 0.125, 0.125, 0.75);
const LENGTHS = Float32Array.of(2, 1, 4, 3);

const attn = {
  name: "cross",
  queries: "decoder",
  keys: "encoder",
  layers: 1,
  heads: 1,
  reasons: ["masked: future", "masked: padding"],
  has: ["scores", "lengths"],
};

/** @param {object} [changed] @param {number[]} [closed] @param {object} [decoder] */
function sheet(changed = {}, closed = Array(12).fill(0), decoder = {}) {
  const side = { special: [], punctuation: [], words: null, word_of: null, written: [] };
  const run = new ViewerRun(
    /** @type {any} */ ({
      run: "r",
      whole: true,
      attentions: [attn],
      others: [],
      views: ["head"],
      sides: {
        encoder: {
          ...side,
          tokens: ["a", "b", "c", "<eos>"],
          special: [3],
          words: ["a", "bc", "<eos>"],
          word_of: [0, 1, 1, 2],
        },
        decoder: {
          ...side,
          tokens: ["<bos>", "x", "y"],
          words: ["<bos>", "xy"],
          word_of: [0, 1, 1],
          ...decoder,
        },
      },
      "closed:cross": Uint8Array.from(closed),
      "weights:cross/values": WEIGHTS,
      "scores:cross/values": WEIGHTS.map((weight) => 10 * weight - 1),
      "lengths:cross/values": LENGTHS,
    }),
  );
  const choice = { by: "token", rows: "read", special: "keep", ...changed };
  return new Sheet(run, /** @type {any} */ (attn), /** @type {any} */ (choice));
}

const numbers = (/** @type {Float32Array | null} */ values) => [...(values ?? [])];

test("each token has a row or a column, with the numbers of the run", () => {
  const plain = sheet();
  assert.deepEqual(plain.queries, ["<bos>", "x", "y"]);
  assert.deepEqual(plain.numbers, [
    [0, 1, 2],
    [0, 1, 2, 3],
  ]);
  assert.deepEqual(numbers(plain.values("weights", 0, 0)), [...WEIGHTS]);
});

test("by word a key's tokens add up, and a query's are averaged", () => {
  const byWord = sheet({ by: "word" });
  assert.deepEqual(
    [byWord.queries, byWord.keys],
    [
      ["<bos>", "xy"],
      ["a", "bc", "<eos>"],
    ],
  );
  assert.deepEqual(numbers(byWord.values("weights", 0, 0)), [0.25, 0.625, 0.125, 0.25, 0.125, 0.625]);
  assert.deepEqual(byWord.numbers, [
    [0, 1],
    [0, 1, 2],
  ]);
});

test("what is moved is the weight times the length of the key's moved value", () => {
  const moved = numbers(sheet().values("moved", 0, 0));
  assert.deepEqual(moved.slice(0, 4), [0.5, 0.25, 1.5, 0.375]);
  assert.deepEqual(numbers(sheet({ by: "word" }).values("moved", 0, 0)).slice(0, 3), [0.5, 1.75, 0.375]);
});

test("hidden tokens have no row and no column, and keep their position", () => {
  const hidden = sheet({ special: "hide" }, undefined, { special: [0] });
  assert.deepEqual(hidden.numbers, [
    [1, 2],
    [0, 1, 2],
  ]);
  assert.deepEqual(numbers(hidden.values("weights", 0, 0)), [0.5, 0, 0, 0, 0.125, 0.125]);
  assert.equal(hidden.hiddenShare(WEIGHTS), (0.5 + 0.75) / 2);
  assert.deepEqual(hidden.tokens([1, 2]), [2, 2]);
  assert.deepEqual(hidden.place([2, 2]), [1, 2]);
  assert.equal(hidden.place([0, 1]), null);
});

test("hidden tokens' weight is spread over the rest in proportion, and so is what it moves", () => {
  const spread = sheet({ special: "spread" });
  const weights = numbers(spread.values("weights", 0, 0));
  for (const row of [0, 1, 2])
    assert.ok(Math.abs(weights[3 * row] + weights[3 * row + 1] + weights[3 * row + 2] - 1) < 1e-6);
  assert.deepEqual(weights.slice(6), [0, 0.5, 0.5]);
  const moved = numbers(spread.values("moved", 0, 0));
  assert.deepEqual(moved.slice(6), [0, 0.5, 2], "each weight as it is shown, times the length");
  assert.deepEqual(numbers(spread.values("scores", 0, 0)).slice(6), [-1, 0.25, 0.25], "scores stay");
});

test("a masked score is minus infinity, and a cell between words is closed if all its cells are", () => {
  const closed = [0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1];
  const masked = numbers(sheet({}, closed).values("masked", 0, 0));
  assert.deepEqual(masked.slice(0, 3), [1.5, -Infinity, -Infinity]);
  const byWord = sheet({ by: "word" }, closed);
  assert.deepEqual([...byWord.closed(0)], [0, 1, 1, 0, 0, 1]);
});

test("a layer may close more than others", () => {
  const closed = [0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1];
  const narrow = [0, 1, 1, 1, 0, 0, 1, 1, 3, 0, 0, 1];
  const one = sheet({}, closed);
  one.run.add({ "closed:cross:1": Uint8Array.from(narrow) });
  assert.deepEqual([...one.closed(0)], closed);
  assert.deepEqual([...one.closed(1)], narrow);
});

test("a row is named by the token read or written, and describes both", () => {
  const writing = { written: [null, "▁y", "."] };
  const read = sheet({}, undefined, writing);
  assert.deepEqual(read.queries, ["<bos>", "x", "y"]);
  assert.match(read.axis, /token read/);
  const written = sheet({ rows: "written" }, undefined, writing);
  assert.deepEqual(written.queries, ["–", "▁y", "."]);
  assert.match(written.axis, /token written/);
  for (const { roles } of [read, written]) {
    const plain = roles?.map((text) => text.replace(/[\u2068\u2069]/g, ""));
    assert.deepEqual(plain, [
      "reads “<bos>”, writes nothing",
      "reads “x”, writes “▁y”",
      "reads “y”, writes “.”",
    ]);
  }
  const byWord = sheet({ rows: "written", by: "word" }, undefined, writing);
  assert.deepEqual(byWord.queries, ["–", "▁y."]);
  assert.equal(sheet().roles, null, "a stack that writes nothing");
});

test("numbers of another run are treated as those of this one", () => {
  const hidden = sheet({ special: "spread" });
  const other = WEIGHTS.map((_, i) => 0.5 * (i % 2));
  const shown = numbers(hidden.ofOther("other:twin:cross:0:0", other, other, "weights", 0));
  assert.deepEqual(shown, [0, 1, 0, 0, 1, 0, 0, 1, 0]);
  const closed = sheet({}, [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  assert.deepEqual(numbers(closed.ofOther("p", other, other, "masked", 0)).slice(0, 3), [0, -Infinity, 0]);
});

test("a piece that was answered as unknown is not requested again", () => {
  const { run } = sheet();
  assert.equal(run.array("other:twin:cross:0:0", "weights"), null);
  assert.ok(run.missing.has("other:twin:cross:0:0"));
  assert.ok(!run.lacks("other:twin:cross:0:0", "weights"));
  run.missing.clear();
  run.add({ pieces: [], none: ["other:twin:cross:0:0"] });
  assert.equal(run.array("other:twin:cross:0:0", "weights"), null);
  assert.equal(run.missing.size, 0);
  assert.ok(run.lacks("other:twin:cross:0:0", "weights"));
});
