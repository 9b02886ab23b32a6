// @ts-check
// All heads of the chosen layer as matrices with their tokens.

import { div } from "../../shared/dom.js";
import { roundedAs } from "./head.js";
import { Matrices } from "./matrices.js";

export class LayerPart {
  /** @param {HTMLElement} parent @param {(changed: any) => void} change */
  constructor(parent, change) {
    this.box = div("hl-layer");
    parent.append(this.box);
    this.matrices = new Matrices(this.box, change);
  }

  /** @param {import("../panels.js").Scene} scene */
  show(scene) {
    const { family, sheet, choice, range, kind, label, run } = scene;
    const { layer, measure } = choice;
    const all = Array.from({ length: family.heads }, (_, head) => ({
      heading: `Head ${head}`,
      layer,
      head,
      values: sheet.values(measure, layer, head),
      range,
      kind,
      label,
      hidden: sheet.hiddenShare(run.weights(family, layer, head)),
      rounded: roundedAs(scene, head),
    }));
    this.matrices.show(scene, all, false);
  }
}
