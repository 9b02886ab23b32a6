// @ts-check
// The animation from one stage to the next: pictures of both stages move, new ones appear, and the result grows out
// of the first operand.

/** @typedef {import("../shared/canvas.js").Box} Box */
/** @typedef {{path: string, box: Box}} Stood */

export const MILLISECONDS = 400;
/** The share of the time spent moving; the result grows in the rest. */
const MOVING = 0.5;

/** Whether the reader prefers no motion. */
export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** @param {number} t from 0 to 1 */
const eased = (t) => t * t * (3 - 2 * t);

/** @param {Box} from @param {Box} to @param {number} t */
const between = (from, to, t) => /** @type {Box} */ (to.map((end, i) => from[i] + (end - from[i]) * t));

/** @param {number} t @param {number} start @param {number} end */
const within = (t, start, end) => eased(Math.min(1, Math.max(0, (t - start) / (end - start))));

/**
 * The position and opacity of every picture at a moment.
 * @param {Stood[]} now the last one is the result
 * @param {Stood[]} before the previous stage's
 * @param {number} t from 0 to 1
 * @returns {{box: Box, alpha: number}[]}
 */
export function moment(now, before, t) {
  return now.map(({ path, box }, number) => {
    if (number === now.length - 1 && now.length > 1) {
      const grown = within(t, MOVING, 1);
      return { box: between(now[0].box, box, grown), alpha: grown };
    }
    const arrived = within(t, 0, MOVING);
    // The last picture of the same tensor: the previous stage's result.
    const stood = path ? before.findLast((one) => one.path === path) : undefined;
    return stood ? { box: between(stood.box, box, arrived), alpha: 1 } : { box, alpha: arrived };
  });
}
