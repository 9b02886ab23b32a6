// @ts-check
// Numbers and tokens as text for a spreadsheet.

/** What makes a spreadsheet read a cell as a formula. */
const FORMULA = /^[=+\-@\t\r]/;
/** Every float32 is told from its neighbours by so many digits. */
const MOST_DIGITS = 9;

/** A float32 with the fewest digits that give it back. @param {number} value */
export function float32Text(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value < 0 ? "-inf" : "inf";
  for (let digits = 6; digits < MOST_DIGITS; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  return String(Number(value.toPrecision(MOST_DIGITS)));
}

/** A text that no spreadsheet takes for a formula. @param {string} text */
export const neutral = (text) => (FORMULA.test(text) ? `'${text}` : text);

/** @param {string | number} cell */
function field(cell) {
  const text = typeof cell === "number" ? float32Text(cell) : neutral(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Rows of texts and numbers as CSV (RFC 4180). @param {(string | number)[][]} rows */
export const csvOf = (rows) => rows.map((row) => `${row.map(field).join()}\r\n`).join("");
