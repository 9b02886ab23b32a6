// @ts-check
// The legend of a matrix.

import { hatchSwatch, stopsOf } from "../../shared/color.js";
import { drawLegend } from "../../shared/legend.js";
import { format } from "../../shared/numbers.js";

/**
 * Draw the legend, unless it is unchanged.
 * @param {HTMLElement} box
 * @param {Pick<import("./matrix.js").Shown, "range" | "kind" | "label" | "layer"> & Pick<import("../panels.js").Scene, "colors" | "sheet" | "attn">} shown
 */
export function matrixLegend(box, { range, kind, label, layer, colors, sheet, attn }) {
  const used = sheet.reasons(layer);
  const look = JSON.stringify([range, kind, label, used, colors]);
  if (box.dataset.look === look) return;
  box.dataset.look = look;
  const ticks = range.map((value) => format(value));
  /** @type {[string, string][]} */
  const swatches = used.map((number) => [briefly(attn.reasons[number - 1]), hatchSwatch(colors, number)]);
  drawLegend(box, { stops: stopsOf({ colors, kind }), ticks, label, swatches });
}

/** The beginning of a reason, such as "masked: future"; each cell gives it in full. @param {string} reason */
const briefly = (reason) => reason.split(": ").slice(0, 2).join(": ");
