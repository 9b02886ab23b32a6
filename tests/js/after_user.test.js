// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

/** @type {Record<string, () => void>} */
const listeners = {};
Object.assign(globalThis, {
  addEventListener: (/** @type {string} */ name, /** @type {() => void} */ listener) => {
    listeners[name] = listener;
  },
});
const { afterUser } = await import("../../viz/components/shared/after_user.js");

/** The user does something, and a widget tells it as Streamlit does. @param {string} name @param {() => void} tell */
function act(name, tell) {
  listeners[name]();
  setTimeout(tell);
}

test("what the user has just told goes first", async () => {
  /** @type {string[]} */
  const order = [];
  await new Promise((told) => {
    act("keydown", () => order.push("user"));
    afterUser(() => told(order.push("view")));
  });
  assert.deepEqual(order, ["user", "view"]);
});

test("so does what the user tells while the view waits", async () => {
  /** @type {string[]} */
  const order = [];
  await new Promise((told) => {
    afterUser(() => told(order.push("view")));
    act("change", () => order.push("user"));
  });
  assert.deepEqual(order, ["user", "view"]);
});

test("nobody is waited for who does nothing", async () => {
  const told = await new Promise((resolve) => {
    afterUser(() => resolve("view"));
    setTimeout(() => resolve("later"));
  });
  assert.equal(told, "view");
});
