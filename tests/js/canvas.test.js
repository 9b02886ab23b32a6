// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { shorten } from "../../viz/components/shared/canvas.js";

/** A pen with which every letter is 10 wide. */
const pen = { measureText: (/** @type {string} */ text) => ({ width: 10 * [...text].length }) };

test("what fits stays whole", () => {
  assert.equal(shorten(pen, "raccoon", 70), "raccoon");
});

test("a text that does not fit keeps as much of its beginning as possible, and an ellipsis", () => {
  assert.equal(shorten(pen, "raccoon", 69), "racco…");
  assert.equal(shorten(pen, "raccoon", 20), "r…");
  assert.equal(shorten(pen, "raccoon", 5), "…");
});

test("no character is cut in half", () => {
  assert.equal(shorten(pen, "😀😀😀", 20), "😀…");
});
