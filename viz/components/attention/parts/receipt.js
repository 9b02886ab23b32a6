// @ts-check
// The receipt of what heads cost: what the numbers are and depend on, as a file from which they are computed again.

import { div, h } from "../../shared/dom.js";
import { fixed } from "../../shared/numbers.js";
import { saveFile } from "../../shared/save.js";

/** The proposed name of the file. */
const FILE = "headlight-costs.json";
/** Digits of the weights' checksum that tell models apart. */
const DIGITS = 12;

export class ReceiptPart {
  /** The receipt as it is saved: UTF-8. @type {Uint8Array<ArrayBuffer> | null} */
  json = null;

  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.facts = h("dl", { class: "hl-receipt" });
    const save = h("button", { onclick: () => this.#save() }, "Save as JSON");
    const summary = h("summary", {}, "Receipt of these costs");
    this.box = h("details", { class: "hl-numbers" }, summary, this.facts, div("hl-bar", save));
    parent.append(this.box);
  }

  /** @param {import("../panels.js").Scene} scene */
  show({ run, choice }) {
    const json = choice.sort === "cost" ? run.array("receipt", "json") : null;
    this.box.hidden = !json;
    if (!json || json === this.json) return;
    this.json = json;
    const rows = factsOf(JSON.parse(new TextDecoder().decode(json)));
    this.facts.replaceChildren(...rows.flatMap(([name, fact]) => [h("dt", {}, name), h("dd", {}, fact)]));
  }

  #save() {
    if (this.json) saveFile(this.json, FILE, "application/json");
  }
}

/**
 * What a receipt says, in words; its fields are those of transformer/analysis/receipts/receipt.py.
 * @param {Record<string, any>} receipt
 * @returns {[name: string, fact: string | HTMLElement][]}
 */
function factsOf({ inquiry, model, weights, metric, baseline, intervals, n, code, version }) {
  return [
    ["metric", metric],
    ["ablation", `${inquiry.how}, one head at a time`],
    ["baseline", `${fixed(baseline, 4)} with all heads on`],
    ["sentences", intervals.length ? `n = ${n}` : `n = ${n}, so there is no interval`],
    ["seed", String(inquiry.seed)],
    ["model", `${model}, weights with SHA-256 ${weights.slice(0, DIGITS)}…`],
    ["code", h("code", {}, code)],
    ["made by", version],
    ["run again", h("code", {}, `headlight why --receipt ${FILE}`)],
  ];
}
