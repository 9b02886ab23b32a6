// @ts-check
// The output above the pictures: a click on a word chooses the token, and every picture follows.

import { div, h, span } from "../shared/dom.js";
import { clamp } from "../shared/numbers.js";

/** @typedef {import("./run.js").ViewerRun} ViewerRun */
/** @typedef {{before: string, how: string}} Output the text before the first token, and how the rest was found */

export class OutputLine {
  look = "";
  /** @type {HTMLButtonElement[]} */
  tokens = [];
  words = h("div", { class: "hl-words", role: "group", "aria-label": "The output: choose a token" });
  box = div("hl-output", this.words);

  /** @param {(position: number) => void} choose */
  constructor(choose) {
    this.choose = choose;
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

  /** @param {ViewerRun} run @param {Output | undefined} output @param {number | null} chosen its position */
  show(run, output, chosen) {
    this.box.hidden = !output || !run.sides.decoder?.written.length;
    if (this.box.hidden || !output) return;
    const look = JSON.stringify([run.id, output]);
    if (look !== this.look) this.#fill(run, output);
    this.look = look;
    for (const token of this.tokens) token.ariaPressed = String(Number(token.dataset.position) === chosen);
    const stop = this.tokens.find(({ ariaPressed }) => ariaPressed === "true") ?? this.tokens[0];
    for (const token of this.tokens) token.tabIndex = token === stop ? 0 : -1;
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
