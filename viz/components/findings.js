// A doctor's findings, the worst first; buttons show those of one severity alone.

const KINDS = {
  problem: ["✕", "Problems"],
  warning: ["!", "Warnings"],
  note: ["i", "Notes"],
  ok: ["✓", "Healthy"],
};

class Findings {
  constructor(root) {
    this.shown = "all";
    this.bar = element("div", "hl-bar", root);
    this.list = element("div", "list", root);
    this.list.setAttribute("role", "list");
  }

  update() {
    const { findings } = this.data;
    const count = (kind) => findings.filter(({ severity }) => severity === kind).length;
    const kinds = Object.keys(KINDS).filter(count);
    if (!kinds.includes(this.shown)) this.shown = "all";
    const options = kinds.map((kind) => [kind, `${KINDS[kind][1]} ${count(kind)}`]);
    this.bar.replaceChildren();
    this.press = choiceOf(this.bar, "Show", [["all", `All ${findings.length}`], ...options], (kind) => {
      this.shown = kind;
      this.draw();
    });
    this.draw();
  }

  draw() {
    this.press(this.shown);
    const chosen = this.data.findings.filter(({ severity }) => [severity, "all"].includes(this.shown));
    this.list.replaceChildren(...chosen.map((finding) => this.item(finding)));
  }

  item({ severity, title, number, meaning, advice, where }) {
    const item = element("div", "item " + severity);
    item.setAttribute("role", "listitem");
    const sign = element("span", "sign", item, KINDS[severity][0]);
    sign.setAttribute("role", "img");
    sign.setAttribute("aria-label", severity);
    const text = element("div", "text", item);
    const head = element("div", "head", text);
    element("span", "title", head, title);
    if (number) element("span", "number", head, number);
    if (where) element("div", "where", text, where);
    if (meaning) element("div", "", text, meaning);
    if (advice) {
      const line = element("div", "", text);
      element("b", "", line, "What to do: ");
      line.append(advice);
    }
    return item;
  }
}

export default (component) => mountView(component, "findings", (root) => new Findings(root));
