// @ts-check
// Numbers and tokens as CSV for a spreadsheet.

import { float32Text } from "../../shared/float32.js";

/** A cell that begins like this would be read as a formula. */
const FORMULA = /^[=+\-@\t\r]/;

/** A text that no spreadsheet reads as a formula. @param {string} text */
export const neutral = (text) => (FORMULA.test(text) ? `'${text}` : text);

/** @param {string | number} cell */
function field(cell) {
  const text = typeof cell === "number" ? float32Text(cell) : neutral(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Rows of texts and numbers as CSV (RFC 4180). @param {(string | number)[][]} rows */
export const csvOf = (rows) => rows.map((row) => `${row.map(field).join()}\r\n`).join("");
