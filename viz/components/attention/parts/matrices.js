// @ts-check
// Matrices of the same tokens side by side, zoomed, scrolled and pointed at as one.

import { namedButton } from "../../shared/controls.js";
import { div, span } from "../../shared/dom.js";
import { pointOnScale } from "../../shared/legend.js";
import { percent } from "../../shared/numbers.js";
import { matrixNumbers } from "../matrix/numbers.js";
import { areOne, sumsOf } from "../matrix/sums.js";
import { NumbersTable } from "../table/table.js";
import { matrixLegend } from "./legend.js";
import { Matrix } from "./matrix.js";

/** @typedef {import("../panels.js").Scene} Scene */
/** @typedef {import("./matrix.js").Shown} Shown */
/** @typedef {import("../matrix/matrix.js").MatrixView} MatrixView */

const TITLES = { weights: "received", moved: "sum" };

export class Matrices {
  /** @type {Matrix[]} */
  matrices = [];
  /** @type {WeakMap<Float32Array, ReturnType<typeof sumsOf>>} */
  #sums = new WeakMap();
  #isFollowing = false;

  /** @param {HTMLElement} parent @param {(changed: any) => void} change */
  constructor(parent, change) {
    this.change = change;
    this.legend = div("hl-legend");
    const zoomBy = (/** @type {number} */ factor) => () => this.#views[0]?.zoomBy(factor);
    const zooms = [
      namedButton("−", "smaller cells", zoomBy(1 / 1.35)),
      namedButton("+", "larger cells", zoomBy(1.35)),
      namedButton("fit", "whole matrix", zoomBy(0)),
    ];
    this.hidden = span("hl-quiet");
    this.bar = div(
      "hl-bar hl-matrix-bar",
      div("hl-about", this.legend, this.hidden),
      div("hl-zoom", ...zooms),
    );
    this.box = div("hl-matrices");
    parent.append(this.bar, this.box);
    this.table = new NumbersTable(parent, "Table of these numbers");
  }

  /** The views that are shown and painted. */
  get #views() {
    return this.matrices.filter(({ box, view }) => !box.hidden && view.painted).map(({ view }) => view);
  }

  /**
   * Show the matrices; the legend above them is the first one's.
   * @param {Scene} scene
   * @param {Shown[]} all
   * @param {boolean} hasSums
   */
  show(scene, all, hasSums) {
    const { colors, sheet, attn } = scene;
    this.main = all[0];
    matrixLegend(this.legend, { ...all[0], colors, sheet, attn });
    const isAlone = all.length === 1;
    this.hidden.textContent = isAlone ? hiddenText(scene, all[0]) : "";
    this.box.classList.toggle("hl-several", !isAlone);
    for (const [i, matrix] of this.matrices.entries()) matrix.box.hidden = i >= all.length;
    const sums = this.#sumsOf(scene, hasSums ? all : []);
    for (const [i, shown] of all.entries()) {
      this.matrices[i] ??= new Matrix(this.box, this.change, {
        moved: (view) => this.#follow(view, (other) => other.moveAs(view)),
        pointed: (view) => this.#pointed(view),
      });
      const hasLegend = i > 0 && String(shown.range) !== String(all[0].range);
      const hidden = isAlone ? "" : hiddenText(scene, shown);
      this.matrices[i].show(scene, shown, { hasLegend, hidden, sums: sums[i] ?? null });
    }
    const shown = this.matrices.slice(0, all.length);
    const widths = shown.map(({ inner }) => inner.clientWidth);
    this.#isFollowing = true;
    for (const [i, matrix] of shown.entries()) matrix.draw(widths[i]);
    this.#isFollowing = false;
    this.#point(this.#views.find(({ hovered }) => hovered) ?? this.#views[0]);
    const look = [scene.choice.measure, ...all.flatMap(({ values, heading }) => [values, heading]), sheet];
    this.table.show(look, () => this.#numbers(scene, all));
  }

  /** @param {Scene} scene @param {Shown[]} all @returns {import("../matrix/sums.js").Sums[]} */
  #sumsOf({ sheet, choice }, all) {
    const found = all.map(({ values, isRough, layer }) => {
      if (isRough) return { columns: new Float64Array(sheet.keys.length), rows: new Float64Array() };
      const known =
        values && (this.#sums.get(values) ?? sumsOf(values, sheet.closed(layer), sheet.keys.length));
      if (known) this.#sums.set(/** @type {Float32Array} */ (values), known);
      return known ?? { columns: new Float64Array(), rows: new Float64Array() };
    });
    const hasRows = found.some(({ rows }, i) => all[i].kind === "weights" && !areOne(rows));
    const title = TITLES[/** @type {"weights" | "moved"} */ (choice.measure)];
    const reachOf = (/** @type {string} */ kind) =>
      Math.max(
        ...found.flatMap(({ columns }, i) => (all[i].kind === kind ? [...columns].map(Math.abs) : [0])),
      ) || 1;
    return found.map((own, i) => ({ ...own, hasRows, title, reach: reachOf(all[i].kind) }));
  }

  /** @param {Scene} scene @param {Shown[]} all */
  #numbers({ attn }, all) {
    return all.flatMap(({ heading, layer, head, values, isRough }, i) => {
      const { data } = this.matrices[i].view;
      const caption = [attn.label, `layer ${layer}`, `head ${head}`, data?.label, heading];
      return values && !isRough ? [matrixNumbers(data, caption.filter(Boolean).join(", "))] : [];
    });
  }

  /** Have the other views follow one of them. @param {MatrixView} view @param {(other: MatrixView) => void} call */
  #follow(view, call) {
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    for (const other of this.#views) if (other !== view) call(other);
    this.#isFollowing = false;
  }

  /** @param {MatrixView} view */
  #pointed(view) {
    if (this.#isFollowing) return;
    this.#follow(view, (other) => other.pointAs(view));
    this.#point(view);
  }

  /** Point at the hovered or chosen number on its legend. @param {MatrixView | undefined} view */
  #point(view) {
    for (const { legend } of [this, ...this.matrices]) pointOnScale(legend, null);
    const matrix = this.matrices.find((own) => own.view === view);
    if (!matrix || !view) return;
    pointOnScale(matrix.legend.hidden ? this.legend : matrix.legend, view.share());
  }

  state() {
    return this.#views.map((view) => view.state());
  }
}

/** How much of the attention is hidden. @param {Scene} scene @param {Shown} shown */
function hiddenText({ choice }, { hidden = 0 }) {
  const spread = choice.special === "spread" ? ", spread over the rest" : "";
  return hidden ? `hidden: ${percent(hidden)} of the attention${spread}` : "";
}
