// @ts-check
// The path: where things are at a moment of a step, and the time that a user plays and steps through.

import assert from "node:assert/strict";
import test from "node:test";
import { sceneOf } from "../../viz/components/path/layout.js";
import { moment } from "../../viz/components/path/motion.js";
import { Player } from "../../viz/components/path/player.js";

/** @typedef {import("../../viz/components/path/layout.js").Part} Part */
/** @typedef {import("../../viz/components/path/layout.js").Step} Step */

/** @param {Partial<Part>} part @returns {Part} */
const made = (part) => ({
  ...{ name: "x", role: "in", form: "strip", sign: "", array: "a", ids: [], sizes: [8], labels: [] },
  ...{ marked: null, is_closed: false, scale: [-1, 1], group: "", is_share: false, ...part },
});
const TOKENS = ["I", "saw", "it"];
const Q = made({ name: "q", array: "q", sizes: [4] });
const KEYS = made({
  name: "keys",
  role: "with",
  form: "rows",
  array: "k",
  ids: ["k0", "k1", "k2"],
  sizes: [3, 4],
  labels: TOKENS,
});
const SCORES = made({ name: "scores", role: "out", form: "bars", array: "s", sizes: [3], labels: TOKENS });
/** @param {string} motion @param {Part[]} parts @returns {Step} */
const step = (motion, parts) => ({
  name: motion,
  chapter: "",
  title: "",
  motion,
  sentence: [["", "Now."]],
  parts,
});
const PROJECTING = step("project", [
  made({}),
  made({ name: "W", role: "with", form: "weights", array: "w", sizes: [4, 8] }),
  { ...Q, role: "out" },
]);
const MEETING = step("match", [Q, KEYS, SCORES]);
/** @param {Step} one */
const scene = (one, width = 800) => sceneOf(one, width, 8, (text) => 7 * text.length);

test("nothing lies outside, or on something else, at any width", () => {
  for (const width of [320, 400, 900, 1600]) {
    for (const one of [PROJECTING, MEETING]) {
      const { actors, height } = scene(one, width);
      for (const [
        i,
        {
          box: [x, y, w, h],
        },
      ] of actors.entries()) {
        assert.ok(x >= 0 && x + w <= width + 1 && y + h <= height);
        for (const { box } of actors.slice(i + 1))
          assert.ok(x + w <= box[0] || box[0] + box[2] <= x || y + h <= box[1] || box[1] + box[3] <= y);
      }
    }
  }
});

test("a caption wider than its column is broken between words, and none is written on another", () => {
  const weighing = step("column", [
    made({ ...SCORES, name: "masked scores", sign: "softmax of", role: "in" }),
    made({ ...SCORES, name: "weights", array: "w" }),
  ]);
  const { texts, actors } = scene(weighing, 320);
  const captions = texts.filter(({ part }) => part >= 0);
  assert.equal(captions.map(({ text }) => text).join(" "), "softmax of masked scores weights");
  for (const { text, at, limit, part } of captions) {
    assert.ok(7 * text.length <= limit, `“${text}” has ${limit} pixels`);
    assert.ok(captions.every((one) => one.part === part || at[0] + limit <= one.at[0] || one.at[0] < at[0]));
    assert.ok(actors.every(({ box }) => at[1] < box[1]));
  }
});

test("a step begins where the one before ended, and its result moves to its place in the next", () => {
  const [before, after] = [scene(PROJECTING), scene(MEETING)];
  const q = (/** @type {number} */ t) =>
    moment(MEETING, after, before, t).find((one) => one.actor.id === "q" && !one.isGhost && !one.isPast);
  assert.deepEqual(q(0)?.box, before.actors.find(({ id }) => id === "q")?.box);
  assert.deepEqual(q(0.5)?.box, after.actors.find(({ id }) => id === "q")?.box);
});

