// @ts-check
// The parts of the picture: columns of tokens, and attentions that link them.

/** @typedef {[column: number, position: number]} Token */

/**
 * @typedef {object} Column
 * @property {string} title
 * @property {import("../run.js").Stack} stack
 * @property {string[]} labels
 * @property {number[][]} groups the positions of each label's tokens
 */

/**
 * One layer of one attention.
 * @typedef {object} Link
 * @property {string} label
 * @property {number} layer
 * @property {number} from the column of its queries
 * @property {number} to the column of its keys; the same column if its lines are arcs
 * @property {(import("./kept.js").Kept | null)[]} heads null while one is missing
 */

/**
 * A token's part in a link: as a query it has a row, as a key a column.
 * @typedef {object} Relation
 * @property {Link} link
 * @property {"query" | "key"} role of the token
 * @property {number} other the column next to which its numbers are written
 */

/**
 * The attentions of a token: its row where it is a query, its column where it is only a key.
 * @param {Link[]} links
 * @param {Token} token
 * @returns {Relation[]}
 */
export function relationsOf(links, [column]) {
  const rows = links.filter(({ from }) => from === column);
  const columns = links.filter(({ from, to }) => from !== column && to === column);
  return [
    ...rows.map((link) => /** @type {Relation} */ ({ link, role: "query", other: link.to })),
    ...columns.map((link) => /** @type {Relation} */ ({ link, role: "key", other: link.from })),
  ];
}

/**
 * The weights between a token and each of the others, in one head.
 * @param {Relation} relation
 * @param {number} head
 * @param {number} position of the token
 * @returns {Float32Array | null}
 */
export function weightsOf({ link, role }, head, position) {
  const kept = link.heads[head];
  if (!kept) return null;
  if (role === "query") return kept.row(position);
  const { weights, keys } = kept;
  return Float32Array.from({ length: weights.length / keys }, (_, query) => weights[query * keys + position]);
}

/**
 * The mean of these heads; null while all are missing.
 * @param {Relation} relation
 * @param {number[]} heads
 * @param {number} position
 */
export function meansOf(relation, heads, position) {
  const own = heads.flatMap((head) => weightsOf(relation, head, position) ?? []);
  return own.length ? own[0].map((_, i) => own.reduce((sum, row) => sum + row[i], 0) / own.length) : null;
}

/**
 * The places of the largest positive weights, the largest first.
 * @param {ArrayLike<number>} weights
 * @param {number} count
 */
export function strongest(weights, count) {
  /** @type {number[]} */
  const places = [];
  for (let i = 0; i < weights.length; i++) {
    if (!(weights[i] > 0) || (places.length === count && weights[i] <= weights[places[count - 1]])) continue;
    const before = places.findIndex((place) => weights[place] < weights[i]);
    places.splice(before < 0 ? places.length : before, 0, i);
    places.length = Math.min(places.length, count);
  }
  return places;
}

/**
 * A token's place among other columns; null if it is hidden.
 * @param {Token | null} token
 * @param {Column[]} before
 * @param {Column[]} columns
 * @returns {Token | null}
 */
export function moved(token, before, columns) {
  if (!token) return null;
  const { stack, groups } = before[token[0]];
  const own =
    columns[token[0]].stack === stack ? token[0] : columns.findIndex((column) => column.stack === stack);
  const position = columns[own]?.groups.findIndex((group) => group.includes(groups[token[1]][0])) ?? -1;
  return position < 0 ? null : [own, position];
}

/**
 * A token as its column and its first position in the run; a word has several positions.
 * @param {Token} token
 * @param {Column[]} columns
 * @returns {Token}
 */
export const positioned = ([column, place], columns) => [column, columns[column].groups[place][0]];

/**
 * The inverse of `positioned`; null if the picture lacks the token.
 * @param {Token | null} token
 * @param {Column[]} columns
 * @returns {Token | null}
 */
export function placed(token, columns) {
  const place = token ? columns[token[0]].groups.findIndex((group) => group.includes(token[1])) : -1;
  return token && place >= 0 ? [token[0], place] : null;
}
