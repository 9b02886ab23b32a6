// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { MatrixCells } from "../../viz/components/attention/matrix/cells.js";
import { CELL, FONT, MatrixLayout } from "../../viz/components/attention/matrix/layout.js";
import { matrixNumbers } from "../../viz/components/attention/matrix/numbers.js";
import { areOne, sumsOf } from "../../viz/components/attention/matrix/sums.js";
import { csvOf, neutral } from "../../viz/components/attention/table/csv.js";
import { pixel } from "../../viz/components/shared/color.js";

const names = (/** @type {number} */ count) => Array.from({ length: count }, (_, i) => `n${i}`);
const upTo = (/** @type {number} */ count) => Array.from({ length: count }, (_, i) => i);
/** Every letter is 8 wide. */
const widthOf = (/** @type {string} */ text) => 8 * text.length;

/** @param {string[]} queries @param {string[]} keys @param {Partial<import("../../viz/components/attention/matrix/layout.js").Room>} [room] */
function placed(queries, keys, room = {}, cell = 0) {
  const whole = { width: 900, tallest: 800, below: 0, beside: 0, ...room };
  const numbers = /** @type {[number[], number[]]} */ ([upTo(queries.length), upTo(keys.length)]);
  const at = new MatrixLayout({ queries, keys, numbers }, whole, widthOf);
  at.place(cell || at.fit());
  return at;
}

const VIEW = /** @type {[number, number]} */ ([900, 800]);
const COLORS = { sequential: ["#000000", "#ffffff"], diverging: ["#ff0000", "#ffffff", "#0000ff"] };
/** @param {object} fields @returns {any} */
const data = (fields) => ({
  colors: COLORS,
  kind: "weights",
  queries: names(2),
  keys: names(3),
  range: [0, 1],
  reasons: ["future", "padding"],
  closed: new Uint8Array(6),
  values: Float32Array.of(0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
  ...fields,
});

test("the middle of each cell finds that cell, at any scroll position", () => {
  const at = placed(names(30), names(40), { width: 500 });
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
        x + (key + 0.5) * at.wide,
        y + (query + 0.5) * at.cell,
      ]);
      assert.deepEqual(at.cellAt(middle, scroll, VIEW), [query, key]);
    }
  }
  const above = /** @type {const} */ ([130, 170]);
  assert.equal(
    at.cellAt([at.left - 1, at.top + 1], [...above], VIEW),
    null,
    "the labels hide what is scrolled away",
  );
  assert.equal(at.cellAt([at.left + 1, at.top - 1], [...above], VIEW), null);
  assert.equal(at.cellAt([at.left + 40 * at.wide + 1, at.top + 1], [0, 0], VIEW), null);
});

test("a label finds its row or column, slanted or upright, and a cell or the corner finds none", () => {
  for (const keys of [names(6), Array.from({ length: 6 }, (_, i) => `a longer token ${i}`)]) {
    const at = placed(names(5), keys);
    const [x, y] = at.origin([0, 0]);
    assert.deepEqual(at.labelAt([at.left - 20, y + 3.5 * at.cell], [0, 0]), [3, -1]);
    const above = x + 2.5 * at.wide;
    assert.deepEqual(at.labelAt([above, at.top - 8], [0, 0]), [-1, 2], "its position");
    const up = at.upright ? 0 : 30;
    assert.deepEqual(at.labelAt([above + up, at.top - FONT - 8 - up], [0, 0]), [-1, 2], "its token");
    assert.deepEqual(at.labelAt([above, y + 0.5 * at.cell], [0, 0]), [-1, -1]);
    assert.deepEqual(at.labelAt([at.left - 20, at.top - 8], [0, 0]), [-1, -1]);
  }
});

test("sums follow the last row and column, at the edge of the visible part", () => {
  const at = placed(names(30), names(40), { width: 500, below: 46, beside: 76 }, 20);
  const view = /** @type {[number, number]} */ ([500, 400]);
  assert.deepEqual(at.end([0, 0], view), [424, 354]);
  assert.deepEqual(at.cellAt([at.left + 1, 360], [0, 0], view), [30, 0]);
  assert.deepEqual(at.cellAt([430, at.top + 21], [0, 0], view), [1, 40]);
  assert.equal(at.cellAt([430, 360], [0, 0], view), null, "there is no sum of sums");
  const whole = placed(names(3), names(3), { below: 46, beside: 76 });
  assert.deepEqual(whole.end([0, 0], [900, 800]), [whole.left + 3 * whole.wide, whole.top + 3 * whole.cell]);
});

