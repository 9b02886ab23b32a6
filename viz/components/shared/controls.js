// @ts-check
// Controls that several views share: a choice between buttons, a box that scrolls, rows of bars.

import { div, h, span } from "./dom.js";
import { percent, sum } from "./numbers.js";
import { quoted } from "./words.js";

/** @param {string} text @param {string} name what it does @param {() => void} onclick */
export const namedButton = (text, name, onclick) => h("button", { "aria-label": name, onclick }, text);

/** The way to the question why the model wrote a word. It keeps its room while there is no word to ask about. */
export function askButton() {
  const button = h("button", { class: "hl-ask" });
  /** @param {string} word "" for none @param {() => void} onclick */
  const offer = (word, onclick) => {
    const label = `Why ${quoted(word)}?`;
    button.style.visibility = word ? "" : "hidden";
    button.textContent = label;
    button.title = `${label} Which heads and which words it depends on`;
    button.onclick = onclick;
  };
  offer("", () => {});
  return { button, offer };
}

/**
 * A row of buttons, one of which is pressed.
 * @template {string} Value
 * @param {string} label for screen readers
 * @param {[value: Value, text: string][]} options
 * @param {(value: Value) => void} onChoose
 */
export function buttonRow(label, options, onChoose) {
  const buttons = options.map(([value, text]) => h("button", { onclick: () => onChoose(value) }, text));
  const row = h("div", { class: "hl-choice-row", role: "group", "aria-label": label }, ...buttons);
  const press = (/** @type {Value} */ chosen) => {
    for (const [i, button] of buttons.entries()) button.ariaPressed = String(options[i][0] === chosen);
  };
  return { row, press };
}

/**
 * A row of buttons after its label.
 * @template {string} Value
 * @param {HTMLElement} parent
 * @param {string} label
 * @param {Partial<Record<Value, string>>} options the text of each
 * @param {(value: Value) => void} onChoose
 * @returns {(chosen: Value) => void} shows which button is pressed
 */
export function choice(parent, label, options, onChoose) {
  const texts = /** @type {[Value, string][]} */ (Object.entries(options));
  const { row, press } = buttonRow(label, texts, onChoose);
  parent.append(div("hl-choice", span("hl-choice-label", label), row));
  return press;
}

/**
 * Fade a box at each edge beyond which it scrolls, because many screens hide scrollbars.
 * @param {HTMLElement} box
 * @returns {() => void} looks again; call it when the contents have changed
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

/** Make a box a Tab stop if it scrolls sideways, and only then. @param {Element} box */
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
 * A row in a list of probabilities.
 * @param {HTMLElement} word
 * @param {Record<string, number>} bars probabilities, by the class of their bars
 * @param {{className?: string, rank?: string, numbers?: string[], tag?: string}} row
 */
export function barRow(word, bars, { className = "", rank = "", numbers, tag = "" }) {
  const percents = numbers ?? Object.values(bars).map(percent);
  const written = percents.map((number, i) => span(i ? "percent quiet" : "percent", number));
  const cells = [span("rank", rank), word, track(bars), ...written, span("tag", tag)];
  return h("div", { class: className, role: "listitem" }, ...cells);
}

/** @typedef {{word: string, probability: number, rank: number, best: [word: string, probability: number][]}} Predicted the token taken, and the best ones */

/**
 * Rows of a list: the best tokens, the token taken if it is not one of them, and all others.
 * @param {Predicted} step
 * @param {string} taken a tag for the token taken
 */
export function candidateRows({ best, word, probability, rank }, taken) {
  const shown = best.map(([word, probability], i) => ({ word, probability, place: i + 1 }));
  if (shown.length < rank) shown.push({ word, probability, place: rank });
  const rest = Math.max(0, 1 - sum(shown.map(({ probability }) => probability)));
  return [
    ...shown.map(({ word, probability, place }) => {
      const marked = place === rank ? { className: "taken", tag: taken } : {};
      return barRow(span("word", word), { "": probability }, { rank: `${place}.`, ...marked });
    }),
    barRow(span("word", "all others"), { "": rest }, { className: "rest" }),
  ];
}
