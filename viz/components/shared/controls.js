// @ts-check
// Parts of a page that several views have: a choice between buttons, a box that scrolls, rows of bars.

import { div, h, span } from "./dom.js";
import { percent } from "./numbers.js";

/** @param {string} text @param {string} name what it does @param {() => void} onclick */
export const namedButton = (text, name, onclick) => h("button", { "aria-label": name, onclick }, text);

/**
 * A row of buttons of which one is on.
 * @template {string} Value
 * @param {HTMLElement} parent
 * @param {string} label
 * @param {Partial<Record<Value, string>>} options the text of each
 * @param {(value: Value) => void} onChoose
 * @returns {(chosen: Value) => void} shows which one is on
 */
export function choice(parent, label, options, onChoose) {
  const values = /** @type {Value[]} */ (Object.keys(options));
  const buttons = values.map((value) =>
    h("button", { onclick: () => onChoose(value) }, options[value] ?? ""),
  );
  const parts = [span("hl-choice-label", label), div("hl-choice-row", ...buttons)];
  parent.append(h("div", { class: "hl-choice", role: "group", "aria-label": label }, ...parts));
  return (chosen) => {
    for (const [i, button] of buttons.entries()) button.ariaPressed = String(values[i] === chosen);
  };
}

/**
 * Let a box fade out at each edge beyond which there is more of it, because scrollbars hide on many screens.
 * @param {HTMLElement} box
 * @returns {() => void} looks again, after a change of what is in the box
 */
export function fadeWhereMore(box) {
  const show = () => {
    const { scrollLeft, scrollTop, scrollWidth, scrollHeight, clientWidth, clientHeight } = box;
    const more = {
      left: scrollLeft > 1,
      right: scrollLeft + clientWidth < scrollWidth - 1,
      up: scrollTop > 1,
      down: scrollTop + clientHeight < scrollHeight - 1,
    };
    for (const [edge, is] of Object.entries(more)) box.classList.toggle(`hl-more-${edge}`, is);
  };
  box.classList.add("hl-fades");
  box.addEventListener("scroll", show);
  new ResizeObserver(show).observe(box);
  return show;
}

/** Make a box a stop of the Tab key where it scrolls sideways, and only there. @param {Element} box */
export function stopWhereMore(box) {
  if (box.scrollWidth > box.clientWidth) box.setAttribute("tabindex", "0");
  else box.removeAttribute("tabindex");
}

/** @param {number} probability @param {string} className */
function bar(probability, className) {
  const filled = div(className);
  filled.style.width = `${100 * probability}%`;
  return filled;
}

/**
 * A track with a bar for each probability.
 * @param {Record<string, number>} probabilities by the class of their bars
 */
export const track = (probabilities) =>
  div("track", ...Object.entries(probabilities).map(([className, p]) => bar(p, className)));

/**
 * A row of a list of probabilities.
 * @param {HTMLElement} word
 * @param {Record<string, number>} bars the probabilities, by the class of their bars
 * @param {{className?: string, rank?: string, numbers?: string[], tag?: string}} row
 */
export function barRow(word, bars, { className = "", rank = "", numbers, tag = "" }) {
  const percents = numbers ?? Object.values(bars).map(percent);
  const written = percents.map((number, i) => span(i ? "percent quiet" : "percent", number));
  const cells = [span("rank", rank), word, track(bars), ...written, span("tag", tag)];
  return h("div", { class: className, role: "listitem" }, ...cells);
}
