// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

/** @type {string[]} */
const entries = [];
const location = { href: "http://127.0.0.1/", pathname: "/" };
/** @type {Record<string, string>} */
const dataset = {};
/** @type {{act: () => void, after: number}[]} */
const timers = [];
/** @param {unknown} _state @param {string} _unused @param {string} url */
function replaceState(_state, _unused, url) {
  ({ href: location.href, pathname: location.pathname } = new URL(url, location.href));
}
/** @param {[unknown, string, string]} change */
function pushState(...change) {
  entries.push(change[2]);
  replaceState(...change);
}
Object.assign(globalThis, {
  location,
  history: { state: null, pushState, replaceState },
  document: {
    body: {},
    documentElement: { dataset, hasAttribute: (/** @type {string} */ name) => name.slice(5) in dataset },
    querySelector: () => ({ getAttribute: () => "notRunning" }),
    querySelectorAll: () => [],
  },
  addEventListener: () => {},
  dispatchEvent: () => true,
  PopStateEvent: class {},
  MutationObserver: class {
    observe() {}
  },
  setTimeout: (/** @type {() => void} */ act, /** @type {number} */ after) => timers.push({ act, after }),
});
const { navigate } = await import("../../viz/components/bridge/navigation.js");
const { Visit } = await import("../../viz/components/scenes/visit.js");

test("a page that is only passed gets no entry in the history, whichever script came first", () => {
  const visit = new Visit();
  navigate();
  visit.go("/masks?sentence=2", false);
  visit.go("/?text=I", false);
  history.pushState(null, "", "/masks?sentence=2");
  history.pushState(null, "", "/?text=I");
  assert.deepEqual(entries, []);
  visit.arrive();
  history.pushState(null, "", "/masks");
  assert.deepEqual(entries, ["/masks"]);
});

test("a run too short to be seen running ends the visit", () => {
  const visit = new Visit();
  visit.go("/?text=I", false);
  timers.length = 0;
  visit.count(visit.steps);
  assert.equal(timers.length, 0, "nothing has come yet");
  visit.count(visit.steps + 1);
  for (const { act } of timers.splice(0)) act();
  assert.equal(visit.target, null);
});
