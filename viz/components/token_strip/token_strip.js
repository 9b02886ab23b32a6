// @ts-check
// A sentence as the model receives it: one chip per token, with position and id; unknown words are marked, and a
// word's tokens share a frame.

import { forStreamlit, mounting } from "../mount.js";
import { chooseToken, chosenToken, onChosen } from "../shared/chosen_token.js";
import { hatchSwatch } from "../shared/color.js";
import { fadeWhereMore } from "../shared/controls.js";
import { div, h, span } from "../shared/dom.js";
import { View } from "../shared/shell.js";
import style from "./style.css";

/** @typedef {[text: string, id: number, kind: "word" | "special" | "unknown"]} Token */

/**
 * @typedef {object} StripData
 * @property {string} title
 * @property {string} note
 * @property {import("../shared/chosen_token.js").Stack} stack that reads the tokens
 * @property {Token[]} tokens
 * @property {[word: string, count: number][]} words each word with its number of tokens, in order
 */

/** @extends {View<StripData>} */
class TokenStrip extends View {
  // A list that scrolls must be reachable by keyboard.
  list = h("div", { class: "hl-tokens", role: "list", tabindex: 0 });
  fade = fadeWhereMore(this.list);
  note = div("hl-note");

  ignore = () => {};
  /** @type {HTMLElement[]} */
  chips = [];

  build() {
    this.root.append(this.list, this.note);
    this.ignore = onChosen(() => this.data && this.mark());
  }

  end() {
    super.end();
    this.ignore();
  }

  /** Mark the token that is chosen on the page. */
  mark() {
    const chosen = chosenToken()[this.data.stack];
    for (const [position, chip] of this.chips.entries()) chip.classList.toggle("chosen", position === chosen);
  }

  update() {
    const { tokens, words, title, note } = this.data;
    this.list.setAttribute("aria-label", title);
    this.chips = tokens.map((token, position) => this.chip(token, position));
    const chips = [...this.chips];
    const framed = words.flatMap(([word, count]) => {
      const own = chips.splice(0, count);
      return word && count > 1 ? [frame(word, own)] : own;
    });
    this.list.replaceChildren(...framed);
    this.fade();
    this.note.textContent = note;
    this.mark();
  }

  /** @param {Token} token @param {number} position */
  chip([word, id, kind], position) {
    const chip = h(
      "div",
      {
        class: `hl-chip hl-token ${kind}`,
        role: "listitem",
        onclick: () => chooseToken(this.data.stack, position),
      },
      span("place", position),
      span("word", word),
      span("id", `id ${id}`),
    );
    if (kind === "unknown") {
      const { grid, surface } = this.data.colors;
      chip.style.background = hatchSwatch({ hatch: grid, masked: surface });
      chip.append(span("mark", "unknown"));
    }
    return chip;
  }
}

/** @param {string} word @param {HTMLElement[]} chips */
const frame = (word, chips) =>
  h(
    "div",
    { class: "hl-frame", role: "listitem" },
    h("div", { class: "parts", role: "list", "aria-label": `the word ${word}` }, ...chips),
    span("whole", word),
  );

export const mount = mounting(TokenStrip, "token_strip", style);
export default forStreamlit(mount);