test("cells are as large as possible, and few tokens keep all their labels", () => {
  assert.equal(placed(names(3), names(3)).cell, CELL.fitted);
  assert.equal(placed(names(12), names(12), { width: 200 }).cell, CELL.labelled);
  assert.equal(placed(names(512), names(512), { width: 1900 }).cell, CELL.smallest);
  const at = placed(names(10), names(25), { width: 700 });
  assert.ok(at.width <= 700);
  assert.ok(placed(names(10), names(25), { width: 700 }, at.cell + 1).width > 700);
  const low = placed(names(10), names(10), { tallest: 360, below: 46 });
  assert.ok(low.height <= 360);
});

test("cells are wider than tall if their numbers or labels need it", () => {
  const low = placed(names(10), names(10), { tallest: 360 });
  assert.ok(low.cell < CELL.numbered[0] && low.wide === CELL.numbered[0]);
  const narrow = placed(names(10), names(10), { tallest: 360, width: 330 });
  assert.ok(narrow.width <= 330);
  const many = placed(names(18), names(16), { tallest: 360, width: 560 });
  assert.ok(many.cell < CELL.numbered[1] && many.wide > many.cell && many.width <= 560);
  assert.equal(many.everyKey, 1, "no label is left out");
  const tiny = placed(names(100), names(100), {}, 6);
  assert.equal(tiny.wide, tiny.cell, "nothing finite is in it");
});

test("labels are upright if each fits above its column, and slanted otherwise", () => {
  assert.ok(placed(["a"], ["ab", "abc"], {}, 40).upright);
  assert.ok(!placed(["a"], ["ab", "abcdef"], {}, 40).upright);
  assert.ok(placed(["a"], ["ab", "abcdef"], {}, 40).top > placed(["a"], ["ab", "abc"], {}, 40).top);
});

test("slanted labels get the space they need beyond the columns", () => {
  const long = "a-label-of-many";
  const middle = placed(["a"], [long, "b", "c", "d", "e", "f", "g", "h"], {}, 30);
  assert.equal(middle.width, Math.ceil(middle.left + 8 * middle.wide + 4), "it ends above the other columns");
  const last = placed(["a"], ["b", "c", "d", "e", "f", "g", "h", long], {}, 30);
  assert.ok(last.width - last.left >= 7.5 * last.wide + widthOf(long) * Math.SQRT1_2);
});

test("labels that would overlap are left out at equal steps", () => {
  const at = placed(names(60), names(60), {}, 6);
  assert.equal(at.everyQuery, 3);
  assert.ok(at.everyKey * 6 >= 18);
});

test("the visible cells are those in the box", () => {
  const at = placed(names(50), names(50), {}, 20);
  assert.deepEqual(at.visible([0, 0], [at.left + 100, at.top + 60]), [0, 4, 0, 6]);
  assert.deepEqual(at.visible([40, 100], [at.left + 100, at.top + 60]), [5, 9, 2, 8]);
  assert.deepEqual(at.visible([900, 900], [at.left + 500, at.top + 500]), [45, 50, 45, 50]);
});

test("a box that cuts off cells differs from one that cuts off the end of a label", () => {
  const at = placed(names(5), names(5), {}, 30);
  assert.ok(!at.cuts([at.left + 5 * at.wide, at.top + 150]));
  assert.ok(at.cuts([at.left + 5 * at.wide - 1, at.top + 150]));
  assert.ok(at.cuts([at.left + 5 * at.wide, at.top + 149]));
});

test("scrolling to a cell moves no further than necessary", () => {
  const at = placed(names(50), names(50), {}, 20);
  const view = /** @type {[number, number]} */ ([at.left + 100, at.top + 60]);
  assert.deepEqual(at.reveal([2, 4], [0, 0], view), [0, 0]);
  assert.deepEqual(at.reveal([3, 5], [0, 0], view), [20, 20]);
  assert.deepEqual(at.reveal([0, 0], [300, 300], view), [0, 0]);
});

