// @ts-check
// What can be seen in the chosen head, computed from its weights.

import { format, percent as spaced } from "../shared/numbers.js";
import { quoted } from "../shared/words.js";

/** @typedef {import("./panels.js").Scene} Scene */

/** A head rests on special tokens if they get more than this share of its attention: MOSTLY_RESTS in Python. */
export const RESTS = 0.5;
/** A share of a head's attention that is called most of it. */
const MOST = 0.5;
/** The least share that is named where nothing gets most of the attention. */
const WORTH_NAMING = 0.2;
/** Of a head that aligns: rows that go on along its path, and different keys among the rows' largest. */
const MOST_OF_PATH = 0.7;
const SOME = 0.4;
/** How many keys a path goes on by at most; where two words change places, it goes back by one. */
const STEP = 3;
/** Rows whose largest weight is below this on average are spread out. */
const SPREAD = 0.4;

/** A share on one line. @param {number} share */
const percent = (share) => spaced(share).replaceAll(" ", "\u00a0");

/**
 * What the weights of a head show.
 * @typedef {object} Reading
 * @property {number} resting the share of its attention that special tokens get
 * @property {string[]} sinks these tokens
 * @property {number} largest the largest weight of a row, averaged over rows
 * @property {number} keys the number of keys over which a row divides its attention: 2 to the entropy, averaged
 * @property {Map<number, number>} offsets the share at each distance from query to key, in self-attention
 * @property {{key: number, share: number}} favourite the ordinary key that gets most
 * @property {number} different the share of different keys among the rows' largest
 * @property {number} path the share of rows whose largest weight is at the key of the row before or next to it
 * @property {[query: number, key: number, weight: number][]} pairs rows' largest weights on ordinary keys
 */

/**
 * @param {Scene} scene
 * @returns {Reading | null} null while the weights are missing
 */
export function reading({ run, attn, choice }) {
  const weights = run.weights(attn, choice.layer, choice.head);
  if (!weights) return null;
  const side = run.sides[attn.keys];
  const ordinary = new Set(side.tokens.keys());
  for (const key of [...side.special, ...side.punctuation]) ordinary.delete(key);
  const [queries, keys] = run.size(attn);
  const received = new Float64Array(keys);
  /** @type {Map<number, number>} */
  const offsets = new Map();
  /** @type {Reading["pairs"]} */
  const pairs = [];
  let [rows, largest, count] = [0, 0, 0];
  for (let query = 0; query < queries; query++) {
    const row = weights.subarray(query * keys, (query + 1) * keys);
    let [entropy, best] = [0, 0];
    for (const [key, weight] of row.entries()) {
      if (!(weight > 0)) continue;
      received[key] += weight;
      entropy -= weight * Math.log2(weight);
      if (weight > row[best]) best = key;
      if (attn.queries === attn.keys) offsets.set(key - query, (offsets.get(key - query) ?? 0) + weight);
    }
    if (!(row[best] > 0)) continue;
    rows++;
    largest += row[best];
    count += 2 ** entropy;
    if (ordinary.has(best)) pairs.push([query, best, row[best]]);
  }
  if (!rows) return null;
  for (const [offset, weight] of offsets) offsets.set(offset, weight / rows);
  const shares = received.map((weight) => weight / rows);
  const sinks = side.special.toSorted((a, b) => shares[b] - shares[a]).filter((key) => shares[key] > 0.1);
  const favourite = [...ordinary].reduce((best, key) => (shares[key] > (shares[best] ?? 0) ? key : best), -1);
  const moves = pairs.slice(1).map(([, key], i) => key - pairs[i][1]);
  return {
    resting: attn.resting[choice.layer][choice.head],
    sinks: [...new Set(sinks.map((key) => side.tokens[key]))],
    largest: largest / rows,
    keys: count / rows,
    offsets,
    favourite: { key: favourite, share: shares[favourite] ?? 0 },
    different: new Set(pairs.map(([, key]) => key)).size / Math.min(rows, ordinary.size || 1),
    path: moves.filter((move) => move >= -1 && move <= STEP).length / (moves.length || 1),
    pairs: pairs.sort((a, b) => b[2] - a[2]),
  };
}

/**
 * @param {Reading} found
 * @param {Scene} scene
 * @returns {string} the pattern of the head, in a sentence
 */
export function pattern(
  { resting, sinks, largest, keys, offsets, favourite, different, path },
  { run, attn },
) {
  const tokens = run.sides[attn.keys].tokens;
  if (resting > RESTS) {
    const names = sinks.map(quoted).join(" and ");
    return `This head mostly rests on ${names || "special tokens"}: ${percent(resting)} of its attention goes there, which is where a head looks when it finds nothing to look for.`;
  }
  const [offset, share] = [...offsets].reduce((best, own) => (own[1] > best[1] ? own : best), [0, 0]);
  if (share > MOST) {
    return `This head mostly looks at ${distance(offset, run.unit)}: ${percent(share)} of its attention goes there.`;
  }
  if (favourite.share > MOST) {
    return `This head mostly looks at ${quoted(tokens[favourite.key])}, whatever the row: ${percent(favourite.share)} of its attention goes there.`;
  }
  if (largest < SPREAD) {
    return `This head spreads its attention: a row divides it among about ${format(keys, 0)} of ${tokens.length} tokens.`;
  }
  if (path > MOST_OF_PATH && different > SOME && attn.queries !== attn.keys) {
    return "This head aligns the two sentences: most rows look at one token each, and the strongest cells form a path.";
  }
  const few = `This head looks at few tokens at a time: the largest weight of a row is ${format(largest, 2)} on average.`;
  const most = Math.max(share, favourite.share);
  if (most <= WORTH_NAMING) return few;
  const where = share === most ? distance(offset, run.unit) : quoted(tokens[favourite.key]);
  return `${few} The largest part, ${percent(most)}, goes to ${where}.`;
}

/** @param {number} offset of the key from the query @param {string} unit */
function distance(offset, unit) {
  if (!offset) return `the ${unit} itself`;
  const count = Math.abs(offset) === 1 ? `one ${unit}` : `${Math.abs(offset)} ${unit}s`;
  return `what is ${count} ${offset < 0 ? "back" : "ahead"}`;
}
