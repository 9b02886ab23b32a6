// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { css, hatchSwatch, inkOn, pixel, ramp, shade } from "../../viz/components/shared/color.js";

test("a ramp passes its stops in equal steps", () => {
  const colors = ramp(["#000000", "#0a141e", "#ffffff"], 5);
  assert.deepEqual(colors[0], [0, 0, 0]);
  assert.deepEqual(colors[1], [5, 10, 15]);
  assert.deepEqual(colors[2], [10, 20, 30]);
  assert.deepEqual(colors[4], [255, 255, 255]);
  assert.equal(ramp(["#000000", "#ffffff"]).length, 256);
});

test("a share of the scale is the number of its colour", () => {
  assert.deepEqual([0, 0.5, 1, -3, 7].map(shade), [0, 128, 255, 0, 255]);
  assert.equal(shade(NaN), 0);
});

test("a colour is written for CSS and for an image", () => {
  assert.equal(css([1, 2, 255]), "rgb(1,2,255)");
  assert.equal(pixel([1, 2, 255]), 0xffff0201);
});

test("ink contrasts with its ground", () => {
  assert.equal(inkOn([255, 255, 255]), "#000");
  assert.equal(inkOn([0, 0, 0]), "#fff");
  assert.equal(inkOn([0, 120, 215]), "#000");
  assert.equal(inkOn([0, 0, 255]), "#fff");
});

test("each of three reasons has stripes of its own", () => {
  const colors = { hatch: "#111111", masked: "#eeeeee" };
  const angles = [1, 2, 3, 4].map((reason) => hatchSwatch(colors, reason).match(/\d+(?=deg)/g));
  assert.deepEqual(angles, [["135"], ["45"], ["135", "45"], ["135"]]);
  assert.ok(hatchSwatch(colors).endsWith(",#eeeeee"));
});
