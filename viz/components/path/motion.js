// @ts-check
// Where everything is at a moment of a step. First what the step before ended with moves to its place and the rest
// of the operands appear; then the result grows out of them. A moment depends on nothing but the time, so that the
// path can be played, searched and stepped through in both directions.

import { clamp } from "../shared/numbers.js";

/** @typedef {import("./layout.js").Scene} Scene */
/** @typedef {import("./layout.js").Step} Step */
/** @typedef {import("./layout.js").Actor} Actor */
/** @typedef {import("../shared/canvas.js").Box} Box */
/**
 * @typedef {object} Shown
 * @property {Actor} actor
 * @property {Box} box
 * @property {number} alpha
 * @property {number[]} [grown] the share of each bar, or of the vector from its left, that is there
 * @property {boolean} [isGhost] a copy on its way
 * @property {boolean} [isPast] of the step before
 */

/** The share of a step in which things take their places. */
export const ARRIVAL = 0.3;
const RISE = 30;

/** @param {number} t from 0 to 1 */
const eased = (t) => t * t * (3 - 2 * t);
/** The eased share of a span of time. @param {number} t @param {number} start @param {number} end */
export const within = (t, start, end) => eased(clamp((t - start) / (end - start), 0, 1));
/** @param {Box} from @param {Box} to @param {number} t */
export const between = (from, to, t) =>
  /** @type {Box} */ (to.map((end, i) => from[i] + (end - from[i]) * t));

/** When part i of n happens, if they happen one after the other and overlap. @param {number} t @param {number} i @param {number} n */
export const inTurn = (t, i, n) => within(t, i / (n + 1), (i + 2) / (n + 1));

/**
 * @param {Step} step
 * @param {Scene} scene
 * @param {Scene | null} before the scene of the step before
 * @param {number} t from 0 to 1
 * @returns {Shown[]}
 */
export function moment(step, scene, before, t) {
  const arrival = within(t, 0, ARRIVAL);
  const growth = clamp((t - ARRIVAL) / (1 - ARRIVAL), 0, 1);
  const operands = scene.actors.filter(({ part }) => step.parts[part].role !== "out");
  const results = scene.actors.filter(({ part }) => step.parts[part].role === "out");
  const staying = new Set(scene.actors.map(({ id }) => id));
  /** @type {Shown[]} */
  const shown = [];
  for (const actor of before?.actors ?? []) {
    if (staying.has(actor.id) || arrival === 1) continue;
    const [x, y, w, h] = actor.box;
    shown.push({ actor, box: [x, y - RISE * arrival, w, h], alpha: 1 - arrival, isPast: true });
  }
  for (const actor of operands) {
    // The last of equal ones: the result of the step before.
    const from = before?.actors.findLast(({ id }) => id === actor.id);
    const [x, y, w, h] = actor.box;
    shown.push(
      from
        ? { actor, box: between(from.box, actor.box, arrival), alpha: 1 }
        : { actor, box: [x, y + RISE * (1 - arrival), w, h], alpha: arrival },
    );
  }
  return [...shown, ...grow(step, operands, results, growth)];
}

/**
 * The result, and copies of the operands on their way to it.
 * @param {Step} step @param {Actor[]} operands @param {Actor[]} results @param {number} t from 0 to 1
 * @returns {Shown[]}
 */
function grow(step, operands, results, t) {
  if (t === 1) return results.map((actor) => ({ actor, box: actor.box, alpha: 1 }));
  const moving = operands.filter(({ part }) => step.parts[part].role === "in");
  const met = operands.filter(({ part }) => step.parts[part].role === "with");
  const n = results.length;
  switch (step.motion) {
    case "project":
      return through(
        moving[0],
        met.find(({ part }) => step.parts[part].form === "weights"),
        results[0],
        t,
      );
    case "each":
      return results.flatMap((actor, i) => passed(moving[i], gateOf(step, operands), actor, inTurn(t, i, n)));
    case "match":
      return matched(
        moving[0],
        met.filter(({ part }) => step.parts[part].form === "rows"),
        results[0],
        t,
      );
    case "column":
      return [
        {
          actor: results[0],
          box: between(moving[0].box, results[0].box, within(t, 0, 0.8)),
          alpha: Math.min(1, 3 * t),
          grown: [within(t, 0.2, 1)],
        },
      ];
    case "average":
      return averaged(met, results[0], t);
    case "join":
      return joined(moving, results[0], t);
    case "sum":
      return [
        ...[...moving, ...met].map((actor) =>
          ghost(actor, between(actor.box, results[0].box, within(t, 0, 0.8)), 0.7 * (1 - within(t, 0.7, 1))),
        ),
        { actor: results[0], box: results[0].box, alpha: within(t, 0.5, 0.9) },
      ];
    case "appear":
      return results.map((actor, i) => risen(actor, inTurn(t, i, n)));
    default:
      return results.flatMap((actor) =>
        moving[0] ? turned(moving[0], actor, t) : [risen(actor, within(t, 0, 1))],
      );
  }
}

