// @ts-check
// The tooltips of a matrix's cells and of its sums.

import { format } from "../../shared/numbers.js";
import { quoted } from "../../shared/words.js";

/** The text of a number that is not here yet. */
export const PENDING = "…";

/** @typedef {import("../../shared/words.js").Line} Line */
/** @typedef {Pick<import("./matrix.js").MatrixView, "data" | "cells">} Shown */

/** @param {Shown} shown @param {import("./layout.js").Cell} cell @returns {Line[]} */
export function describeCell({ data, cells }, [query, key]) {
  const reason = cells.reason(query, key);
  const value = cells.at(query, key);
  const does = reason ? "may not look at" : "looks at";
  /** @type {Line[]} */
  const lines = [["title", `${quoted(data.queries[query])} ${does} ${quoted(data.keys[key])}`]];
  if (data.roles) lines.push(["quiet", data.roles[query]]);
  lines.push(["quiet", `query ${data.numbers[0][query]}, key ${data.numbers[1][key]}`]);
  if (reason) lines.push(["title", reason]);
  const text = data.isRough ? PENDING : (value === 0 && data.rounded?.zero) || format(value, 4);
  if (!reason || value !== 0) lines.push(["value", text]);
  return [...lines, ["quiet", labelOf(data)]];
}

/**
 * @param {Shown} shown
 * @param {import("./layout.js").Cell} place
 * @returns {Line[]}
 */
export function describeSum({ data, cells }, [query, key]) {
  if (!data.sums) return [];
  const ofColumn = query === cells.queries;
  const total = ofColumn ? data.sums.columns[key] : data.sums.rows[query];
  const what = ofColumn
    ? ["key", data.keys[key], data.numbers[1][key], `sum of its column’s ${cells.queries} rows`]
    : ["query", data.queries[query], data.numbers[0][query], `sum of its row’s ${cells.keys} columns`];
  /** @type {Line[]} */
  const lines = [
    ["title", ofColumn ? `${quoted(String(what[1]))} receives` : `${quoted(String(what[1]))} gives`],
  ];
  if (!ofColumn && data.roles) lines.push(["quiet", data.roles[query]]);
  lines.push(["quiet", `${what[0]} ${what[2]}`], ["value", data.isRough ? PENDING : format(total, 4)]);
  return [...lines, ["quiet", `${what[3]}: ${labelOf(data)}`]];
}

/** The name of the numbers, and whether they are rounded. @param {Shown["data"]} data */
const labelOf = ({ label, rounded }) => (rounded ? `${label}, ${rounded.note}` : label);
