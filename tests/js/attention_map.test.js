// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { fewest, hiddenMass, Kept } from "../../viz/components/attention/map/kept.js";
import { MapLayout, TALLEST } from "../../viz/components/attention/map/layout.js";
import {
  meansOf,
  moved,
  relationsOf,
  strongest,
  weightsOf,
} from "../../viz/components/attention/map/links.js";
import { strokesOf } from "../../viz/components/attention/map/strokes.js";
import { massWords, notes, sentence } from "../../viz/components/attention/map/words.js";
import { ViewerRun } from "../../viz/components/attention/run.js";
import { Sheet } from "../../viz/components/attention/sheet.js";
import { contrast, rgbOf } from "../../viz/components/shared/color.js";

// What is kept of a row

test("the fewest keys that hold a share are kept", () => {
  const row = Float32Array.of(0.5, 0.125, 0.375);
  assert.deepEqual([...fewest(row, 0.5)], [0]);
  assert.deepEqual([...fewest(row, 0.6)], [0, 2]);
  assert.deepEqual([...fewest(row, 1)], [0, 1, 2]);
  assert.deepEqual([...fewest(Float32Array.of(0, 1, 0), 1)], [1], "a weight of 0 is never needed");
  assert.deepEqual([...fewest(Float32Array.of(0, 0), 0.9)], [], "a row that looks at nothing");
});

test("among equal weights the first are kept", () => {
  assert.deepEqual([...fewest(Float32Array.of(0.25, 0.25, 0.25, 0.25), 0.5)], [0, 1]);
  assert.deepEqual([...fewest(Float32Array.of(0.2, 0.4, 0.2, 0.2), 0.6)], [0, 1]);
});

test("another share keeps other keys", () => {
  const kept = new Kept(Float32Array.of(0.5, 0.125, 0.375, 0, 1, 0), 3);
  assert.deepEqual([...kept.of(0, 0.5)], [0]);
  assert.deepEqual([...kept.of(0, 0.8)], [0, 2]);
  assert.deepEqual([...kept.of(1, 0.8)], [1]);
  assert.equal(kept.largest, 1);
});

// Links between columns: 2 source tokens, 3 target tokens, 2 heads, in the second of which nothing is known of cross

/** @typedef {import("../../viz/components/attention/map/links.js").Link} Link */

/** @param {string} label @param {[number, number]} ends @param {(number[] | null)[]} heads @param {number} keys @returns {Link} */
const link = (label, [from, to], heads, keys) => ({
  label,
  layer: 0,
  from,
  to,
  heads: heads.map((own) => own && new Kept(Float32Array.from(own), keys)),
});
const encoder = link(
  "Encoder self-attention",
  [0, 0],
  [
    [1, 0, 0.5, 0.5],
    [0, 1, 0.25, 0.75],
  ],
  2,
);
const decoder = link("Decoder self-attention", [1, 1], [[1, 0, 0, 0.5, 0.5, 0, 0.25, 0.5, 0.25]], 3);
const cross = link("Cross-attention", [1, 0], [[0.25, 0.75, 1, 0, 0.5, 0.5], null], 2);
const links = [encoder, cross, decoder];

test("a token has its row where it is a query, and its column where it is a key only", () => {
  const ofSource = relationsOf(links, [0, 1]).map(({ link, role, other }) => [link.label, role, other]);
  assert.deepEqual(ofSource, [
    ["Encoder self-attention", "query", 0],
    ["Cross-attention", "key", 1],
  ]);
  const ofTarget = relationsOf(links, [1, 0]).map(({ link, role, other }) => [link.label, role, other]);
  assert.deepEqual(ofTarget, [
    ["Cross-attention", "query", 0],
    ["Decoder self-attention", "query", 1],
  ]);
});

test("a row and a column have the numbers of the head", () => {
  const [, asKey] = relationsOf(links, [0, 1]);
  const [asQuery] = relationsOf(links, [1, 0]);
  assert.deepEqual([...(weightsOf(asKey, 0, 1) ?? [])], [0.75, 0, 0.5]);
  assert.deepEqual([...(weightsOf(asQuery, 0, 0) ?? [])], [0.25, 0.75]);
  assert.equal(weightsOf(asQuery, 1, 0), null);
});

test("the mean covers the heads that are here", () => {
  const [own, asKey] = relationsOf(links, [0, 1]);
  assert.deepEqual([...(meansOf(own, [0, 1], 1) ?? [])], [0.375, 0.625]);
  assert.deepEqual([...(meansOf(asKey, [0, 1], 1) ?? [])], [0.75, 0, 0.5]);
  assert.equal(meansOf(asKey, [1], 1), null);
});

