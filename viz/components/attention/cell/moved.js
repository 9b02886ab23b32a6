// @ts-check
// What the chosen cell moves: its weight times the key's value, before and after W_O.

import { h } from "../../shared/dom.js";
import { fixed } from "../../shared/numbers.js";
import { quoted } from "../../shared/words.js";
import { lengthOf, shareOf, times, weightedSum } from "./arithmetic.js";
import { tokenOf } from "./facts.js";
import { formula, number, symbol, term } from "./number.js";

/** @typedef {import("./facts.js").Facts} Facts */
/** @typedef {import("../../shared/dom.js").Child} Child */
/** @typedef {import("./strips.js").Row} Row */

/** @param {Facts} facts @returns {Row[]} */
export function valueRows(facts) {
  const { vectors, weight, query, key, sources } = facts;
  const [v, z] = [vectors.row("v", key), vectors.row("z", query)];
  const width = v?.length ?? 0;
  const ofV = (/** @type {number | string} */ at) => sources.ofKey("v", key, width, at);
  const ofZ = (/** @type {number | string} */ at) => sources.ofQuery("z", query, width, at);
  const added = (/** @type {number | string} */ at) => `${sources.cell("weights", query, key)} × ${ofV(at)}`;
  const part = v && weight !== null ? times(v, weight) : null;
  return [
    { name: "v", text: `key ${key} ${quoted(tokenOf(facts, "keys", key))}`, values: v, source: ofV },
    { name: "weight · v", text: "what this key adds to z", values: part, source: added, scale: "z" },
    { name: "z", text: "the sum over all keys", values: z, source: ofZ, scale: "z" },
  ];
}

/**
 * One key's part and the whole of z after W_O; null while pending.
 * @param {Facts} facts
 */
export function throughOutput({ vectors, weights, weight, key }) {
  const [moved, all] = [vectors.row("moved", key), vectors.all("moved")];
  if (!moved || !all || !weights || weight === null) return null;
  const part = times(moved, weight);
  const whole = weightedSum(weights, all);
  return { moved, part, whole, share: shareOf(part, whole) };
}

/** @param {Facts} facts @param {ReturnType<typeof throughOutput>} out @returns {Row[]} */
export function outputRows({ query, key, sources, vectors, q }, out) {
  const [width, length] = [q?.length ?? 0, out?.part.length ?? 0];
  const w_o = (/** @type {number | string} */ at) => sources.output(width, length, at);
  const part = (/** @type {number | string} */ at) =>
    `${sources.cell("weights", query, key)} × (${sources.ofKey("v", key, width)} · ${w_o(at)})`;
  const whole = (/** @type {number | string} */ at) => `${sources.ofQuery("z", query, width)} · ${w_o(at)}`;
  const pending = vectors.areHere ? "" : "…";
  const all = `all that this head adds to its sublayer's output ${pending}`;
  return [
    {
      name: "weight · v W_O",
      text: `what this key adds ${pending}`,
      values: out?.part,
      source: part,
      scale: "out",
    },
    { name: "z W_O", text: all, values: out?.whole, source: whole, scale: "out" },
  ];
}

/** @param {Facts} facts @param {ReturnType<typeof throughOutput>} out @returns {Child[]} */
export function outputNumbers({ weight, query, key, sources, q }, out) {
  const width = q?.length ?? 0;
  const value = `${sources.ofKey("v", key, width)} · ${sources.output(width, out?.part.length ?? 0)}`;
  const whole = `${sources.ofQuery("z", query, width)} · ${sources.output(width, out?.part.length ?? 0)}`;
  const of = sources.cell("weights", query, key);
  const share = out && (Number.isNaN(out.share) ? 0 : out.share);
  return [
    formula(
      term("‖", symbol("weight"), " · ", symbol("v W_O"), "‖"),
      term(
        " = ",
        number("weight of moved", weight, of),
        " × ",
        number("length of moved", out && lengthOf(out.moved), `length of ${value}`),
      ),
      term(" = ", number("moved", out && lengthOf(out.part), `${of} × length of ${value}`)),
    ),
    h(
      "p",
      { class: "hl-sentence" },
      "The head's whole output has the length ",
      number("length of output", out && lengthOf(out.whole), `length of ${whole}`),
      "; this key's share of it is ",
      number(
        "share",
        share,
        "(part · whole) / (whole · whole), where part = weight · v W_O and whole = z W_O",
        share === null ? "" : `${fixed(100 * share, 1)} %`,
      ),
      ": how far it goes in the same direction. The shares of all keys add up to 100 %. " +
        "A share is negative where a part points against the whole, so others may exceed 100 %.",
    ),
  ];
}