test("runs give every closed cell its reason", () => {
  const cells = new MatrixCells(data({ closed: Uint8Array.of(0, 1, 1, 0, 0, 2) }));
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

test("only open numbers must fit into cells", () => {
  const values = Float32Array.of(-3, 1, 2, -Infinity, 9, 9);
  const cells = new MatrixCells(data({ values, closed: Uint8Array.of(0, 0, 0, 0, 1, 1) }));
  assert.deepEqual(cells.extremes, [-3, 2]);
});

test("an open cell has its colour, a closed one stays transparent", () => {
  const closed = Uint8Array.of(0, 1, 1, 1, 1, 1);
  const cells = new MatrixCells(data({ closed, values: Float32Array.of(1, 0, 0, 0, 0, 0) }));
  assert.deepEqual([...cells.pixels()], [pixel([255, 255, 255]), 0, 0, 0, 0, 0]);
  assert.deepEqual(cells.color(-7), [0, 0, 0]);
});

test("a cell's pixel has the colour that its ink was chosen for", () => {
  const values = Float32Array.of(-Infinity, -1, 0, 0.3, 0.999, 7);
  const cells = new MatrixCells(data({ values }));
  assert.deepEqual(
    [...cells.pixels()],
    [...values].map((value) => pixel(cells.color(value))),
  );
});

test("sums cover open cells, and rows that sum to 1 are recognised", () => {
  const values = Float32Array.of(0.5, 0.25, 0.25, 0.5, 0.5, 0.125);
  const { columns, rows } = sumsOf(values, Uint8Array.of(0, 0, 0, 0, 0, 1), 3);
  assert.deepEqual([...columns], [1, 0.75, 0.25]);
  assert.deepEqual([...rows], [1, 1]);
  assert.ok(areOne(rows));
  assert.ok(areOne(Float64Array.of(1, 0)), "a row of padding has nothing");
  assert.ok(!areOne(Float64Array.of(1, 0.6)));
  const masked = sumsOf(Float32Array.of(-Infinity, 2), new Uint8Array(2), 2);
  assert.deepEqual([...masked.columns], [0, 2]);
});

test("a table has numbers to four decimals, and reasons for closed cells", () => {
  const fields = {
    ...data({}),
    numbers: [
      [0, 1],
      [0, 2, 3],
    ],
    roles: ["reads a", "reads b"],
    axis: "query",
    sums: null,
  };
  const values = Float32Array.of(0.25, 0, 1.5, -0.00004, -2, -Infinity);
  const table = matrixNumbers({ ...fields, values, closed: Uint8Array.of(0, 1, 1, 0, 0, 2) }, "head 0");
  assert.deepEqual(table.cells(0), ["0.2500", "future", "1.5000 (future)"]);
  assert.deepEqual(table.cells(1), ["0.0000", "−2.0000", "padding"]);
  assert.deepEqual(table.columns[2], ["3", "n2"]);
  assert.deepEqual(table.rows[1], ["1", "n1", "reads b"]);
  assert.deepEqual(table.exact(0), [0.25, 0, 1.5]);
  const sums = { columns: Float64Array.of(1, 2, 3), title: "received" };
  const summed = matrixNumbers({ ...fields, values, sums: /** @type {any} */ (sums) }, "");
  assert.deepEqual(
    [summed.rows[2], summed.cells(2)],
    [
      ["", "received"],
      ["1.0000", "2.0000", "3.0000"],
    ],
  );
});

test("no spreadsheet reads a token as a formula, and no token breaks a row", () => {
  assert.deepEqual(["=1", "+", "-x", "@a", "\tb", "a=b"].map(neutral), [
    "'=1",
    "'+",
    "'-x",
    "'@a",
    "'\tb",
    "a=b",
  ]);
  assert.equal(
    csvOf([
      ["a,b", 'say "x"', -1.5],
      ["=2", "c\nd", 0],
    ]),
    '"a,b","say ""x""",-1.5\r\n\'=2,"c\nd",0\r\n',
  );
});

test("the name of the sums has room next to short tokens and takes none next to long ones", () => {
  const left = (/** @type {string} */ token, /** @type {string | null} */ title) => {
    const tokens = [token, token];
    const numbers = /** @type {[number[], number[]]} */ ([upTo(2), upTo(2)]);
    const whole = { width: 900, tallest: 800, below: title ? 46 : 0, beside: 0 };
    return new MatrixLayout(
      { queries: tokens, keys: tokens, numbers, sums: title ? { title } : null },
      whole,
      widthOf,
    ).left;
  };
  assert.ok(left("5", "received") >= widthOf("received"));
  assert.ok(left("5", null) < widthOf("received"));
  assert.equal(left("grattacielo", "received"), left("grattacielo", null));
});
