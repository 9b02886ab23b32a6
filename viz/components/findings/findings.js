// @ts-check
// The model doctor's findings, the worst first; buttons filter them by severity.

import { forStreamlit, mounting } from "../mount.js";
import { choice } from "../shared/controls.js";
import { div, h, span } from "../shared/dom.js";
import { View } from "../shared/shell.js";
import style from "./style.css";

/** @typedef {keyof typeof KINDS} Severity */
/** @typedef {Record<"title" | "number" | "meaning" | "advice" | "where", string>} Texts */
/** @typedef {Texts & {severity: Severity}} Finding */
/** @typedef {{findings: Finding[]}} FindingsData */

const KINDS = {
  problem: { sign: "✕", name: "Problems" },
  warning: { sign: "!", name: "Warnings" },
  note: { sign: "i", name: "Notes" },
  ok: { sign: "✓", name: "Healthy" },
};

/** @extends {View<FindingsData>} */
class Findings extends View {
  /** @type {Severity | "all"} */
  shown = "all";
  bar = div("hl-bar");
  list = h("div", { class: "list", role: "list" });

  build() {
    this.root.append(this.bar, this.list);
  }

  update() {
    const { findings } = this.data;
    /** @type {Partial<Record<Severity | "all", string>>} */
    const options = { all: `All ${findings.length}` };
    for (const kind of /** @type {Severity[]} */ (Object.keys(KINDS))) {
      const count = findings.filter(({ severity }) => severity === kind).length;
      if (count) options[kind] = `${KINDS[kind].name} ${count}`;
    }
    if (!options[this.shown]) this.shown = "all";
    this.bar.replaceChildren();
    this.press = choice(this.bar, "Show", options, (kind) => {
      this.shown = kind;
      this.draw();
    });
    this.draw();
  }

  draw() {
    this.press?.(this.shown);
    const chosen = this.data.findings.filter(({ severity }) => [severity, "all"].includes(this.shown));
    this.list.replaceChildren(...chosen.map(item));
  }
}

/** @param {Finding} finding */
function item({ severity, title, number, meaning, advice, where }) {
  const head = div("head", span("title", title));
  if (number) head.append(span("number", number));
  const text = div("text", head);
  if (where) text.append(div("where", where));
  if (meaning) text.append(h("div", {}, meaning));
  if (advice) text.append(h("div", {}, h("b", {}, "What to do: "), advice));
  const sign = h("span", { class: "sign", role: "img", "aria-label": severity }, KINDS[severity].sign);
  return h("div", { class: `item ${severity}`, role: "listitem" }, sign, text);
}

export const mount = mounting(Findings, "findings", style);
export default forStreamlit(mount);
