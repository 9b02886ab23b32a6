// @ts-check
import assert from "node:assert/strict";
import test from "node:test";
import { addressOf, baseOf, isLarge } from "../../viz/components/scenes/address.js";
import { commandOf } from "../../viz/components/scenes/keys.js";

/** @param {string} key @param {Partial<KeyboardEvent>} [held] */
const pressed = (key, held = {}) => ({ key, ctrlKey: false, metaKey: false, altKey: false, ...held });

test("a presenter's keys step wherever the focus is, arrow keys where nothing else takes them", () => {
  for (const where of /** @type {const} */ (["page", "view", "field"])) {
    assert.equal(commandOf(pressed("PageDown"), where), "next");
    assert.equal(commandOf(pressed("PageUp"), where), "previous");
  }
  assert.equal(commandOf(pressed("ArrowRight"), "page"), "next");
  assert.equal(commandOf(pressed("ArrowLeft"), "page"), "previous");
  assert.equal(commandOf(pressed("Home"), "page"), "first");
  assert.equal(commandOf(pressed("End"), "page"), "last");
  for (const key of ["ArrowRight", "Home"]) {
    assert.equal(commandOf(pressed(key), "view"), undefined);
    assert.equal(commandOf(pressed(key), "field"), undefined);
  }
});

test("Escape ends the show and F toggles full screen, except while typing", () => {
  for (const where of /** @type {const} */ (["page", "view"])) {
    assert.equal(commandOf(pressed("Escape"), where), "end");
    assert.equal(commandOf(pressed("f"), where), "screen");
    assert.equal(commandOf(pressed("F"), where), "screen");
  }
  assert.equal(commandOf(pressed("Escape"), "field"), undefined);
  assert.equal(commandOf(pressed("f"), "field"), undefined);
});

test("the browser's own keys and all others are left alone", () => {
  for (const held of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }]) {
    assert.equal(commandOf(pressed("PageDown", held), "page"), undefined);
    assert.equal(commandOf(pressed("f", held), "page"), undefined);
  }
  for (const key of ["a", " ", "Enter", "toString"]) assert.equal(commandOf(pressed(key), "page"), undefined);
});

test("the app's base is where a page's path begins", () => {
  assert.equal(baseOf("/", ""), "/");
  assert.equal(baseOf("/masks", "masks"), "/");
  assert.equal(baseOf("/tools/headlight/masks", "masks"), "/tools/headlight/");
  assert.equal(baseOf("/tools/headlight", ""), "/tools/headlight/");
});

test("an address holds all choices of a scene, safely encoded", () => {
  const choices = { text: "a & b = c # ? ☃", layer: "3", of: ["1", "2"], large: "true" };
  const address = addressOf({ page: "masks", choices }, "/base/", false);
  const { pathname, searchParams, hash } = new URL(address, "http://127.0.0.1");
  assert.equal(pathname, "/base/masks");
  assert.equal(hash, "");
  assert.deepEqual(
    [...searchParams],
    [
      ["text", "a & b = c # ? ☃"],
      ["layer", "3"],
      ["of", "1"],
      ["of", "2"],
    ],
  );
});

test("the first page has no path, and large type depends on the room", () => {
  const scene = { page: "explore", choices: {} };
  assert.equal(addressOf(scene, "/", false), "/?");
  assert.equal(addressOf(scene, "/", true), "/?large=true");
  assert.ok(isLarge("?text=a&large=true"));
  assert.ok(!isLarge("?large=false"));
});
