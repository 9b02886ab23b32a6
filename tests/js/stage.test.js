// @ts-check
// The pictures of a stage: where they stand, and which cell is where.

import assert from "node:assert/strict";
import test from "node:test";
import { cellAt, every, FOOT, layout, SIZE } from "../../viz/components/stage/layout.js";

/** @param {string[]} labels */
const axis = (labels, title = "token") => ({ title, labels, has_words: true, count: labels.length });
const numbers = (/** @type {number} */ n) => ({
  title: "dimension",
  labels: Array.from({ length: n }, (_, i) => String(i)),
  has_words: false,
  count: n,
});
/**
 * @param {import("../../viz/components/stage/layout.js").Axis} rows
 * @param {import("../../viz/components/stage/layout.js").Axis} columns
 * @returns {import("../../viz/components/stage/layout.js").Picture}
 */
const picture = (rows, columns, sign = "", path = "") => ({
  ...{ name: "X", sign, rows, columns, kind: "signed", path },
  ...{ link: [true, true], range: [-1, 1], is_shared: false, words: [], marked: null },
});
/** @param {string} text */
const measure = (text) => 7 * text.length;
const TOKENS = axis(["I", "saw", "the", "dog"]);
const SUM = [
  picture(TOKENS, numbers(64)),
  picture(TOKENS, numbers(64), "+"),
  picture(TOKENS, numbers(64), "="),
];

test("pictures share a row if they fit, and their rows line up", () => {
  const { places } = layout(SUM, 1200, measure);
  assert.equal(new Set(places.map(({ y }) => y)).size, 1);
  assert.equal(new Set(places.map(({ tall }) => tall)).size, 1);
  for (const [i, place] of places.slice(1).entries()) {
    assert.ok(place.left >= places[i].x + places[i].width);
    assert.equal(place.labels, 0, "the labels stand before the first of them");
  }
});

test("pictures that do not fit begin a new row, with its own labels", () => {
  const { places, height } = layout(SUM, 260, measure);
  assert.equal(new Set(places.map(({ y }) => y)).size, 3);
  for (const place of places) {
    assert.ok(place.labels > 0);
    assert.ok(place.x + place.width <= 260);
  }
  assert.ok(height >= places[2].y + places[2].height + FOOT);
});

test("words and ids of any number of tokens have room for a line each, side by side", () => {
  const count = 40;
  const names = Array.from({ length: count }, (_, i) => `word ${i}`);
  const column = axis([""]);
  const pictures = [
    { ...picture({ ...numbers(count), title: "position" }, column), kind: "words", words: names },
    { ...picture(axis(names), column, "→"), kind: "ids" },
    picture(axis(names), numbers(64), "→"),
  ];
  for (const width of [364, 800]) {
    const { places } = layout(/** @type {any} */ (pictures), width, measure);
    for (const { tall } of places) {
      assert.ok(tall > SIZE, `${tall} pixels for a line`);
      assert.equal(tall, places[0].tall);
    }
  }
});

test("rows of all heads, too many for a line each, make no picture of many screens", () => {
  const rows = axis(Array.from({ length: 160 }, (_, i) => `${i % 4} · word ${i}`));
  assert.ok(layout([picture(rows, numbers(32))], 800, measure).places[0].height <= 700);
});

test("a picture after a long sign stays on the canvas, with the labels at its right end", () => {
  const many = axis(Array.from({ length: 35 }, (_, i) => `word ${i}`));
  for (const sign of ["where", "softmax of"]) {
    const { places } = layout([picture(many, many, sign)], 364, measure);
    assert.ok(places[0].x + places[0].width + 12 <= 364, "the last label has no room");
  }
});

test("a cell is found at its place, and none between the pictures", () => {
  const { places } = layout(SUM, 1200, measure);
  const { x, y, wide, tall } = places[1];
  assert.deepEqual(cellAt(places, SUM, [x + 5.5 * wide, y + 2.5 * tall]), [1, 2, 5]);
  assert.equal(cellAt(places, SUM, [x - 3, y + tall]), null);
  assert.equal(cellAt(places, SUM, [x + wide, y + 4.5 * tall]), null);
});

test("as many labels are written as fit", () => {
  assert.equal(every(40, 34), 1);
  assert.equal(every(10, 34), 4);
  assert.equal(every(0.5, 34), 100);
});
