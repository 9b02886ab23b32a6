// A sentence as the model gets it: a chip a token, with its position and its id; unknown words are marked,
// and the tokens of one word are framed together.

class TokenStrip {
  constructor(root) {
    this.list = element("div", "hl-tokens", root);
    this.list.setAttribute("role", "list");
    this.fade = fadeWhereMore(this.list);
    this.note = element("div", "hl-note", root);
  }

  update() {
    const { tokens, words, colors, title, note } = this.data;
    this.list.setAttribute("aria-label", title);
    // A list that scrolls has to be reachable by keyboard.
    this.list.tabIndex = 0;
    const chips = tokens.map((token, position) => this.chip(token, position, colors));
    const framed = words.flatMap(([word, count]) => {
      const own = chips.splice(0, count);
      return word && count > 1 ? [this.frame(word, own)] : own;
    });
    this.list.replaceChildren(...framed);
    this.fade();
    this.note.textContent = note;
  }

  frame(word, chips) {
    const frame = element("div", "hl-frame");
    frame.setAttribute("role", "group");
    frame.setAttribute("aria-label", "the word " + word);
    element("div", "parts", frame).append(...chips);
    element("span", "whole", frame, word);
    return frame;
  }

  chip([word, id, kind], position, colors) {
    const chip = element("div", "hl-token " + kind);
    chip.setAttribute("role", "listitem");
    element("span", "place", chip, position);
    element("span", "word", chip, word);
    element("span", "id", chip, "id " + id);
    if (kind === "unknown") {
      chip.style.background = hatchSwatch({ hatch: colors.grid, masked: colors.surface });
      element("span", "mark", chip, "unknown");
    }
    return chip;
  }
}

export default (component) => mountView(component, "token_strip", (root) => new TokenStrip(root));
