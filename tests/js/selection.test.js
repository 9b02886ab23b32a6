// @ts-check
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { KEY_DELAY, Selection } from "../../viz/components/shared/selection.js";

const { setTimeout, clearTimeout } = globalThis;
/** What waits, by number: the delay and what then happens. @type {Map<number, [number, () => void]>} */
const timers = new Map();
/** @type {unknown[]} */
let told = [];
/** @type {Selection} */
let selection;

/** Let all the time pass that anything waits for. */
function wait() {
  for (const [id, [, action]] of [...timers]) {
    timers.delete(id);
    action();
  }
}

beforeEach(() => {
  let last = 0;
  const later = (/** @type {() => void} */ action, delay = 0) => {
    last += 1;
    timers.set(last, [delay, action]);
    return last;
  };
  Object.assign(globalThis, {
    setTimeout: later,
    clearTimeout: (/** @type {number} */ id) => timers.delete(id),
  });
  told = [];
  selection = new Selection((chosen) => told.push(chosen));
});

afterEach(() => {
  timers.clear();
  Object.assign(globalThis, { setTimeout, clearTimeout });
});

test("a click is reported at once, and once", () => {
  selection.report(3);
  assert.deepEqual(told, [3]);
  wait();
  selection.flush();
  assert.deepEqual(told, [3]);
});

test("of successive keys only the last is reported, after the delay", () => {
  for (const step of [1, 2, 3]) selection.report(step, KEY_DELAY);
  assert.deepEqual(told, []);
  assert.deepEqual(
    [...timers.values()].map(([delay]) => delay),
    [KEY_DELAY],
  );
  wait();
  assert.deepEqual(told, [3]);
});

test("a waiting selection is reported before the user turns elsewhere, and not again", () => {
  selection.report(1, KEY_DELAY);
  selection.flush();
  assert.deepEqual(told, [1]);
  assert.equal(timers.size, 0);
});

test("a click replaces a waiting selection", () => {
  selection.report(1, KEY_DELAY);
  selection.report(2);
  wait();
  assert.deepEqual(told, [2]);
});

test("a dropped selection is never reported", () => {
  selection.report(1, KEY_DELAY);
  selection.forget();
  selection.flush();
  wait();
  assert.deepEqual(told, []);
});

test("a selection moves with Python", () => {
  assert.ok(selection.movedByPython(null), "the first is news, also none");
  assert.ok(!selection.movedByPython(null));
  assert.ok(selection.movedByPython([0, 1]));
  assert.ok(!selection.movedByPython([0, 1]));
  assert.ok(selection.movedByPython({ top_k: 5 }));
});

test("a selection that the user has moved further stays where it is", () => {
  selection.movedByPython([0, 0]);
  selection.report([0, 2], KEY_DELAY);
  assert.ok(!selection.movedByPython([0, 1]), "what Python says of an earlier key is old");
  wait();
  assert.ok(!selection.movedByPython([0, 2]), "its answer says what is chosen already");
});

test("a late answer to an earlier choice does not undo a later one", () => {
  assert.equal(selection.movedByPython("first"), true);
  for (const chosen of ["second", "third"]) selection.report(chosen);
  assert.equal(selection.movedByPython("second"), false);
  assert.equal(selection.movedByPython("third"), false);
  assert.equal(selection.movedByPython("second"), true, "all was answered: now Python has moved it");
});

test("an answer to the last choice answers those before it too", () => {
  for (const chosen of ["second", "third"]) selection.report(chosen);
  assert.equal(selection.movedByPython("third"), false);
  assert.equal(selection.movedByPython("second"), true);
});

test("Python may move back to what the user chose before", () => {
  selection.report("second");
  assert.equal(selection.movedByPython("elsewhere"), true);
  assert.equal(selection.movedByPython("second"), true);
});
