// @ts-check
// All heads of the chosen layer as labelled matrices.

import { div } from "../../shared/dom.js";
import { shownHead } from "./head.js";
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
    const all = Array.from({ length: scene.attn.heads }, (_, head) => shownHead(scene, head, `Head ${head}`));
    this.matrices.show(scene, all, false);
  }
}
