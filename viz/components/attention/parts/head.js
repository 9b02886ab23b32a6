// @ts-check
// The chosen head as a matrix; in a comparison also the other matrix and the difference, or any one of the three.

import { choice } from "../../shared/controls.js";
import { div } from "../../shared/dom.js";
import { centred } from "../range.js";
import { Matrices } from "./matrices.js";

/** @typedef {import("../panels.js").Scene} Scene */
/** @typedef {import("./matrix.js").Shown} Shown */
/** @typedef {"all" | "chosen" | "other" | "difference"} Seen */

const SEEN = { all: "all three", chosen: "chosen", other: "other", difference: "difference" };
/** @type {Seen[]} */
const ORDER = ["chosen", "other", "difference"];

export class HeadPart {
  /** Which of the compared matrices are shown. @type {Seen} */
  seen = "all";
  /** @type {Scene} */
  scene;
  /** The last difference, and its operands. @type {{of: (Float32Array | null)[], values: Float32Array | null}} */
  #difference = { of: [], values: null };

  /** @param {HTMLElement} parent @param {(changed: any) => void} change */
  constructor(parent, change) {
    this.box = div("hl-head");
    this.bar = div("");
    this.showSeen = choice(this.bar, "Show", SEEN, (seen) => {
      this.seen = seen;
      // The available width changes too.
      change({});
    });
    parent.append(this.box);
    this.matrices = new Matrices(this.box, change);
    this.matrices.bar.prepend(this.bar);
  }

  /** Whether several matrices need the whole width. @param {import("../choice.js").Choice} choice */
  isWide({ against }) {
    return against !== "" && this.seen === "all";
  }

  /** @param {Scene} scene */
  show(scene) {
    const { head, measure, against } = scene.choice;
    this.bar.hidden = !against;
    this.showSeen(this.seen);
    const chosen = shownHead(scene, head, "");
    const all = against ? this.#compared(scene, chosen) : [chosen];
    const seen = all.filter((_, i) => !against || this.seen === "all" || this.seen === ORDER[i]);
    this.matrices.show(scene, seen, measure === "weights" || measure === "moved");
  }

  /** @param {Scene} scene @param {Shown} chosen @returns {Shown[]} */
  #compared(scene, chosen) {
    const { against } = scene.choice;
    const other = otherValues(scene);
    const [minuend, subtrahend] = [chosen, other].map((one) => (one.isRough ? null : one.values));
    const difference = this.#differenceOf(scene, minuend, subtrahend);
    const open = difference && scene.sheet.extremesOf(difference, scene.choice.layer);
    const name = against[0].toUpperCase() + against.slice(1);
    return [
      { ...chosen, heading: "Chosen" },
      { ...chosen, rounded: null, isRough: false, ...other, heading: name },
      {
        ...chosen,
        heading: `Chosen − ${against}`,
        values: difference,
        isRough: false,
        range: open ? centred(...open) : chosen.range,
        kind: "scores",
        label: "difference",
        hidden: 0,
        absent: other.absent,
        rounded: chosen.rounded && { ...chosen.rounded, zero: "" },
      },
    ];
  }

  /** @param {Scene} scene @param {Float32Array | null} chosen @param {Float32Array | null} other */
  #differenceOf({ sheet, choice }, chosen, other) {
    const known = this.#difference;
    if (known.of[0] === chosen && known.of[1] === other) return known.values;
    const closed = sheet.closed(choice.layer);
    const values = chosen && other && chosen.map((value, i) => (closed[i] ? 0 : value - other[i]));
    this.#difference = { of: [chosen, other], values };
    return values;
  }
}

/**
 * The other matrix of the comparison: the same head of another run, or another head of the layer.
 * @param {Scene} scene
 * @returns {Pick<Shown, "values" | "isRough" | "hidden" | "absent" | "head" | "rounded">}
 */
function otherValues(scene) {
  const { run, attn, sheet, choice } = scene;
  const { layer, head, measure, against } = choice;
  if (against.startsWith("head ")) return shownHead(scene, Number(against.slice(5)), "");
  const piece = `other:${against}:${attn.name}:${layer}:${head}`;
  const name = measure === "masked" ? "scores" : measure;
  const [values, weights] = [run.array(piece, name), run.array(piece, "weights")];
  const absent = `“${against}” has no such numbers for layer ${layer}, head ${head}.`;
  if (run.lacks(piece, name)) return { head, values: null, absent };
  if (!values || !weights) return { head, values: null };
  const shown = sheet.ofOther(piece, values, weights, measure, layer);
  return { head, values: shown, hidden: sheet.hiddenShare(weights) };
}

/**
 * What to show of a head of the chosen layer.
 * @param {Scene} scene
 * @param {number} head
 * @param {string} heading
 * @returns {Shown}
 */
export function shownHead(scene, head, heading) {
  const { choice, range, kind, label, sheet, run, attn } = scene;
  const { layer, measure } = choice;
  const exact = sheet.values(measure, layer, head);
  const rough = !exact && measure === "weights" && sheet.isPlain ? run.rough(attn, layer, head) : null;
  const hidden = sheet.hiddenShare(run.weights(attn, layer, head));
  const rounded = roundedAs(scene, head);
  const isRough = rough !== null;
  return { heading, layer, head, values: exact ?? rough, isRough, range, kind, label, hidden, rounded };
}

/** How weights, or numbers made of them, are rounded; null for all others. @param {Scene} scene @param {number} head */
function roundedAs({ run, attn, choice, kind }, head) {
  const precision = kind === "weights" ? run.precision(attn, choice.layer, head) : "";
  return precision ? { note: precision, zero: choice.measure === "weights" ? "< 0.0001" : "" } : null;
}
