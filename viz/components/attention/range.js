// @ts-check
// The ends of the colour scale: one number has one colour in all pictures of an attention.

/** If all weights are below this, the scale ends before 1: they would be pale otherwise. */
const FAINT = 0.5;

/**
 * @param {import("./choice.js").Measure} measure
 * @param {number} lowest
 * @param {number} highest
 * @returns {[number, number]}
 */
export function rangeFor(measure, lowest, highest) {
  if (measure === "scores" || measure === "masked") return centred(lowest, highest);
  if (measure === "moved") return [0, highest || 1];
  const isFaint = highest > 0 && highest < FAINT;
  return [0, isFaint ? Math.ceil(highest * 10 - 1e-6) / 10 : 1];
}

/**
 * A scale that reaches equally far to both sides of 0.
 * @param {number} lowest
 * @param {number} highest
 * @returns {[number, number]}
 */
export function centred(lowest, highest) {
  const reach = Math.max(Math.abs(lowest), Math.abs(highest)) || 1;
  return [-reach, reach];
}

/**
 * The lowest and highest open number.
 * @param {ArrayLike<number>} values
 * @param {Uint8Array} [closed]
 * @returns {[number, number]}
 */
export function extremes(values, closed) {
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (closed?.[i]) continue;
    if (value < low && value > -Infinity) low = value;
    if (value > high && value < Infinity) high = value;
  }
  return low > high ? [0, 0] : [low, high];
}
