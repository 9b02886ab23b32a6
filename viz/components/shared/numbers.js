// @ts-check
// Small arithmetic, and how numbers are written.

/** @param {number} x @param {number} low @param {number} high */
export const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

/**
 * The place one step away, clamped to the grid of places.
 * @param {readonly number[]} place
 * @param {readonly number[]} step
 * @param {readonly number[]} counts
 */
export const stepped = (place, step, counts) =>
  /** @type {[number, number]} */ (place.map((at, i) => clamp(at + step[i], 0, counts[i] - 1)));

/** @param {readonly number[]} values */
export const sum = (values) => values.reduce((a, b) => a + b, 0);

/**
 * A fixed number of decimals with a real minus sign, and none before zero.
 * @param {number} value
 * @param {number} digits
 */
export const fixed = (value, digits) =>
  value
    .toFixed(digits)
    .replace(/^-(?=[0.]*$)/, "")
    .replace("-", "−");

/** A number of any size, written briefly. @param {number} value */
export function format(value, digits = 2) {
  if (Number.isNaN(value)) return "not a number";
  if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
  const size = Math.abs(value);
  const tiny = size > 0 && size < 0.5 * 10 ** -digits;
  if (tiny) return value.toExponential(1).replaceAll("-", "−");
  return fixed(value, size >= 100 ? Math.min(digits, 1) : digits);
}

/**
 * A rounded probability; nothing possible is shown as 0 and nothing uncertain as 100.
 * @param {number} p
 */
export function percent(p) {
  if (p > 0 && p < 0.0005) return "< 0.1 %";
  if (p < 1 && p >= 0.9995) return "> 99.9 %";
  return `${(100 * p).toFixed(1)} %`;
}

/** ".23" for 0.23. @param {number} weight */
export const withoutZero = (weight) => weight.toFixed(2).replace(/^0/, "");

/** @param {number} n */
export const grouped = (n) => n.toLocaleString("en");
