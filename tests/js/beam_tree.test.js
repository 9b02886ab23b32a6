// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { COLUMN, TreeLayout } from "../../viz/components/beam_tree/layout.js";

/**
 * @param {number | null} parent
 * @param {number} depth
 * @param {number} rank
 * @param {"given" | "kept" | "pruned" | "ended"} kind
 * @param {number} score
 */
const node = (parent, depth, rank, kind, score) => ({
  token: `${depth}.${rank}`,
  parent,
  depth,
  probability: 0.5,
  score,
  rank,
  kind,
  why: "",
  numbers: /** @type {[string, string][]} */ ([]),
  is_open: kind !== "ended",
});

// The root; then a (kept), b (kept), c (pruned); then what follows them: of a's only the second is kept.
const NODES = [
  node(null, 0, 1, "given", 0),
  node(0, 1, 1, "kept", -1),
  node(0, 1, 2, "kept", -2),
  node(0, 1, 3, "pruned", -3),
  node(2, 2, 1, "ended", -2.5),
  node(1, 2, 2, "kept", -2.75),
  node(1, 2, 3, "pruned", -4),
  node(5, 3, 1, "kept", -5),
];
const at = new TreeLayout(NODES, () => 100, [0, 60, 60, 0]);

test("no two nodes overlap", () => {
  for (const [i, one] of at.boxes.entries()) {
    for (const other of at.boxes.slice(0, i)) {
      const acrossApart = one.x >= other.x + other.width || other.x >= one.x + one.width;
      const downApart = one.y >= other.y + other.height || other.y >= one.y + one.height;
      assert.ok(acrossApart || downApart);
    }
  }
});

test("pruned nodes are below their column's line", () => {
  assert.deepEqual(at.columns, [[0], [1, 2, 3], [4, 5, 6], [7]]);
  assert.deepEqual(
    at.cuts.map(({ cuts }) => cuts),
    [false, true, true, false],
  );
  assert.ok(at.boxes[2].y + at.boxes[2].height <= at.cuts[1].y + 16);
  assert.ok(at.boxes[3].y >= at.cuts[1].y + 16);
});

test("a column has room for its widest token and for the text at its line", () => {
  assert.equal(new TreeLayout(NODES, () => 1, [0, 0, 0, 0]).boxes[1].width, COLUMN.least);
  assert.equal(new TreeLayout(NODES, () => 1e4, [0, 0, 0, 0]).boxes[1].width, COLUMN.most);
  assert.ok(new TreeLayout(NODES, () => 1, [0, 300, 0, 0]).boxes[1].width > 300 - COLUMN.gap);
});

test("a path leads from the root, and on to kept nodes", () => {
  assert.deepEqual(at.path(7), [0, 1, 5, 7]);
  assert.equal(at.onward(1), 7);
  assert.equal(at.onward(2), 4);
  assert.equal(at.onward(3), 3);
  assert.deepEqual(at.children(1), [5, 6]);
});

test("each node's fate is as of the step", () => {
  const [given, a, b, c, ended, kept] = at.fates(1);
  assert.deepEqual([given, a, b, c, ended, kept], ["alive", "alive", "alive", "pruned", "future", "future"]);
  assert.deepEqual(at.fates(3), ["alive", "alive", "alive", "pruned", "ended", "alive", "pruned", "alive"]);
  const deadEnd = new TreeLayout([...NODES.slice(0, 3), node(1, 2, 1, "kept", -2)], () => 1, [0, 0, 0]);
  assert.deepEqual(deadEnd.fates(2), ["alive", "alive", "dead", "alive"]);
});
