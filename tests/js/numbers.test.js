// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { clamp, fixed, format, percent, stepped, withoutZero } from "../../viz/components/shared/numbers.js";

test("a number is written as briefly as its size allows", () => {
  assert.equal(format(0.25), "0.25");
  assert.equal(format(-1.5), "−1.50");
  assert.equal(format(0.12345, 4), "0.1235");
  assert.equal(format(123.456), "123.5");
  assert.equal(format(0), "0.00");
});

test("what rounds to nothing keeps its size", () => {
  assert.equal(format(0.004), "0.0040");
  assert.equal(format(-0.00029), "−0.00029");
  assert.equal(format(-1e-12, 4), "−1.0·10⁻¹²");
  assert.equal(format(3e-9), "3.0·10⁻⁹");
});

test("non-finite numbers are written as words or signs", () => {
  assert.equal(format(NaN), "not a number");
  assert.equal(format(Infinity), "∞");
  assert.equal(format(-Infinity), "−∞");
});

test("a zero has no sign", () => {
  assert.equal(fixed(-0.001, 2), "0.00");
  assert.equal(fixed(-0, 1), "0.0");
  assert.equal(fixed(-0.06, 1), "−0.1");
});

test("nothing possible is shown as 0 %, and nothing uncertain as 100 %", () => {
  assert.equal(percent(0), "0.0 %");
  assert.equal(percent(0.0004), "< 0.1 %");
  assert.equal(percent(0.0005), "0.1 %");
  assert.equal(percent(0.9994), "99.9 %");
  assert.equal(percent(0.9996), "> 99.9 %");
  assert.equal(percent(1), "100.0 %");
});

test("a weight below 1 is written without its zero", () => {
  assert.equal(withoutZero(0.234), ".23");
  assert.equal(withoutZero(1), "1.00");
});

test("a step ends at the edges", () => {
  assert.deepEqual(stepped([0, 2], [-1, 0], [3, 4]), [0, 2]);
  assert.deepEqual(stepped([1, 3], [0, 1], [3, 4]), [1, 3]);
  assert.deepEqual(stepped([1, 2], [1, 0], [3, 4]), [2, 2]);
  assert.deepEqual(stepped([-1, -1], [1, 0], [3, 4]), [0, 0]);
  assert.equal(clamp(5, 0, 3), 3);
});
