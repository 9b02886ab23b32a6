// @ts-check
// Work after the next frame: once it is painted, the latest work only, and none that was dropped.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { AfterPaint } from "../../viz/components/shared/after_paint.js";

/** @type {Map<number, () => void>} */
const frames = new Map();
/** @type {(() => void)[]} */
let messages = [];
let count = 0;

Object.assign(globalThis, {
  requestAnimationFrame: (/** @type {() => void} */ call) => {
    frames.set(++count, call);
    return count;
  },
  cancelAnimationFrame: (/** @type {number} */ frame) => frames.delete(frame),
  MessageChannel: class {
    port1 = { onmessage: () => {} };
    port2 = { postMessage: () => messages.push(() => this.port1.onmessage()) };
  },
});

function frame() {
  const calls = [...frames.values()];
  frames.clear();
  for (const call of calls) call();
}

function handleMessages() {
  const calls = messages;
  messages = [];
  for (const call of calls) call();
}

beforeEach(() => {
  frames.clear();
  messages = [];
});

test("work is done after the frame, not in it", () => {
  const [after, done] = [new AfterPaint(), /** @type {string[]} */ ([])];
  after.run(() => done.push("work"));
  assert.equal(after.isWaiting, true);
  frame();
  assert.deepEqual(done, []);
  assert.equal(after.isWaiting, true);
  handleMessages();
  assert.deepEqual(done, ["work"]);
  assert.equal(after.isWaiting, false);
});

test("only the latest work is done, also where the frame of the earlier has come", () => {
  const [after, done] = [new AfterPaint(), /** @type {string[]} */ ([])];
  after.run(() => done.push("first"));
  after.run(() => done.push("second"));
  frame();
  after.run(() => done.push("third"));
  handleMessages();
  assert.deepEqual(done, []);
  frame();
  handleMessages();
  assert.deepEqual(done, ["third"]);
});

test("dropped work is not done", () => {
  const [after, done] = [new AfterPaint(), /** @type {string[]} */ ([])];
  after.run(() => done.push("work"));
  after.drop();
  frame();
  after.run(() => done.push("more"));
  frame();
  after.drop();
  handleMessages();
  assert.deepEqual(done, []);
  assert.equal(after.isWaiting, false);
});
