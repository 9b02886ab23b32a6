// @ts-check
// The decoder's output as a row of tokens, and the best candidates of the chosen step with their probabilities.

import { forStreamlit, mounting } from "../mount.js";
import { chooseToken, chosenToken, onChosen } from "../shared/chosen_token.js";
import { candidateRows, fadeWhereMore, track } from "../shared/controls.js";
import { div, h, span } from "../shared/dom.js";
import { clamp, percent } from "../shared/numbers.js";
import { View } from "../shared/shell.js";
import { announcer } from "../shared/words.js";
import style from "./style.css";

/** @typedef {import("../shared/controls.js").Predicted} Step */

/**
 * @typedef {object} StepsData
 * @property {string} title
 * @property {string[]} start the tokens the decoder begins with
 * @property {number[] | null} positions of the steps' tokens, if tokens were predicted in place
 * @property {string} taken what happened to the token of a step
 * @property {string} unit
 * @property {Step[]} steps
 */

/** How many tokens to show before a step. */
const BEFORE = 8;

/** @extends {View<StepsData>} */
class DecodingSteps extends View {
  chosen = 0;
  /** @type {HTMLElement[]} */
  chips = [];
  list = h("div", { class: "hl-steps", tabindex: 0, role: "listbox", "aria-orientation": "horizontal" });
  fade = fadeWhereMore(this.list);
  before = div("hl-sofar");
  bars = h("div", { class: "hl-bars", role: "list" });
  say = announcer(this.root);

  ignore = () => {};

  build() {
    this.list.onkeydown = (event) => this.press(event);
    this.root.append(this.list, this.before, this.bars);
    const isChosen = () => typeof chosenToken()[this.stack] === "number";
    this.ignore = onChosen(() => this.data && this.choose(this.chosenOnPage, isChosen()));
  }

  end() {
    super.end();
    this.ignore();
  }

  /** The position of each step in its stack. */
  get places() {
    const { steps, positions, start } = this.data;
    return positions ?? steps.map((_, i) => i + start.length - 1);
  }

  /** @type {import("../shared/chosen_token.js").Stack} */
  get stack() {
    return this.data.positions ? "encoder" : "decoder";
  }

  /** The step of the token that is chosen on the page, or that its pictures are about; else the current one. */
  get chosenOnPage() {
    const { [this.stack]: chosen, shown } = chosenToken();
    const step = this.places.indexOf(chosen ?? (this.stack === "decoder" ? shown : null) ?? -1);
    return step < 0 ? this.chosen : step;
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const last = this.data.steps.length - 1;
    const to = { Home: 0, End: last, ArrowLeft: this.chosen - 1, ArrowRight: this.chosen + 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.pick(clamp(to, 0, last));
    this.chips[this.chosen].scrollIntoView({ block: "nearest" });
  }

  /** Choose a step, for every view of the page. @param {number} step */
  pick(step) {
    this.choose(step);
    chooseToken(this.stack, this.places[step]);
  }

  /** @param {number} step @param {boolean} isSaid to screen readers */
  choose(step, isSaid = true) {
    if (step === this.chosen) return;
    this.chosen = step;
    this.draw();
    if (!isSaid) return;
    const { steps, taken, positions } = this.data;
    const place = positions ? `position ${positions[step]}` : `step ${step}`;
    this.say(`${place}: ${taken} ${steps[step].word}, ${percent(steps[step].probability)}`);
  }

  update() {
    const { steps, title } = this.data;
    this.chosen = clamp(this.chosenOnPage, 0, steps.length - 1);
    this.list.setAttribute("aria-label", `${title}: arrow keys go from step to step`);
    this.chips = steps.map((step, i) => this.chip(step, i));
    this.list.replaceChildren(...this.chips);
    this.fade();
    this.draw();
  }

  /** @param {Step} step @param {number} i */
  chip({ word, probability }, i) {
    return h(
      "div",
      { class: "hl-chip hl-step", role: "option", id: `step${i}`, onclick: () => this.pick(i) },
      span("place", this.data.positions?.[i] ?? i),
      span("word", word),
      track({ "": probability }),
      span("chance", percent(probability)),
    );
  }

  draw() {
    for (const [i, chip] of this.chips.entries()) {
      chip.setAttribute("aria-selected", String(i === this.chosen));
    }
    this.list.setAttribute("aria-activedescendant", `step${this.chosen}`);
    this.before.replaceChildren(...this.introduction());
    this.bars.replaceChildren(...candidateRows(this.data.steps[this.chosen], this.data.taken));
  }

  /** @returns {import("../shared/dom.js").Child[] & (Node | string)[]} */
  introduction() {
    const { steps, start, unit, positions } = this.data;
    if (positions) return [`Position ${positions[this.chosen]}. The most probable ${unit}s here:`];
    const before = [...start, ...steps.slice(0, this.chosen).map(({ word }) => word)];
    const left = before.length > BEFORE ? "… " : "";
    const words = before.slice(-BEFORE).flatMap((word) => [span("word", word), " "]);
    return [`Step ${this.chosen}. After ${left}`, ...words, `the most probable next ${unit}s:`];
  }
}

export const mount = mounting(DecodingSteps, "decoding_steps", style);
export default forStreamlit(mount);
