// @ts-check
// The output above the pictures: a click on a word chooses the token, and every picture follows. Next to it the way to
// the question why the model wrote the chosen word, on a page that can answer it.

import { askButton } from "../shared/controls.js";
import { div, h, span } from "../shared/dom.js";
import { clamp } from "../shared/numbers.js";

/** @typedef {import("./run.js").ViewerRun} ViewerRun */
/** @typedef {{before: string, how: string}} Output the text before the first token, and how the rest was found */
/**
 * The words that can be asked about.
 * @typedef {object} Why
 * @property {import("./run.js").Stack} stack that writes them
 * @property {[label: string, rows: number[]][]} words each with the positions from which its tokens are chosen
 * @property {number} unchosen the word that is asked about while nothing is chosen
 */

export class OutputLine {
  look = "";
  /** @type {HTMLButtonElement[]} */
  tokens = [];
  words = h("div", { class: "hl-words", role: "group", "aria-label": "The output: choose a token" });
  why = askButton();
  box = div("hl-output", this.words, this.why.button);

  /** @param {(position: number) => void} choose @param {(word: number) => void} ask why the model wrote a word */
  constructor(choose, ask) {
    this.choose = choose;
    this.ask = ask;
    this.words.onkeydown = (event) => this.press(event);
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const at = this.tokens.indexOf(/** @type {HTMLButtonElement} */ (event.target));
    if (!step || at < 0) return;
    event.preventDefault();
    const next = this.tokens[clamp(at + step, 0, this.tokens.length - 1)];
    next.focus();
    next.click();
  }

  /**
   * @param {ViewerRun} run
   * @param {{output?: Output, why?: Why}} data
   * @param {number | null} chosen the position of the chosen token of the output
   */
  show(run, { output, why }, chosen) {
    this.words.hidden = !output || !run.sides.decoder?.written.length;
    this.box.hidden = this.words.hidden && !why;
    if (this.words.hidden || !output) return;
    const look = JSON.stringify([run.id, output]);
    if (look !== this.look) this.#fill(run, output);
    this.look = look;
    for (const token of this.tokens) token.ariaPressed = String(Number(token.dataset.position) === chosen);
    const stop = this.tokens.find(({ ariaPressed }) => ariaPressed === "true") ?? this.tokens[0];
    for (const token of this.tokens) token.tabIndex = token === stop ? 0 : -1;
  }

  /**
   * Offer the question about the chosen word.
   * @param {Why | undefined} why
   * @param {number | null | undefined} chosen the position of the chosen token in the stack that writes, null for a
   *   token elsewhere, and undefined for none
   */
  offer(why, chosen) {
    this.why.button.hidden = !why;
    if (!why) return;
    const ofChosen = why.words.findIndex(([, rows]) => rows.includes(Number(chosen ?? -1)));
    const word = chosen === undefined ? why.unchosen : ofChosen;
    this.why.offer(why.words[word]?.[0] ?? "", () => this.ask(word));
  }

  /** @param {ViewerRun} run @param {Output} output */
  #fill(run, { before }) {
    const { written, spelled } = run.sides.decoder;
    this.tokens = written.flatMap((token, position) => {
      if (token === null) return [];
      const onclick = () => this.choose(position);
      const named = { class: spelled[position] ? "word" : "word hl-quiet", title: token, onclick };
      return [h("button", { ...named, "data-position": position }, spelled[position].trimStart() || token)];
    });
    // Between the tokens, where lines wrap.
    const spaces = this.tokens.map(({ dataset }) =>
      spelled[Number(dataset.position)].startsWith(" ") ? " " : "",
    );
    this.words.replaceChildren(
      span("word", before),
      ...this.tokens.flatMap((token, i) => [spaces[i], token]),
    );
  }
}
