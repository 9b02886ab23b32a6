// @ts-check
// The numbers of a matrix as a table.

import { fixed, format } from "../../shared/numbers.js";

/** @typedef {import("./matrix.js").MatrixData} MatrixData */

/** A float32 to four decimals. @param {number} value */
export const fourDecimals = (value) => (Number.isFinite(value) ? fixed(value, 4) : format(value));

/** The text of a closed cell: the reason, with its number if that is not 0. @param {number} value @param {string} reason */
function closedText(value, reason) {
  return value === 0 || !Number.isFinite(value) ? reason : `${fourDecimals(value)} (${reason})`;
}

/**
 * @param {Pick<MatrixData, "values" | "closed" | "reasons" | "queries" | "keys" | "numbers" | "roles" | "axis" | "sums" | "rounded">} data
 * @param {string} caption
 * @returns {import("../table/table.js").Numbers}
 */
export function matrixNumbers(
  { values, closed, reasons, queries, keys, numbers, roles, axis, sums, rounded },
  caption,
) {
  const at = (/** @type {number} */ row) => Array.from(keys, (_, key) => row * keys.length + key);
  /** @type {import("../table/table.js").Heading[]} */
  const columns = keys.map((key, i) => [String(numbers[1][i]), key]);
  /** @type {import("../table/table.js").Heading[]} */
  const rows = queries.map((query, i) => [String(numbers[0][i]), query, roles?.[i]]);
  const isSum = (/** @type {number} */ row) => row === queries.length;
  if (sums) rows.push(["", sums.title]);
  // Only the known decimals of rounded numbers are passed on.
  const known = (/** @type {number} */ value) => (rounded ? Number(value.toFixed(4)) : value);
  const open = (/** @type {number} */ value) => (value === 0 && rounded?.zero) || fourDecimals(value);
  return {
    caption: rounded ? `${caption}, ${rounded.note}` : caption,
    corner: `${axis} ↓  key →`,
    columns,
    rows,
    cells: (row) =>
      sums && isSum(row)
        ? Array.from(sums.columns, fourDecimals)
        : at(row).map((i) => (closed[i] ? closedText(values[i], reasons[closed[i] - 1]) : open(values[i]))),
    exact: (row) =>
      (sums && isSum(row) ? Array.from(sums.columns) : at(row).map((i) => values[i])).map(known),
  };
}
