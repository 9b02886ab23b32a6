// A sentence as the model gets it: a chip a token, with its position and its id; unknown words are marked.

class TokenStrip {
  constructor(root) {
    this.list = element("div", "hl-tokens", root);
    this.list.setAttribute("role", "list");
    this.note = element("div", "hl-note", root);
  }

  update() {
    const { tokens, colors, title, note } = this.data;
    this.list.setAttribute("aria-label", title);
    // A list that scrolls has to be reachable by keyboard.
    this.list.tabIndex = 0;
    this.list.replaceChildren(...tokens.map((token, position) => this.chip(token, position, colors)));
    this.note.textContent = note;
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
