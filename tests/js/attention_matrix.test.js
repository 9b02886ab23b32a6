// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { MatrixCells } from "../../viz/components/attention_matrix/cells.js";
import { CELL, MatrixLayout } from "../../viz/components/attention_matrix/layout.js";
import { pixel } from "../../viz/components/shared/color.js";

const names = (/** @type {number} */ count) => Array.from({ length: count }, (_, i) => `n${i}`);
/** Every letter is 8 wide. */
const widthOf = (/** @type {string} */ text) => 8 * text.length;

/** @param {string[]} queries @param {string[]} keys */
function placed(queries, keys, width = 900, cell = 0) {
  const at = new MatrixLayout({ queries, keys }, width, widthOf);
  at.place(cell || at.fit());
  return at;
}

const COLORS = { sequential: ["#000000", "#ffffff"], diverging: ["#ff0000", "#ffffff", "#0000ff"] };
/** @param {object} fields @returns {any} */
const data = (fields) => ({
  colors: COLORS,
  kind: "weights",
  queries: names(2),
  keys: names(3),
  range: null,
  reasons: ["future", "padding"],
  run_starts: Uint32Array.of(0),
  run_reasons: Uint8Array.of(0),
  values: Float32Array.of(0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
  ...fields,
});

test("the middle of each cell is found as that cell, wherever the box is scrolled to", () => {
  const at = placed(names(30), names(40), 500);
  for (const scroll of /** @type {[number, number][]} */ ([
    [0, 0],
    [130, 170],
  ])) {
    const [x, y] = at.origin(scroll);
    for (const [query, key] of [
      [20, 25],
      [29, 39],
    ]) {
      const middle = /** @type {[number, number]} */ ([
        x + (key + 0.5) * at.cell,
        y + (query + 0.5) * at.cell,
      ]);
      assert.deepEqual(at.cellAt(middle, scroll), [query, key]);
    }
  }
  assert.equal(
    at.cellAt([at.left - 1, at.top + 1], [130, 170]),
    null,
    "the labels hide what is scrolled away",
  );
  assert.equal(at.cellAt([at.left + 1, at.top - 1], [130, 170]), null);
  assert.equal(at.cellAt([at.left + 40 * at.cell + 1, at.top + 1], [0, 0]), null);
});

test("cells are as large as the width allows, and not too small for their labels", () => {
  assert.equal(placed(names(3), names(3)).cell, CELL.fitted);
  assert.equal(placed(names(40), names(40), 300).cell, CELL.labelled);
  assert.equal(placed(names(512), names(512), 1900).cell, CELL.smallest);
  const at = placed(names(10), names(25), 900);
  assert.ok(at.width <= 900);
  assert.ok(placed(names(10), names(25), 900, at.cell + 1).width > 900);
});

test("labels stand upright where each has room above its own column, else they are slanted", () => {
  assert.ok(placed(["a"], ["ab", "abc"], 900, 40).upright);
  assert.ok(!placed(["a"], ["ab", "abcdef"], 900, 40).upright);
  assert.ok(placed(["a"], ["ab", "abcdef"], 900, 40).top > placed(["a"], ["ab", "abc"], 900, 40).top);
});

test("slanted labels get the room that they take, beyond the columns only", () => {
  const long = "a-label-of-many";
  const middle = placed(["a"], [long, "b", "c", "d", "e", "f", "g", "h"], 900, 30);
  assert.equal(middle.width, Math.ceil(middle.left + 8 * 30 + 4), "it ends above the other columns");
  const last = placed(["a"], ["b", "c", "d", "e", "f", "g", "h", long], 900, 30);
  assert.ok(last.width - last.left >= 7.5 * 30 + widthOf(long) * Math.SQRT1_2);
});

test("labels that would run into each other are left out at equal steps", () => {
  const at = placed(names(60), names(60), 900, 6);
  assert.equal(at.everyQuery, 3);
  assert.ok(at.everyKey * 6 >= 18);
});

test("the visible cells are those in the box", () => {
  const at = placed(names(50), names(50), 900, 20);
  assert.deepEqual(at.visible([0, 0], [at.left + 100, at.top + 60]), [0, 4, 0, 6]);
  assert.deepEqual(at.visible([40, 100], [at.left + 100, at.top + 60]), [5, 9, 2, 8]);
  assert.deepEqual(at.visible([900, 900], [at.left + 500, at.top + 500]), [45, 50, 45, 50]);
});

test("a box that cuts cells off is told from one that cuts the end of a label", () => {
  const at = placed(names(5), names(5), 900, 30);
  assert.ok(!at.cuts([at.left + 150, at.top + 150]));
  assert.ok(at.cuts([at.left + 149, at.top + 150]));
  assert.ok(at.cuts([at.left + 150, at.top + 149]));
});

test("a cell is scrolled to by as little as shows it whole", () => {
  const at = placed(names(50), names(50), 900, 20);
  const view = /** @type {[number, number]} */ ([at.left + 100, at.top + 60]);
  assert.deepEqual(at.reveal([2, 4], [0, 0], view), [0, 0]);
  assert.deepEqual(at.reveal([3, 5], [0, 0], view), [20, 20]);
  assert.deepEqual(at.reveal([0, 0], [300, 300], view), [0, 0]);
});

test("levels give their values back, and minus infinity", () => {
  const levels = Uint16Array.of(0, 65534, 32767, 65535, 0, 0);
  const cells = new MatrixCells(data({ values: undefined, levels, low: -1, high: 3, top: 65534 }));
  assert.deepEqual([...cells.values.slice(0, 4)], [-1, 3, 1, -Infinity]);
});

test("runs give every closed cell its reason", () => {
  const runs = { run_starts: Uint32Array.of(0, 1, 3, 5), run_reasons: Uint8Array.of(0, 1, 0, 2) };
  const cells = new MatrixCells(data(runs));
  assert.deepEqual(
    [0, 1, 2].map((key) => cells.reason(0, key)),
    ["", "future", "future"],
  );
  assert.deepEqual(
    [0, 1, 2].map((key) => cells.reason(1, key)),
    ["", "", "padding"],
  );
  assert.deepEqual(cells.runs(0), [[1, 3, 1]]);
  assert.deepEqual(cells.runs(1), [[2, 3, 2]]);
});

test("the scale spans the open cells: weights from 0, scores to both sides", () => {
  const runs = { run_starts: Uint32Array.of(0, 5), run_reasons: Uint8Array.of(0, 1) };
  assert.deepEqual(new MatrixCells(data(runs)).range, [0, Math.fround(0.5)]);
  const scores = { kind: "scores", values: Float32Array.of(-3, 1, 2, -Infinity, 0, 0) };
  assert.deepEqual(new MatrixCells(data(scores)).range, [-3, 3]);
  assert.deepEqual(new MatrixCells(data({ range: [0, 1] })).range, [0, 1]);
  assert.deepEqual(new MatrixCells(data({ run_reasons: Uint8Array.of(1) })).range, [0, 1], "all are closed");
});

test("an open cell has its colour, a closed one stays transparent", () => {
  const runs = { run_starts: Uint32Array.of(0, 1), run_reasons: Uint8Array.of(0, 1) };
  const cells = new MatrixCells(data({ ...runs, values: Float32Array.of(1, 0, 0, 0, 0, 0) }));
  assert.deepEqual([...cells.pixels()], [pixel([255, 255, 255]), 0, 0, 0, 0, 0]);
  assert.deepEqual(cells.color(-7), [0, 0, 0]);
});
