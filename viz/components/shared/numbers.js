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

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
/** From this size on a number that rounds to 0 gets further decimals, as its neighbours have decimals too. */
const LEAST_DECIMAL = 1e-4;

/** A number of any size, written briefly. @param {number} value */
export function format(value, digits = 2) {
  if (Number.isNaN(value)) return "not a number";
  if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
  const size = Math.abs(value);
  const tiny = size > 0 && size < 0.5 * 10 ** -digits;
  if (tiny && size >= LEAST_DECIMAL) return fixed(value, 1 - Math.floor(Math.log10(size)));
  if (tiny) return inPowersOfTen(value);
  return fixed(value, size >= 100 ? Math.min(digits, 1) : digits);
}

/** "1.2·10⁻⁷". @param {number} value */
function inPowersOfTen(value) {
  const [factor, power] = value.toExponential(1).replace("-", "−").split("e");
  const raised = [...power.replace("−", "-")].map((sign) => SUPERSCRIPTS[Number(sign)] ?? "⁻").join("");
  return `${factor}·10${raised}`;
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
