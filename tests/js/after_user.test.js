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

test("a user's change is reported before a view's", async () => {
  /** @type {string[]} */
  const order = [];
  await new Promise((told) => {
    act("keydown", () => order.push("user"));
    afterUser(() => told(order.push("view")));
  });
  assert.deepEqual(order, ["user", "view"]);
});

test("so is a change made while the view waits", async () => {
  /** @type {string[]} */
  const order = [];
  await new Promise((told) => {
    afterUser(() => told(order.push("view")));
    act("change", () => order.push("user"));
  });
  assert.deepEqual(order, ["user", "view"]);
});

test("an idle user is not waited for", async () => {
  runs = 0;
  const told = await new Promise((resolve) => {
    afterUser(() => resolve("view"));
    setTimeout(() => resolve("later"));
  });
  assert.equal(told, "view");
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(runs, 0);
});

test("a change made before the view's report arrives runs the whole page", async () => {
  await new Promise((heard) => {
    afterUser(() => setTimeout(heard));
    setTimeout(() => listeners.keydown());
  });
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(runs, 1);
});
