// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

/** @type {Record<string, () => void>} */
const listeners = {};
let runs = 0;
Object.assign(globalThis, {
  document: { dispatchEvent: () => runs++ },
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
  runs = 0;
  const told = await new Promise((resolve) => {
    afterUser(() => resolve("view"));
    setTimeout(() => resolve("later"));
  });
  assert.equal(told, "view");
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(runs, 0);
});

test("for what the user does before the view is heard the whole page is run", async () => {
  await new Promise((heard) => {
    afterUser(() => setTimeout(heard));
    setTimeout(() => listeners.keydown());
  });
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(runs, 1);
});
