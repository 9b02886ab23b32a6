// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { LEFT, RowsLayout } from "../../viz/components/attention/rows/layout.js";

const at = new RowsLayout({ layers: 3, heads: 4 }, [7, 5], 1000, 50);

test("the middle of each row finds that head", () => {
  for (let layer = 0; layer < 3; layer++) {
    for (let head = 0; head < 4; head++) {
      assert.deepEqual(at.headAt(at.edge(layer, head) + at.row / 2), [layer, head]);
    }
  }
});

test("the space after a layer, above the first row and below the last belongs to no head", () => {
  assert.equal(at.headAt(at.edge(0, 3) + at.row + 2), null);
  assert.equal(at.headAt(-1), null);
  assert.equal(at.headAt(at.height + 20), null);
});

test("a column is a token", () => {
  assert.equal(at.keyAt(LEFT + 2.5 * at.column), 2);
  assert.ok(at.keyAt(LEFT - 1) < 0);
});

test("blocks are side by side if there is room", () => {
  assert.ok(at.wide);
  assert.ok(!new RowsLayout({ layers: 3, heads: 4 }, [7, 5], 700, 50).wide);
});

test("two blocks fit with the ends of their slanted tokens", () => {
  assert.ok(at.column > 14, "not as small as can be");
  assert.ok(2 * (LEFT + 7 * at.column + 50) + 24 <= 1000);
  const alone = new RowsLayout({ layers: 3, heads: 4 }, [14], 700, 90);
  assert.ok(alone.column > 14);
  assert.ok(LEFT + 14 * alone.column + 90 <= 700);
});
