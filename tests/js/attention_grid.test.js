// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { GridLayout } from "../../viz/components/attention/grid/layout.js";
import { ordersOf, ranked, SCORES } from "../../viz/components/attention/grid/order.js";
import {
  CLOSED,
  paintMaps,
  palette,
  pool,
  TOP,
  valueAt,
} from "../../viz/components/attention/grid/pixels.js";
import { rangeFor } from "../../viz/components/attention/range.js";
import { pixel, ramp } from "../../viz/components/shared/color.js";

/** @typedef {{order?: number[] | null, width?: number, tallest?: number}} Options */

const grid = (layers = 3, heads = 5, queries = 7, keys = 11, /** @type {Options} */ options = {}) => {
  const { order = null, width = 900, tallest = 450 } = options;
  return new GridLayout({ counts: [layers, heads], order, aspect: queries / keys }, width, tallest, 70);
};

/** Every map, the last first. @param {number} count */
const reversed = (count) => Array.from({ length: count }, (_, i) => count - 1 - i);

test("the middle of each map finds that map, by layer and in an order", () => {
  const layouts = [
    { at: grid(), counts: [3, 5] },
    { at: grid(12, 16), counts: [12, 16] },
    { at: grid(1, 1, 1, 40), counts: [1, 1] },
    { at: grid(6, 8, 40, 1, { width: 400 }), counts: [6, 8] },
    { at: grid(3, 5, 7, 11, { order: reversed(15) }), counts: [3, 5] },
    { at: grid(24, 16, 7, 7, { order: reversed(384), width: 365 }), counts: [24, 16] },
  ];
  for (const { at, counts } of layouts) {
    for (let layer = 0; layer < counts[0]; layer++) {
      for (let head = 0; head < counts[1]; head++) {
        assert.deepEqual(at.mapAt(...at.middle(layer, head)), [layer, head]);
      }
    }
  }
});

test("there is no map on the labels or beyond the last map", () => {
  const at = grid();
  const [right, bottom] = at.extent;
  assert.equal(at.mapAt(at.gutter - 1, 100), null);
  assert.equal(at.mapAt(at.gutter + 5, 5), null);
  assert.equal(at.mapAt(right + 5, 100), null);
  assert.equal(at.mapAt(at.gutter + 5, bottom + 5), null);
  const ordered = grid(1, 5, 7, 7, { order: reversed(5), width: 340, tallest: 360 });
  const [x, y] = ordered.middle(0, 0);
  assert.equal(ordered.mapAt(x + ordered.pitch[0], y), null, "nothing comes after the last of an order");
});

test("a grid fills the width, and maps have the shape of their sentence", () => {
  for (const width of [400, 900, 1900]) {
    const at = grid(6, 8, 20, 20, { width });
    assert.ok(at.extent[0] <= width);
    assert.equal(at.box[0], at.box[1]);
  }
  const wide = grid(2, 2, 10, 20);
  assert.equal(wide.box[1], Math.round(wide.box[0] / 2));
});

test("a grid keeps to its height, unless its maps would be too small to distinguish", () => {
  for (const tallest of [300, 450, 700]) assert.ok(grid(6, 8, 20, 20, { tallest }).extent[1] <= tallest);
  const many = grid(24, 16, 20, 20);
  assert.ok(many.extent[1] > 450);
  assert.ok(many.box[1] >= 26);
  assert.ok(many.extent[0] <= 900);
});

test("ordered maps are placed row by row, best rank first, with room for their labels", () => {
  const order = [4, 2, 0, 1, 3, 5];
  const at = grid(2, 3, 7, 7, { order, width: 365 });
  const places = order.map((map) => at.corner(Math.floor(map / 3), map % 3));
  for (const [i, [x, y]] of places.entries()) {
    assert.equal(x, at.gutter + (i % at.columns) * at.pitch[0]);
    assert.equal(y, at.header + at.caption + Math.floor(i / at.columns) * at.pitch[1]);
  }
  assert.ok(at.caption > 0);
  assert.ok(at.pitch[1] >= at.box[1] + at.caption);
  assert.ok(at.extent[0] <= 365);
});

test("arrow keys move through the maps shown, and stop at the ends", () => {
  const byLayer = grid();
  assert.deepEqual(byLayer.step([1, 2], [1, 0]), [2, 2]);
  assert.deepEqual(byLayer.step([1, 2], [0, -1]), [1, 1]);
  assert.deepEqual(byLayer.step([2, 4], [1, 0]), [2, 4]);
  assert.deepEqual(byLayer.step(null, [0, 1]), [0, 0]);
  const order = [4, 2, 0, 1, 3];
  const at = grid(1, 5, 7, 7, { order, width: 260, tallest: 360 });
  assert.ok(at.columns < 5);
  assert.deepEqual(at.step([0, 4], [0, 1]), [0, 2], "the second in rank");
  assert.deepEqual(at.step([0, 4], [1, 0]), [0, order[at.columns]]);
  assert.deepEqual(at.step([0, 3], [1, 0]), [0, 3], "nothing stands below the last row");
});

