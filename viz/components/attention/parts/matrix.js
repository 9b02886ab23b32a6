// @ts-check
// One of several matrices, with its heading; a click chooses a cell by its tokens.

import { div, span } from "../../shared/dom.js";
import { MatrixView } from "../matrix/matrix.js";
import { partHost } from "./host.js";
import { matrixLegend } from "./legend.js";

/** @typedef {import("../panels.js").Scene} Scene */

/**
 * The contents of a matrix.
 * @typedef {object} Shown
 * @property {string} heading
 * @property {number} layer
 * @property {number} head
 * @property {Float32Array | null} values
 * @property {boolean} [isRough] whether the values are for colours only, until the exact ones are here
 * @property {[number, number]} range
 * @property {"weights" | "scores"} kind
 * @property {string} label
 * @property {number} [hidden] the share of its weight that goes to hidden columns
 * @property {string} [absent] why it can't be shown
 * @property {import("../matrix/matrix.js").Rounded | null} [rounded]
 */

export class Matrix {
  /** @type {Scene} */
  scene;
  /** @type {Shown} */
  shown;

  /**
   * @param {HTMLElement} parent
   * @param {(changed: any) => void} change
   * @param {import("../matrix/matrix.js").Beside} beside
   */
  constructor(parent, change, beside) {
    this.name = div("hl-heading");
    this.hidden = span("hl-quiet");
    this.legend = div("hl-legend");
    this.bar = div("hl-bar", this.name, this.legend, this.hidden);
    this.inner = div("hl-part");
    this.absent = div("hl-quiet");
    this.box = div("hl-matrix", this.bar, this.inner, this.absent);
    parent.append(this.box);
    const select = (/** @type {any} */ at) => {
      const cell = at === "cleared" ? null : this.scene.sheet.tokens([at.query, at.key]);
      change({ cell, head: this.shown.head });
    };
    this.view = new MatrixView(this.inner, partHost(select), beside);
    this.view.build();
  }

  /**
   * @param {Scene} scene
   * @param {Shown} shown
   * @param {{hasLegend: boolean, hidden: string, sums: import("../matrix/sums.js").Sums | null}} options
   */
  show(scene, shown, { hasLegend, hidden, sums }) {
    const { sheet, cell, attn, colors } = scene;
    const { heading, layer, head, values, isRough = false, rounded = null } = shown;
    const absent = shown.absent || (values ? "" : sheet.run.absent);
    Object.assign(this, { scene, shown });
    this.name.textContent = heading;
    this.name.hidden = !heading;
    this.hidden.textContent = hidden;
    this.legend.hidden = !hasLegend;
    this.bar.hidden = !heading && !hidden && !hasLegend;
    this.absent.textContent = absent;
    this.inner.hidden = Boolean(absent);
    this.box.classList.toggle("hl-waiting", !values && !absent);
    if (!values) return;
    if (hasLegend) matrixLegend(this.legend, { ...shown, label: "", colors, sheet, attn });
    this.view.data = {
      colors,
      title: `${attn.label}, layer ${layer}, head ${head}${heading ? `: ${heading}` : ""}`,
      label: shown.label,
      kind: shown.kind,
      range: shown.range,
      queries: sheet.queries,
      keys: sheet.keys,
      numbers: sheet.numbers,
      roles: sheet.roles,
      axis: sheet.axis,
      reasons: attn.reasons,
      closed: sheet.closed(layer),
      values,
      isRough,
      sums,
      rounded,
      // Which cell is the strongest is not known before the exact values.
      selected: sheet.place(isRough ? scene.choice.cell : cell),
    };
  }

  /** Draw the matrix in a width that was measured before anything was drawn. @param {number} width */
  draw(width) {
    if (!this.shown.values || !width) return;
    this.view.width = width;
    this.view.update();
  }
}
