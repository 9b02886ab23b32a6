// @ts-check
// The best next tokens at the chosen position, with their probabilities.

import { candidateRows } from "../../shared/controls.js";
import { div, h } from "../../shared/dom.js";
import { quoted } from "../../shared/words.js";

/** How many tokens to show before the predicted one. */
const BEFORE = 3;

export class PredictedPart {
  look = "";
  heading = div("hl-heading");
  bars = h("div", { class: "hl-bars", role: "list" });
  how = div("hl-note");

  /** @param {HTMLElement} box */
  constructor(box) {
    this.box = box;
    box.append(this.heading, this.bars, this.how);
  }

  /** @param {import("../panels.js").Scene} scene @param {string} how the output was found */
  show({ run, attn, cell }, how) {
    const side = run.sides[attn.queries];
    const step = side.predicted[cell[0]];
    this.box.hidden = !step;
    const look = [run.id, attn.queries, cell[0]].join();
    if (!step || look === this.look) return;
    this.look = look;
    const before = side.tokens.slice(Math.max(0, cell[0] + 1 - BEFORE), cell[0] + 1).join(" ");
    const left = cell[0] + 1 > BEFORE ? "… " : "";
    const where = side.written.length ? `After ${quoted(left + before)}` : `At position ${cell[0]}`;
    this.how.textContent = how;
    this.heading.textContent = `${where} the model expects`;
    this.bars.replaceChildren(...candidateRows(step, ""));
  }
}
