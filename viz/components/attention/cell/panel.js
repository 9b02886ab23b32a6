// @ts-check
// The arithmetic of the chosen cell, step by step: from two vectors to a weight, and to what the weight moves.

import { copyText } from "../../shared/clipboard.js";
import { div, h, span } from "../../shared/dom.js";
import { announcer } from "../../shared/words.js";
import { pathOf } from "../run.js";
import { factsOf } from "./facts.js";
import { outputNumbers, outputRows, throughOutput, valueRows } from "./moved.js";
import { roundNumbers } from "./rounding.js";
import { differences, mask, pair, scoreFormula, vectorRows } from "./score.js";
import { rowTable, weightFormula } from "./softmax.js";
import { arrowKeys, oneStop, Step } from "./step.js";
import { StripsView } from "./strips.js";
import { summary } from "./summary.js";
import { ofSeveral } from "./words.js";

/** @typedef {import("../panels.js").Scene} Scene */
/** @typedef {import("./facts.js").Facts} Facts */

const SOFTMAX = "The softmax of the row";
const HINT = "Point at a number to see the tensor that it comes from. A click or Enter copies it.";
const WEIGHTS_ONLY = "Only the weights of this attention are known here: its scores and vectors are not.";
const NOT_TRANSPOSED =
  "In this model heads are not transposed back before W_O: no part of W_O belongs to one head alone.";

export class CellPanel {
  /** What the panel shows now: it is rebuilt only if this changes. */
  look = "";
  /** What each attention does to q and k, as far as known. @type {Map<string, import("./score.js").Extras>} */
  extras = new Map();
  steps = {
    pair: new Step("A query looks at a key"),
    vectors: new Step("Their vectors, dimension by dimension"),
    score: new Step("The score"),
    mask: new Step("The mask"),
    softmax: new Step(SOFTMAX),
    moved: new Step("What the weight moves: weight · v"),
    output: new Step("What W_O makes of it"),
  };

  /** @param {HTMLElement} box @param {(changed: any) => void} change */
  constructor(box, change) {
    this.box = box;
    this.change = change;
    const { pair, vectors, score, mask, softmax, moved, output } = this.steps;
    this.heading = div("hl-heading");
    this.summary = div("hl-summary");
    this.words = div("hl-of-words");
    this.note = div("hl-note");
    this.reading = h("div", { class: "hl-reading", "aria-hidden": "true" }, HINT);
    const groups = [[pair, vectors, score, mask], [softmax], [moved, output]];
    const steps = div("hl-steps", ...groups.map((own) => div("hl-group", ...own.map((step) => step.box))));
    box.append(this.heading, this.words, this.summary, this.note, steps, this.reading);
    this.say = announcer(box);
    const copy = (/** @type {string} */ text) => this.copy(text);
    const read = (/** @type {string} */ source, /** @type {string} */ text) => this.read(source, text);
    this.strips = [vectors, moved, output].map((step) => new StripsView(step.strips, copy, read));
    for (const part of [this.summary, this.words]) arrowKeys(part);
    this.listen();
  }

  /** Show the source of numbers, which are buttons, and copy them. */
  listen() {
    const read = (/** @type {Event} */ event) => {
      const stop = numberAt(event);
      if (stop) this.read(stop.title, stop.value);
    };
    this.box.addEventListener("pointerover", read);
    this.box.addEventListener("focusin", read);
    this.box.addEventListener("click", (event) => {
      const stop = numberAt(event);
      if (stop?.value) this.copy(stop.value);
    });
  }

  /** @param {string} source @param {string} text */
  read(source, text) {
    const value = text ? [h("b", {}, text.replaceAll("-", "−")), " = "] : [];
    this.reading.replaceChildren(...value, h("code", {}, source));
  }

  /** @param {string} text */
  async copy(text) {
    const brief = text.length > 40 ? `${text.slice(0, 40)}…` : text;
    const isCopied = await copyText(text, this.box);
    const said = isCopied ? `copied: ${brief}` : "not copied: this browser does not allow it";
    this.reading.replaceChildren(span("hl-copied", said));
    this.say(said);
  }

  /** @param {Scene} scene */
  show(scene) {
    const facts = factsOf(scene);
    const look = this.#lookOf(scene, facts);
    if (look === this.look) return;
    this.look = look;
    const focused = /** @type {HTMLElement | null} */ (rootOf(this.box).activeElement);
    const name = this.box.contains(focused) ? focused?.dataset.name : undefined;
    this.#keepHeight(facts);
    this.#fill(scene, facts);
    if (name) this.#focus(name);
  }

