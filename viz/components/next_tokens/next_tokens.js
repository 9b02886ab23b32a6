// @ts-check
// The next-token distribution, before and after temperature, top-k and top-p: the bars follow the sliders at once.

import { forStreamlit, mounting } from "../mount.js";
import { barRow } from "../shared/controls.js";
import { div, h, span } from "../shared/dom.js";
import { grouped, percent, sum } from "../shared/numbers.js";
import { KEY_DELAY } from "../shared/selection.js";
import { View } from "../shared/shell.js";
import { entropy, samplingDistribution, softmax } from "./distribution.js";
import style from "./style.css";

/** @typedef {import("./distribution.js").Settings} Settings */
/** @typedef {keyof Settings} Setting */

/**
 * @typedef {object} NextTokensData
 * @property {string} title
 * @property {string} note
 * @property {string[]} tokens the most probable ones by name
 * @property {boolean[]} open whether a token can follow each of these
 * @property {number | null} chosen
 * @property {Settings} settings
 * @property {Record<Setting, number[]>} stops of the sliders
 * @property {Record<Setting, {label: string, help: string}>} labels
 * @property {Float32Array} logits of all tokens, the largest first
 */

const FEW = 12;
const HEADER = ["", "token", "probability now (outline: as trained)", "now", "as trained", ""];
/** @type {Setting[]} */
const SETTINGS = ["temperature", "top_k", "top_p"];

/**
 * A setting's effect, where its number alone does not show it.
 * @type {Record<Setting, (value: number) => string>}
 */
const EFFECT = {
  temperature: (value) => (value === 1 ? "as trained" : value < 1 ? "sharper" : "flatter"),
  top_k: (value) => (value ? "" : "off"),
  top_p: (value) => (value === 1 ? "off" : ""),
};

/** @param {number} many */
const count = (many) => `${grouped(many)} token${many === 1 ? "" : "s"}`;

/** @extends {View<NextTokensData>} */
class NextTokens extends View {
  shown = FEW;
  /** The sliders' settings. @type {Settings} */
  settings;
  /** @type {number[]} */
  sorted = [];
  /** @type {number[]} */
  raw = [];
  /** @type {ReturnType<typeof samplingDistribution>} */
  result;
  sliders = SETTINGS.map((name) => this.slider(name));
  summary = h("div", { class: "hl-outcome", "aria-live": "polite" });
  bars = h("div", { class: "hl-bars", role: "list", tabindex: 0 });
  more = h("button", { class: "more", onclick: () => this.toggle() });
  note = div("hl-note");

  build() {
    const settings = div("hl-settings", ...this.sliders.map(({ label }) => label));
    this.root.append(settings, this.summary, this.bars, this.more, this.note);
  }

  /** @param {Setting} name */
  slider(name) {
    const title = span("name");
    const input = h("input", { type: "range" });
    const output = h("output");
    const effect = span("effect");
    const label = h("label", { class: "hl-setting" }, title, input, output, effect);
    input.oninput = () => {
      this.settings = { ...this.settings, [name]: this.data.stops[name][Number(input.value)] };
      this.draw();
    };
    input.onchange = () => this.selection.report(this.settings, KEY_DELAY);
    return { name, label, title, input, output, effect };
  }

  toggle() {
    this.shown = this.shown === FEW ? this.data.tokens.length : FEW;
    this.draw();
  }

  update() {
    const { logits, settings, labels, stops, title, note } = this.data;
    if (this.selection.movedByPython(settings)) this.settings = settings;
    this.sorted = Array.from(logits);
    this.raw = softmax(this.sorted);
    for (const { name, title, input } of this.sliders) {
      title.textContent = labels[name].label;
      input.title = labels[name].help;
      Object.assign(input, { min: 0, max: stops[name].length - 1, step: 1 });
      input.value = String(stops[name].indexOf(this.settings[name]));
    }
    this.bars.setAttribute("aria-label", title);
    this.note.textContent = note;
    this.draw();
  }

  draw() {
    const { tokens } = this.data;
    this.result = samplingDistribution(this.sorted, this.settings);
    this.showSettings();
    this.showCut();
    const shown = Math.min(this.shown, tokens.length);
    const rows = tokens.slice(0, shown).map((token, i) => this.row(token, i));
    if (shown < this.sorted.length) rows.push(this.rest(shown));
    const cells = HEADER.map((text) => span("", text));
    this.bars.replaceChildren(h("div", { class: "header", role: "listitem" }, ...cells), ...rows);
    this.more.hidden = tokens.length <= FEW;
    this.more.textContent = `Show ${this.shown === FEW ? tokens.length : FEW} tokens`;
  }

  showSettings() {
    for (const { name, input, output, effect } of this.sliders) {
      const value = this.settings[name];
      const written = name === "top_k" ? String(value || "all") : value.toFixed(2);
      const words = EFFECT[name](value);
      output.textContent = written;
      effect.textContent = words;
      input.setAttribute("aria-valuetext", `${written} ${words}`);
    }
  }

  showCut() {
    const { tempered, probabilities, kept, nucleus, cutByK, cutByP } = this.result;
    const n = this.sorted.length;
    const cuts = [];
    if (kept < n) cuts.push(`top-k cuts off ${count(n - kept)} with ${percent(cutByK)} of the probability`);
    if (nucleus < kept) cuts.push(`top-p cuts off ${count(kept - nucleus)} with ${percent(cutByP)}`);
    const cut = cuts.length ? `${cuts.join("; ")}.` : "Nothing is cut off.";
    const bits = [this.raw, tempered, probabilities].map((p) => entropy(p).toFixed(2));
    const entropies = `Entropy ${bits[0]} bits as trained, ${bits[1]} after the temperature, ${bits[2]} after the cut.`;
    const named = h("b", {}, cut[0].toUpperCase() + cut.slice(1));
    this.summary.replaceChildren(named, ` ${count(nucleus)} can be drawn. `, span("quiet", entropies));
  }

  /** @param {string} token @param {number} i */
  row(token, i) {
    const { kept, nucleus, probabilities } = this.result;
    const { chosen, open } = this.data;
    const cut = i >= kept ? "cut by top-k" : i >= nucleus ? "cut by top-p" : "";
    const title = open[i] ? "Continue from this token" : "Nothing can follow this token";
    const word = h(
      "button",
      { class: "word", title, onclick: () => this.selection.report({ token: i }) },
      token,
    );
    word.disabled = !open[i];
    const [now, before] = [probabilities[i], this.raw[i]];
    const className = cut ? "cut" : i === chosen ? "taken" : "";
    const numbers = [cut ? "0 %" : percent(now), percent(before)];
    const tag = cut || (i === chosen ? "chosen above" : "");
    return barRow(word, { now, before }, { className, rank: `${i + 1}.`, numbers, tag });
  }

  /** The row of all tokens that are not shown. @param {number} shown */
  rest(shown) {
    const [now, before] = [this.result.probabilities, this.raw].map((p) => sum(p.slice(shown)));
    const word = span("word", `${grouped(this.sorted.length - shown)} others`);
    return barRow(word, { now, before }, { className: "rest" });
  }

  state() {
    const { settings, raw, result } = this;
    return { settings, raw, probabilities: result.probabilities, nucleus: result.nucleus };
  }
}

export const mount = mounting(NextTokens, "next_tokens", style);
export default forStreamlit(mount);