test("the strongest come first, equals in order, zeros never", () => {
  assert.deepEqual(strongest([0.1, 0.4, 0, 0.4, 0.05], 3), [1, 3, 0]);
  assert.deepEqual(strongest([0, 0.2], 3), [1]);
});

test("a locked token stays when the columns change, and is freed when hidden", () => {
  /** @param {import("../../viz/components/attention/run.js").Stack} stack @param {number[][]} groups */
  const column = (stack, groups) => ({ title: "", stack, labels: groups.map(String), groups });
  const source = column("encoder", [[0], [1], [2]]);
  const target = column("decoder", [[0], [1]]);
  assert.deepEqual(moved([0, 1], [target, source], [source, target]), [1, 1], "of one to all");
  assert.deepEqual(
    moved([1, 2], [target, source], [column("encoder", [[0], [1, 2]]), target]),
    [0, 1],
    "words",
  );
  assert.equal(moved([0, 0], [source, target], [column("encoder", [[1]]), target]), null);
  assert.deepEqual(moved([1, 2], [source, source], [source, source]), [1, 2], "a key of a self-attention");
});

// Strokes

/** Colours as the light theme has them. */
const colors = /** @type {import("../../viz/components/shared/color.js").Colors} */ (
  /** @type {unknown} */ ({
    background: "#ffffff",
    text: "#111418",
    categorical: "#0072b2 #d55e00 #009e73 #cc79a7 #000000 #e69f00 #56b4e9 #f0e442".split(" "),
  })
);

test("56 heads have 56 visible strokes", () => {
  const strokes = strokesOf(56, colors);
  assert.equal(new Set(strokes.map(({ color, dash }) => JSON.stringify([color, dash]))).size, 56);
  for (const { color } of strokes) assert.ok(contrast(rgbOf(color), rgbOf("#ffffff")) >= 2);
  assert.deepEqual(
    strokesOf(4, colors),
    strokes.slice(0, 4),
    "a head's stroke does not depend on the others",
  );
});

test("numbers in a head's colour are readable", () => {
  for (const { ink } of strokesOf(7, colors)) {
    const rgb = /** @type {import("../../viz/components/shared/color.js").Rgb} */ (
      (ink.match(/\d+/g) ?? []).map(Number)
    );
    assert.ok(contrast(rgb, rgbOf("#ffffff")) >= 4.5);
  }
});

// Places

/** @param {number} source @param {number} target @param {{arcs?: boolean, heads?: number, room?: number}} [how] */
const layout = (source, target, { arcs = true, heads = 8, room = 560 } = {}) => {
  const tokens = [source, target].map((count) => Array.from({ length: count }, (_, i) => `token${i}`));
  return new MapLayout(tokens, arcs, heads, room, (text) => 0.5 * text.length, 1);
};

test("a token is found at its place", () => {
  for (const at of [layout(3, 5), layout(5, 3, { arcs: false })]) {
    for (const [column, position] of [
      [0, 2],
      [1, 1],
    ]) {
      const [start, end] = at.boxes[column];
      assert.deepEqual(at.tokenAt((start + end) / 2, at.y(position), 0), [column, position]);
    }
    const [left, right] = at.boxes;
    assert.equal(at.tokenAt((left[1] + right[0]) / 2, at.y(0), 0), null, "between the columns");
    assert.equal(at.tokenAt(left[0] + 1, 3, 0), null, "the titles");
  }
  assert.equal(layout(3, 5).tokenAt(100, layout(3, 5).y(3), 0), null, "the source ends before");
});

test("the picture keeps to its width, with a gap between its columns", () => {
  for (const room of [320, 400, 560, 940, 1900]) {
    for (const heads of [1, 3, 16]) {
      const at = layout(9, 12, { heads, room });
      assert.ok(at.width <= room, `${at.width} of ${room}`);
      assert.ok(at.boxes[1][0] - at.boxes[0][1] >= 32, `${room}`);
    }
  }
});

test("each head has a number if there is room; otherwise their mean is shown", () => {
  assert.equal(layout(9, 9, { heads: 3, room: 1200 }).numbers, 3);
  assert.equal(layout(9, 9, { heads: 3, room: 400 }).numbers, 1);
  assert.equal(layout(9, 9, { heads: 5, room: 1900 }).numbers, 1);
});