/** @param {Actor} actor @param {Box} box @param {number} alpha @returns {Shown} */
const ghost = (actor, box, alpha) => ({ actor, box, alpha, isGhost: true });

/** The weight matrix of a table. @param {Step} step @param {Actor[]} operands */
const gateOf = (step, operands) => operands.find(({ part }) => step.parts[part].form === "weights");

/** @param {Actor} actor @param {number} t @returns {Shown} */
const risen = (actor, t) => ({
  actor,
  box: [actor.box[0], actor.box[1] + RISE * (1 - t), actor.box[2], actor.box[3]],
  alpha: t,
});

/** One thing becomes another on its way. @param {Actor} from @param {Actor} to @param {number} t */
function turned(from, to, t) {
  const box = between(from.box, to.box, within(t, 0, 0.8));
  return [ghost(from, box, 1 - within(t, 0.3, 0.9)), { actor: to, box, alpha: within(t, 0.3, 0.9) }];
}

/**
 * A vector sweeps over the rows of a matrix: each gives one number of the result.
 * @param {Actor} from @param {Actor | undefined} matrix @param {Actor} to @param {number} t
 * @returns {Shown[]}
 */
function through(from, matrix, to, t) {
  if (!matrix) return turned(from, to, t);
  const [x, y, w, h] = matrix.box;
  const sweep = clamp((t - 0.15) / 0.8, 0, 1);
  const start = /** @type {Box} */ ([x, y - 4, w, 8]);
  const box =
    t < 0.15
      ? between(from.box, start, within(t, 0, 0.15))
      : /** @type {Box} */ ([x, y - 4 + h * sweep, w, 8]);
  return [
    { actor: to, box: to.box, alpha: 1, grown: [sweep] },
    ghost(from, box, 0.95 * (1 - within(t, 0.95, 1))),
  ];
}

/**
 * A token's vector passes through the matrix between the columns.
 * @param {Actor | undefined} from @param {Actor | undefined} matrix @param {Actor} to @param {number} t
 * @returns {Shown[]}
 */
function passed(from, matrix, to, t) {
  if (!from) return [risen(to, t)];
  if (!matrix) return turned(from, to, t);
  const [x, , w] = matrix.box;
  const gate = /** @type {Box} */ ([x, from.box[1], w, from.box[3]]);
  if (t <= 0) return [];
  if (t < 0.5) return [ghost(from, between(from.box, gate, within(t, 0, 0.5)), 0.9)];
  return [{ actor: to, box: between(gate, to.box, within(t, 0.5, 1)), alpha: within(t, 0.4, 0.7) }];
}

/**
 * A query goes down the keys; each gives a score when it is met.
 * @param {Actor} query @param {Actor[]} keys @param {Actor} scores @param {number} t
 * @returns {Shown[]}
 */
function matched(query, keys, scores, t) {
  const n = keys.length;
  const at = clamp((t - 0.12) / 0.83, 0, 1) * n - 0.5;
  const grown = keys.map((_, i) => clamp(at - i + 0.5, 0, 1));
  const row = clamp(at, 0, n - 1);
  const [low, high] = [keys[Math.floor(row)].box, keys[Math.ceil(row)].box];
  const here = between(low, high, row % 1);
  const box = t < 0.12 ? between(query.box, here, within(t, 0, 0.12)) : here;
  // The upper half of the row, so that the key stays in sight.
  const half = t < 0.12 ? box : /** @type {Box} */ ([box[0], box[1], box[2], box[3] / 2]);
  return [{ actor: scores, box: scores.box, alpha: 1, grown }, ghost(query, half, 1 - within(t, 0.95, 1))];
}

/**
 * Values go to their average; the painter pales each by its weight.
 * @param {Actor[]} values @param {Actor} result @param {number} t
 * @returns {Shown[]}
 */
function averaged(values, result, t) {
  const n = values.length;
  const copies = values.map((actor, i) => {
    const moved = inTurn(t, i, n);
    return ghost(actor, between(actor.box, result.box, moved), moved > 0 && moved < 1 ? 1 : 0);
  });
  return [
    {
      actor: result,
      box: result.box,
      alpha: 1,
      grown: values.map((_, i) => within(inTurn(t, i, n), 0.8, 1)),
    },
    ...copies,
  ];
}

/**
 * Heads go side by side.
 * @param {Actor[]} heads @param {Actor} result @param {number} t
 * @returns {Shown[]}
 */
function joined(heads, result, t) {
  const [x, y, w, h] = result.box;
  const n = heads.length;
  const copies = heads.map((actor, i) =>
    ghost(actor, between(actor.box, [x + (i * w) / n, y, w / n, h], inTurn(t, i, n)), t > 0 ? 1 : 0),
  );
  return [...copies, { actor: result, box: result.box, alpha: within(t, 0.92, 1) }];
}