test("scrolling to a map moves no further than necessary to show it whole next to the labels", () => {
  const at = grid(24, 16, 20, 20, { width: 300 });
  const view = /** @type {[number, number]} */ ([300, 450]);
  assert.deepEqual(at.reveal([0, 0], [0, 0], view), [0, 0]);
  const [left, top] = at.reveal([23, 15], [0, 0], view);
  const [x, y] = at.corner(23, 15);
  assert.ok(x + at.box[0] <= left + 300 && y + at.box[1] <= top + 450);
  assert.ok(x - left >= at.gutter && y - top >= at.header);
  assert.deepEqual(at.reveal([0, 0], [500, 500], view), [0, 0]);
});

test("ranks rise or fall, and equal scores keep their order", () => {
  const scores = Float32Array.of(2, 0.5, 3, 0.5);
  assert.deepEqual(ranked(scores, true), [1, 3, 0, 2]);
  assert.deepEqual(ranked(scores, false), [2, 0, 1, 3]);
  assert.ok(SCORES.entropy.rising && !SCORES.sharpness.rising);
});

test("heads are ordered only by scores that distinguish them", () => {
  /** @param {object} attn @param {number[]} special @returns {string[]} */
  const orders = (attn, special) =>
    ordersOf(
      /** @type {any} */ ({ sides: { encoder: { special }, decoder: { special } } }),
      /** @type {any} */ ({ queries: "decoder", keys: "encoder", layers: 2, heads: 3, has: [], ...attn }),
    );
  assert.ok(!orders({}, [0]).includes("distance"), "two sentences have no common positions");
  assert.ok(orders({ keys: "decoder" }, [0]).includes("distance"));
  assert.ok(!orders({}, []).includes("special"));
  assert.ok(orders({ has: ["costs"] }, []).includes("cost") && !orders({}, []).includes("cost"));
  assert.deepEqual(orders({ layers: 1, heads: 1 }, [0]), ["layer"]);
});

test("a point in a map belongs to a block; the gap after it to none", () => {
  const at = grid();
  const [x, y] = at.corner(1, 2);
  assert.deepEqual(at.blockAt([1, 2], x + 0.5, y + 0.5, [7, 11]), [0, 0]);
  assert.deepEqual(at.blockAt([1, 2], x + at.box[0] - 0.5, y + at.box[1] - 0.5, [7, 11]), [6, 10]);
  assert.equal(at.blockAt([1, 2], x + at.box[0] + 1, y + 1, [7, 11]), null);
});

test("pooling to fewer pixels keeps the largest level of each block", () => {
  const levels = Uint8Array.of(1, 9, 3, 4, 5, 6, 7, 8, 2, 10, 11, CLOSED);
  assert.deepEqual([...pool(levels, [3, 4], 4, 3)], [...levels.slice(0, 11), -1]);
  assert.deepEqual([...pool(levels, [3, 4], 2, 1)], [10, 11]);
  assert.deepEqual([...pool(new Uint8Array(4).fill(CLOSED), [2, 2], 1, 1)], [-1]);
});

test("levels go from a map's smallest value to its largest", () => {
  assert.equal(valueAt(0, -2, 6), -2);
  assert.equal(valueAt(TOP, -2, 6), 6);
  assert.equal(valueAt(TOP / 2, -2, 6), 2);
});

test("weights are coloured from 0, scores to both sides of it", () => {
  assert.deepEqual(rangeFor("moved", 0.25, 0.75), [0, 0.75]);
  assert.deepEqual(rangeFor("scores", -3, 2), [-3, 3]);
});

test("a map's palette is its part of the scale", () => {
  const colors = ramp(["#000000", "#ffffff"]).map(pixel);
  const own = palette(colors, 0, 0.5, [0, 1]);
  assert.equal(own.length, TOP + 1);
  assert.equal(own[0], colors[0]);
  assert.equal(own[TOP], colors[128]);
  assert.equal(palette(colors, 0, 0, [0, 0])[0], colors[0], "a scale without width is no division by 0");
});

test("maps are arranged by layer and head; closed cells stay transparent", () => {
  const levels = Uint8Array.of(1, 2, 3, CLOSED, 5, 6, 7, 8);
  const paletteOf = (/** @type {number} */ map) =>
    Array.from({ length: 255 }, (_, level) => 100 * map + level);
  const pixels = paintMaps(levels, [1, 2], 2, [2, 1], paletteOf);
  assert.deepEqual([...pixels], [1, 2, 103, 0, 205, 206, 307, 308]);
  const narrow = paintMaps(levels, [1, 2], 2, [1, 1], paletteOf);
  assert.deepEqual([...narrow], [2, 103, 206, 308], "with less room, the largest of several");
});