test("a long sentence scrolls in a bounded box, and both columns reach their ends together", () => {
  const at = layout(300, 100);
  assert.equal(at.view, TALLEST);
  const end = at.height - at.view;
  for (const [column, count] of [
    [0, 300],
    [1, 100],
  ]) {
    assert.ok(at.seenAt(column, 0, 0) > at.title);
    const last = at.seenAt(column, count - 1, end);
    assert.ok(last < TALLEST && last > TALLEST - at.row, "the last token stands at the bottom");
    const [first, beyond] = at.seen(column, end);
    assert.equal(beyond, count);
    assert.ok(beyond - first < 40, "only what is seen is drawn");
  }
  assert.equal(layout(300, 9).pace(1), 0, "a column that has room stays");
});

test("scrolling reveals a token", () => {
  const at = layout(300, 100);
  for (const token of /** @type {[number, number][]} */ ([
    [0, 250],
    [1, 60],
    [1, 99],
  ])) {
    const y = at.seenAt(...token, at.reveal(token, 0));
    assert.ok(y > at.title && y < at.view);
  }
  assert.equal(at.reveal([0, 3], 0), 0, "a token that is seen is not moved");
});

// Words

const held = new ViewerRun({
  run: "1",
  channel: "",
  unit: "word",
  whole: true,
  pooled: 48,
  rounded: [],
  absent: "",
  sides: {
    encoder: {
      tokens: ["a", "b", "."],
      special: [],
      punctuation: [2],
      words: null,
      word_of: null,
      written: [],
      spelled: [],
      predicted: [],
    },
    decoder: {
      tokens: ["<bos>", "c"],
      special: [0],
      punctuation: [],
      words: null,
      word_of: null,
      written: [],
      spelled: [],
      predicted: [],
    },
  },
  attentions: [
    {
      name: "cross",
      label: "Cross-attention",
      queries: "decoder",
      keys: "encoder",
      layers: 1,
      heads: 2,
      kv_heads: 2,
      path: "",
      formula: "",
      scale: 1,
      soft_cap: 0,
      reasons: [],
      causal: false,
      has: [],
      easiest: [0, 0],
      resting: [[0, 0]],
    },
  ],
  others: [],
  views: ["map"],
  grid: true,
  detail: true,
  "weights:cross/values": Float32Array.of(0, 0, 1, 0.5, 0.25, 0.25, 1, 0, 0, 0.5, 0, 0.5),
});
const choice = /** @type {import("../../viz/components/attention/choice.js").Choice} */ ({
  by: "token",
  rows: "read",
  special: "hide",
});

test("hidden mass is the average over the rows and heads that are shown", () => {
  const sheet = new Sheet(held, held.attentions[0], choice);
  assert.deepEqual(sheet.queries, ["c"]);
  assert.equal(hiddenMass(sheet, 0, [0]), 0.25);
  assert.equal(hiddenMass(sheet, 0, [0, 1]), 0.375);
  assert.equal(hiddenMass(sheet, 0, []), null);
});

test("the words say what the lines show and what is hidden", () => {
  const one = [{ label: "Cross-attention", hidden: 0.375 }];
  assert.equal(
    massWords(90, "keep", [{ label: "", hidden: null }]),
    "Lines show at least 90 % of each row’s attention.",
  );
  assert.match(
    massWords(100, "hide", one),
    /show all of each row.* receive 37\.5 % of the attention on average and are hidden/,
  );
  assert.match(massWords(90, "spread", one), /37\.5 %.* their share is spread over the rest/);
  const both = [...one, { label: "Encoder self-attention", hidden: 0.1 }];
  assert.match(
    massWords(90, "hide", both),
    /37\.5 % \(cross-attention\), 10\.0 % \(encoder self-attention\)/,
  );
});

test("the notes name each attention's layer, and what is still loading", () => {
  const deep = { ...cross, layer: 2 };
  const told = notes({ links: [encoder, deep], coming: 1, top: 0.3 }, true);
  for (const part of [
    "1 head is still loading",
    "Encoder self-attention, layer 0",
    "Cross-attention, layer 2",
    "up to 0.3",
    "Scroll",
  ])
    assert.ok(told.includes(part), part);
});

test("a token's attention is described in words", () => {
  const columns = [
    { title: "source", stack: /** @type {const} */ ("encoder"), labels: ["a", "b"], groups: [[0], [1]] },
    {
      title: "target",
      stack: /** @type {const} */ ("decoder"),
      labels: ["c", "d", "e"],
      groups: [[0], [1], [2]],
    },
  ];
  const said = sentence({ columns, links, strokes: [], shown: [0] }, [1, 0]);
  assert.match(said, /^target 0\. Cross-attention, layer 0: .*c.* looks at b 0\.75, a 0\.25\. Decoder/);
});
