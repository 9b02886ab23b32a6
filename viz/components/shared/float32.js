// @ts-check
// float32 numbers as text that a program reads back to the same number.

/** Enough digits to tell any two float32 apart. */
const MOST_DIGITS = 9;

/** The shortest decimal that is nearest to this float32 and to no other. @param {number} value */
export function float32Text(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value < 0 ? "-inf" : "inf";
  const number = Math.fround(value);
  for (let digits = 1; digits < MOST_DIGITS; digits++) {
    const rounded = Number(number.toPrecision(digits));
    if (Math.fround(rounded) === number) return String(rounded);
  }
  return String(Number(number.toPrecision(MOST_DIGITS)));
}

/** A vector as a list that JSON and Python read. @param {ArrayLike<number>} values */
export const float32List = (values) => `[${Array.from(values, float32Text).join(", ")}]`;
