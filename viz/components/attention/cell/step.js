// @ts-check
// A step of the arithmetic: a heading, and numbers among which the arrow keys move.

import { div, h } from "../../shared/dom.js";
import { clamp } from "../../shared/numbers.js";

const STOPS = ".hl-number:not(.hl-pending), .hl-copy";
/** @type {Record<string, number>} */
const STEPS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity };

/** @typedef {{href: string, title: string}} Link */

export class Step {
  /** @param {string} heading */
  constructor(heading) {
    this.content = div("hl-step-content");
    this.strips = div("hl-step-strips");
    this.after = div("hl-step-content");
    this.heading = div("hl-step-heading");
    this.box = h("section", { class: "hl-step" }, this.heading, this.content, this.strips, this.after);
    this.name(heading);
    arrowKeys(this.box);
  }

  /** @param {string} heading */
  name(heading) {
    this.heading.textContent = this.box.ariaLabel = heading;
  }

  /** Turn the terms in the heading into links; the page shows their titles. @param {Record<string, Link>} terms */
  explain(terms) {
    const names = Object.keys(terms);
    if (!names.length) return;
    const parts = this.box.ariaLabel?.split(new RegExp(`\\b(${names.join("|")})\\b`)) ?? [];
    const isFirst = (/** @type {string} */ part, /** @type {number} */ at) =>
      Object.hasOwn(terms, part) && parts.indexOf(part) === at;
    const nodes = parts.map((part, at) => (isFirst(part, at) ? h("a", { ...terms[part] }, part) : part));
    this.heading.replaceChildren(h("span", {}, ...nodes));
  }

  /** @param {import("../../shared/dom.js").Child[]} content @param {import("../../shared/dom.js").Child[]} [after] */
  show(content, after = []) {
    this.content.replaceChildren(...content.map(asNode));
    this.after.replaceChildren(...after.map(asNode));
    oneStop(this.box);
  }
}

/** @param {import("../../shared/dom.js").Child} child */
const asNode = (child) => (typeof child === "number" ? String(child) : child);

/** Let the arrow keys move among the numbers of a box. @param {HTMLElement} box */
export function arrowKeys(box) {
  box.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    const from = /** @type {HTMLElement} */ (event.target);
    if (!step || !from.matches(STOPS) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const next = event.key === "ArrowUp" || event.key === "ArrowDown" ? inNextRow(from, step) : null;
    const stops = stopsOf(box);
    const to = next ?? stops[clamp(stops.indexOf(from) + step, 0, stops.length - 1)];
    from.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  });
}

/** Make a box a single Tab stop. @param {HTMLElement} box */
export function oneStop(box) {
  const stops = stopsOf(box);
  if (stops.length && !stops.some((stop) => stop.tabIndex === 0)) stops[0].tabIndex = 0;
}

/** @param {HTMLElement} box @returns {HTMLElement[]} */
const stopsOf = (box) => [...box.querySelectorAll(STOPS)].map((stop) => /** @type {HTMLElement} */ (stop));

/** The number in the same column of a table's next row; null outside of tables. @param {HTMLElement} from @param {number} step */
function inNextRow(from, step) {
  const row = from.closest("tr");
  const rows = [...(row?.closest("table")?.rows ?? [])].filter((other) => stopsOf(other).length);
  if (!row) return null;
  const next = rows[clamp(rows.indexOf(row) + step, 0, rows.length - 1)];
  const column = from.closest("td")?.cellIndex ?? 0;
  return stopsOf(next).find((stop) => (stop.closest("td")?.cellIndex ?? 0) >= column) ?? from;
}
