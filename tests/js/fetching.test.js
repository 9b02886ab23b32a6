// What is asked for: first what a picture waits for, then what may be chosen next.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Fetching } from "../../viz/components/attention/fetching.js";

/** @returns {[Fetching, string[][]]} and what it has asked for */
function fetching() {
  /** @type {string[][]} */
  const asked = [];
  return [new Fetching((names) => asked.push(names)), asked];
}

test("pieces that a picture waits for are not requested together with likely ones", () => {
  const [own, asked] = fetching();
  own.want(["head"], ["next", "previous"]);
  assert.deepEqual(asked, [["head"]]);
  own.came(["head"]);
  assert.deepEqual(asked, [["head"], ["next", "previous"]]);
  own.forget();
});

test("one request at a time; the next one asks for what is wanted by then", () => {
  const [own, asked] = fetching();
  own.want([], ["next"]);
  own.want(["head"], ["next"]);
  assert.deepEqual(asked, [["next"]]);
  own.came(["next"]);
  assert.deepEqual(asked, [["next"], ["head"]]);
  own.came(["head"]);
  assert.equal(asked.length, 2);
  own.forget();
});
