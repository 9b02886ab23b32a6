// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { GridLayout } from "../../viz/components/attention_grid/layout.js";
import {
  CLOSED,
  paintMaps,
  palette,
  pool,
  scaleFor,
  sharedScale,
  TOP,
  valueAt,
} from "../../viz/components/attention_grid/pixels.js";
import { pixel, ramp } from "../../viz/components/shared/color.js";

const names = (/** @type {number} */ count) => Array.from({ length: count }, (_, i) => `n${i}`);
const grid = (layers = 3, heads = 5, queries = 7, keys = 11, width = 900) =>
  new GridLayout(
    { layers: names(layers), heads: names(heads), queries: names(queries), keys: names(keys) },
    width,
    70,
  );

test("the middle of each map is found as that map", () => {
  for (const at of [grid(), grid(12, 16), grid(1, 1, 1, 40), grid(6, 8, 40, 1, 400)]) {
    for (let layer = 0; layer < at.counts[0]; layer++) {
      for (let head = 0; head < at.counts[1]; head++) {
        const [x, y] = at.middle(layer, head);
        assert.deepEqual(at.mapAt(x, y), [layer, head]);
      }
    }
  }
});

test("there is no map on the labels and beyond the last", () => {
  const at = grid();
  const [right, bottom] = at.corner(3, 5);
  assert.equal(at.mapAt(at.gutter - 1, 100), null);
  assert.equal(at.mapAt(at.gutter + 5, 5), null);
  assert.equal(at.mapAt(right + 1, 100), null);
  assert.equal(at.mapAt(at.gutter + 5, bottom + 1), null);
});

test("a grid has the width there is, and maps the shape of their sentence", () => {
  for (const width of [400, 900, 1900]) {
    const at = grid(6, 8, 20, 20, width);
    assert.ok(at.extent[0] <= width);
    assert.equal(at.box[0], at.box[1]);
  }
  const wide = grid(2, 2, 10, 20);
  assert.equal(wide.box[1], Math.round(wide.box[0] / 2));
});

test("a place in a map is a block of it; the gap after a map is none", () => {
  const at = grid();
  const [x, y] = at.corner(1, 2);
  assert.deepEqual(at.blockAt([1, 2], x + 0.5, y + 0.5, [7, 11]), [0, 0]);
  assert.deepEqual(at.blockAt([1, 2], x + at.box[0] - 0.5, y + at.box[1] - 0.5, [7, 11]), [6, 10]);
  assert.equal(at.blockAt([1, 2], x + at.box[0] + 1, y + 1, [7, 11]), null);
});

test("pooled to fewer pixels, each is the largest of its blocks", () => {
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
  assert.deepEqual(scaleFor("weights", 0.25, 0.75), [0, 0.75]);
  assert.deepEqual(scaleFor("scores", -3, 2), [-3, 3]);
  const [low, high] = [Float32Array.of(NaN, -4, 0), Float32Array.of(NaN, 1, 2)];
  assert.deepEqual(sharedScale("scores", low, high), [-4, 4], "a map without an open cell has no numbers");
});

test("a map's palette is its part of the scale", () => {
  const colors = ramp(["#000000", "#ffffff"]);
  const own = palette(colors, 0, 0.5, [0, 1]);
  assert.equal(own.length, TOP + 1);
  assert.equal(own[0], pixel(colors[0]));
  assert.equal(own[TOP], pixel(colors[128]));
  assert.equal(
    palette(colors, 0, 0, [0, 0])[0],
    pixel(colors[0]),
    "a scale without width is no division by 0",
  );
});

test("maps stand by layer below each other, by head beside each other; closed cells stay transparent", () => {
  const levels = Uint8Array.of(1, 2, 3, CLOSED, 5, 6, 7, 8);
  const paletteOf = (/** @type {number} */ map) =>
    Array.from({ length: 255 }, (_, level) => 100 * map + level);
  const pixels = paintMaps(levels, [1, 2], 2, [2, 1], paletteOf);
  assert.deepEqual([...pixels], [1, 2, 103, 0, 205, 206, 307, 308]);
});
