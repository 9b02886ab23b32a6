// @ts-check
// The chosen head as a matrix; if it is compared, beside it the other one and the difference, or any one of the three.

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
  /** Which of the compared matrices are seen. @type {Seen} */
  seen = "all";
  /** @type {Scene} */
  scene;
  /** The last difference, and of what. @type {{of: (Float32Array | null)[], values: Float32Array | null}} */
  #difference = { of: [], values: null };

  /** @param {HTMLElement} parent @param {(changed: any) => void} change */
  constructor(parent, change) {
    this.box = div("hl-head");
    this.bar = div("");
    this.showSeen = choice(this.bar, "Show", SEEN, (seen) => {
      this.seen = seen;
      // The room for it is another one too.
      change({});
    });
    parent.append(this.box);
    this.matrices = new Matrices(this.box, change);
    this.matrices.bar.prepend(this.bar);
  }

  /** Whether matrices stand beside each other, and need the whole width. @param {import("../choice.js").Choice} choice */
  isWide({ against }) {
    return against !== "" && this.seen === "all";
  }

  /** @param {Scene} scene */
  show(scene) {
    const { choice, range, kind, label, sheet, run, family } = scene;
    const { layer, head, measure, against } = choice;
    this.bar.hidden = !against;
    this.showSeen(this.seen);
    const values = sheet.values(measure, layer, head);
    const hidden = sheet.hiddenShare(run.weights(family, layer, head));
    /** @type {Shown} */
    const chosen = {
      heading: "",
      layer,
      head,
      values,
      range,
      kind,
      label,
      hidden,
      rounded: roundedAs(scene, head),
    };
    const all = against ? this.#compared(scene, chosen) : [chosen];
    const seen = all.filter((_, i) => !against || this.seen === "all" || this.seen === ORDER[i]);
    this.matrices.show(scene, seen, measure === "weights" || measure === "moved");
  }

  /** @param {Scene} scene @param {Shown} chosen @returns {Shown[]} */
  #compared(scene, chosen) {
    const { against } = scene.choice;
    const other = otherValues(scene);
    const difference = this.#differenceOf(scene, chosen.values, other.values);
    const open = difference && scene.sheet.extremesOf(difference);
    const name = against[0].toUpperCase() + against.slice(1);
    return [
      { ...chosen, heading: "Chosen" },
      { ...chosen, rounded: null, ...other, heading: name },
      {
        ...chosen,
        heading: `Chosen − ${against}`,
        values: difference,
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
  #differenceOf({ sheet }, chosen, other) {
    const known = this.#difference;
    if (known.of[0] === chosen && known.of[1] === other) return known.values;
    const values = chosen && other && chosen.map((value, i) => (sheet.closed[i] ? 0 : value - other[i]));
    this.#difference = { of: [chosen, other], values };
    return values;
  }
}

/**
 * The same head of the other run, or the other head of this layer.
 * @param {Scene} scene
 * @returns {Pick<Shown, "values" | "hidden" | "absent" | "head" | "rounded">}
 */
function otherValues(scene) {
  const { run, family, sheet, choice } = scene;
  const { layer, head, measure, against } = choice;
  if (against.startsWith("head ")) {
    const other = Number(against.slice(5));
    const hidden = sheet.hiddenShare(run.weights(family, layer, other));
    const values = sheet.values(measure, layer, other);
    return { head: other, values, hidden, rounded: roundedAs(scene, other) };
  }
  const piece = `other:${against}:${family.name}:${layer}:${head}`;
  const [values, weights] = [
    run.array(piece, measure === "masked" ? "scores" : measure),
    run.array(piece, "weights"),
  ];
  if (run.lacks(piece, measure === "masked" ? "scores" : measure)) {
    return {
      head,
      values: null,
      absent: `“${against}” has no such numbers for layer ${layer}, head ${head}.`,
    };
  }
  if (!values || !weights) return { head, values: null };
  return { head, values: sheet.ofOther(piece, values, weights, measure), hidden: sheet.hiddenShare(weights) };
}

/**
 * What there is to say of numbers that are rounded weights, or made of them; null of all others.
 * @param {Scene} scene
 * @param {number} head
 */
export function roundedAs({ run, family, choice, kind }, head) {
  const precision = kind === "weights" ? run.precision(family, choice.layer, head) : "";
  return precision ? { note: precision, zero: choice.measure === "weights" ? "< 0.0001" : "" } : null;
}