  /** Keep the height while numbers are pending, so that nothing below jumps. @param {Facts} facts */
  #keepHeight({ run, attn, weights, scores, vectors }) {
    const lacksScores = attn.has.includes("scores") && !scores;
    const isPending = !run.absent && (!weights || lacksScores || (vectors.areKnown && !vectors.areHere));
    this.box.style.minHeight = isPending ? `${this.box.offsetHeight}px` : "";
  }

  /** Everything that the panel's contents depend on. @param {Scene} scene @param {Facts} facts */
  #lookOf({ run, choice, sheet, colors }, facts) {
    const { attn, layer, head, query, key, weights, scores, vectors } = facts;
    const here = [weights, scores].map(Boolean);
    const place = [run.id, attn.name, layer, head, query, key, choice.by, choice.special];
    return JSON.stringify([place, here, vectors.areHere, sheet.isPlain, this.box.clientWidth, colors]);
  }

  /** @param {Scene} scene @param {Facts} facts */
  #fill(scene, facts) {
    this.#make(scene, facts);
    if (scene.run.precision(facts.attn, facts.layer, facts.head)) roundNumbers(this.box, facts);
  }

  /** @param {Scene} scene @param {Facts} facts */
  #make(scene, facts) {
    const { attn, layer, head, vectors } = facts;
    const { steps } = this;
    const movesThrough = attn.has.includes("lengths");
    const hasScores = attn.has.includes("scores") && (facts.scores !== null || !scene.run.absent);
    const path = pathOf(attn, layer);
    this.heading.replaceChildren(
      `The arithmetic of one cell: ${attn.label}, layer ${layer}, head ${head}`,
      ...(path ? [" ", h("code", {}, path)] : []),
      span("hl-advice quiet", "Click another cell to see its own."),
    );
    const several = ofSeveral(scene, facts, this.change);
    this.summary.replaceChildren(...summary(facts, several.length > 1));
    this.words.replaceChildren(...several.map((part) => /** @type {Node} */ (part)));
    this.words.hidden = !several.length;
    this.note.textContent = noteOf(scene.run, facts, hasScores);
    for (const part of [this.summary, this.words]) oneStop(part);

    steps.pair.show(pair(facts));
    steps.mask.show(mask(facts));
    const table = div("hl-scrolls", rowTable(facts));
    steps.softmax.name(hasScores ? SOFTMAX : "The weights of the row");
    steps.softmax.show(hasScores ? weightFormula(facts) : [], [table]);
    for (const step of Object.values(steps)) step.explain(scene.run.terms);
    for (const step of [steps.vectors, steps.moved, steps.output]) step.box.hidden = !vectors.areKnown;
    if (scene.run.absent && movesThrough && !vectors.has("moved")) steps.output.box.hidden = true;
    steps.score.box.hidden = !hasScores;
    if (!hasScores) return;
    steps.score.show(scoreFormula(facts), differences(facts, this.#extrasOf(facts)));
    if (!vectors.areKnown) return;
    const out = throughOutput(facts);
    const rows = [vectorRows(facts), valueRows(facts), movesThrough ? outputRows(facts, out) : []];
    const titles = ["q, k and their products", "v, weight times v, and z", "the same after W_O"];
    for (const [i, strips] of this.strips.entries()) {
      strips.data = { colors: scene.colors, title: titles[i], rows: rows[i] };
      strips.update();
    }
    steps.vectors.show([]);
    steps.moved.show([]);
    steps.output.strips.hidden = !movesThrough;
    steps.output.show([], movesThrough ? outputNumbers(facts, out) : [NOT_TRANSPOSED]);
    // Last, because it makes the browser lay out everything written before.
    for (const strips of this.strips) strips.layout();
  }

  /** What this attention does to q and k; taken from its other heads while this one's vectors are pending. @param {Facts} facts */
  #extrasOf({ attn, vectors }) {
    if (vectors.areHere) {
      this.extras.set(attn.name, {
        rotated: vectors.has("q_unrotated"),
        normed: vectors.has("q_unnormed"),
      });
    }
    return this.extras.get(attn.name) ?? { rotated: false, normed: false };
  }

  /** Give the focus back to a number that was rebuilt. @param {string} name */
  #focus(name) {
    const again = [...this.box.querySelectorAll("[data-name]")]
      .map((node) => /** @type {HTMLElement} */ (node))
      .find((node) => node.dataset.name === name);
    if (!again || again === rootOf(this.box).activeElement) return;
    again.focus({ preventScroll: true });
  }
}

/** @param {Element} element */
const rootOf = (element) => /** @type {Document | ShadowRoot} */ (element.getRootNode());

/** The number at an event's target. @param {Event} event @returns {HTMLButtonElement | null} */
function numberAt({ target }) {
  return /** @type {Element} */ (target).closest("button.hl-number, button.hl-copy");
}

/**
 * The note on numbers that are unavailable or rounded.
 * @param {import("../run.js").ViewerRun} run
 * @param {Facts} facts
 * @param {boolean} hasScores
 */
function noteOf(run, { attn, layer, head, vectors }, hasScores) {
  if (!attn.has.includes("scores")) return WEIGHTS_ONLY;
  const precision = run.precision(attn, layer, head);
  const hasOutput = vectors.has("moved") || !attn.has.includes("lengths");
  const missing = [
    ...(hasScores ? [] : ["scores"]),
    ...(vectors.areHere ? [] : ["vectors"]),
    ...(hasOutput ? [] : ["what W_O makes of v"]),
  ].join(", ");
  const absent = run.absent && missing ? [`This head’s ${missing}: ${lowered(run.absent)}`] : [];
  return [...absent, ...(precision ? [`Weights are ${precision}.`] : [])].join(" ");
}

/** @param {string} text */
const lowered = (text) => text[0].toLowerCase() + text.slice(1);