test("a query gives one score after the other", () => {
  const after = scene(MEETING);
  const grown = [0.3, 0.6, 1].map(
    (t) => moment(MEETING, after, null, t).find(({ actor }) => actor.id === "s")?.grown,
  );
  assert.deepEqual(grown[0], [0, 0, 0]);
  const [first, , last] = grown[1] ?? [];
  assert.ok(first > last);
  assert.equal(grown[2], undefined, "at the end everything is there");
});

/** A browser's clock, moved by hand. @param {boolean} still */
function browser(still) {
  /** @type {((now: number) => void)[]} */
  let waiting = [];
  /** @type {(() => void)[]} */
  let later = [];
  let now = 0;
  Object.assign(globalThis, {
    matchMedia: () => ({ matches: still }),
    performance: { now: () => now },
    requestAnimationFrame: (/** @type {(now: number) => void} */ call) => waiting.push(call),
    cancelAnimationFrame: () => {
      waiting = [];
    },
    setTimeout: (/** @type {() => void} */ call) => later.push(call),
    clearTimeout: () => {
      later = [];
    },
  });
  const frame = () => {
    now += 90;
    const calls = waiting;
    waiting = [];
    for (const call of calls) call(now);
  };
  return {
    rest: () => {
      while (waiting.length) frame();
    },
    frame,
    read: () => {
      const calls = later;
      later = [];
      for (const call of calls) call();
    },
    isIdle: () => !waiting.length && !later.length,
  };
}

function player() {
  /** @type {number[]} */
  const stops = [];
  /** @type {number[]} */
  const entered = [];
  const made = new Player({
    draw: () => {},
    describe: () => {},
    enter: () => entered.push(made.step),
    stop: () => stops.push(made.step),
  });
  made.take([PROJECTING, MEETING, PROJECTING]);
  made.place(0);
  return { made, stops, entered };
}

test("steps forward and back move, and then nothing runs", () => {
  const clock = browser(false);
  const { made, stops } = player();
  made.next();
  assert.deepEqual([made.step, made.t], [1, 0]);
  clock.rest();
  assert.deepEqual([made.step, made.t, stops], [1, 1, [1]]);
  assert.ok(clock.isIdle());
  made.previous();
  clock.frame();
  assert.ok(made.step === 1 && made.t < 1);
  clock.rest();
  assert.deepEqual([made.step, made.t, stops], [0, 1, [1, 0]]);
});

test("playing pauses in the middle, resumes there, and stops at the end", () => {
  const clock = browser(false);
  const { made, stops, entered } = player();
  made.toggle();
  clock.frame();
  const { t } = made;
  made.toggle();
  assert.ok(clock.isIdle() && t > 0 && t < 1);
  assert.deepEqual([made.step, made.t, stops], [1, t, [1]]);
  made.toggle();
  clock.rest();
  assert.deepEqual([made.step, made.t, stops], [1, 1, [1]], "not a stop: it is being read");
  clock.read();
  clock.rest();
  assert.deepEqual([made.step, made.isPlaying, stops], [2, false, [1, 2]]);
  assert.deepEqual(entered, [1, 2], "what follows the path while it plays");
});

test("twice as fast takes half as many frames", () => {
  const frames = [1, 2].map((speed) => {
    const clock = browser(false);
    const { made } = player();
    made.speed = speed;
    made.next();
    clock.rest();
    return made.frames;
  });
  assert.ok(Math.abs(frames[0] - 2 * frames[1]) <= 2, String(frames));
});

test("without motion there are only the ends of steps", () => {
  const clock = browser(true);
  const { made } = player();
  made.toggle();
  assert.equal(made.isPlaying, false);
  made.next();
  assert.deepEqual([made.step, made.t, made.frames], [1, 1, 0]);
  made.seek(1.4);
  assert.deepEqual([made.step, made.t], [1, 1]);
  made.previous();
  assert.deepEqual([made.step, clock.isIdle()], [0, true]);
});
