// @ts-check
// A board for predictions: a row of tokens, or a matrix that is empty until the prediction is made. Every place is a
// button; arrow keys move between them, so that the whole board is one Tab stop.

import { forStreamlit, mounting } from "../mount.js";
import { css, inkOn, ramp, shade } from "../shared/color.js";
import { fadeWhereMore } from "../shared/controls.js";
import { div, h, span } from "../shared/dom.js";
import { format, stepped } from "../shared/numbers.js";
import { ARROWS, View } from "../shared/shell.js";
import { quoted } from "../shared/words.js";
import style from "./style.css";

/** @typedef {[row: number, column: number]} Place */

/**
 * @typedef {object} PredictionData
 * @property {string} title
 * @property {string[]} rows empty for a row of tokens
 * @property {string[]} columns
 * @property {[row: string, column: string]} axes
 * @property {string} unit
 * @property {Place | null} chosen
 * @property {boolean} revealed
 * @property {Uint8Array} open
 * @property {Float32Array} [values] when they are revealed
 * @property {Uint8Array} [right]
 */

/** With more columns than this, numbers appear only in the note. */
const WRITTEN = 12;

/** @extends {View<PredictionData>} */
class Prediction extends View {
  box = div("board");
  fade = fadeWhereMore(this.box);
  note = h("div", { class: "hl-note", "aria-live": "polite" });
  /** @type {HTMLButtonElement[]} */
  places = [];
  look = "";
  /** The place that Tab goes to. */
  at = 0;

  build() {
    this.box.onkeydown = (event) => this.press(event);
    this.box.onpointerover = ({ target }) => this.point(target);
    this.box.addEventListener("focusin", ({ target }) => this.point(target));
    this.root.append(this.box, this.note);
  }

  update() {
    const { rows, columns, open, chosen } = this.data;
    const look = JSON.stringify([rows, columns, [...open]]);
    if (look !== this.look) {
      this.look = look;
      this.places = Array.from(open, (_, i) => this.button(i));
      this.at = Math.max(0, open.indexOf(1));
      const row = { class: "row", role: "group", "aria-label": this.data.title };
      this.box.replaceChildren(rows.length ? this.matrix() : h("div", row, ...this.places));
    }
    if (chosen) this.at = chosen[0] * columns.length + chosen[1];
    this.mark();
    this.fade();
    this.showNote(null);
  }

  /** @param {number} i */
  button(i) {
    const { columns, rows, open } = this.data;
    const label = columns[i % columns.length];
    const text = rows.length ? [] : [span("place", i), span("word", label)];
    const button = h("button", { class: rows.length ? "cell" : "hl-chip token" }, ...text, span("value"));
    button.disabled = !open[i];
    button.onclick = () => this.choose(i);
    return button;
  }

  matrix() {
    const { rows, columns, axes, title } = this.data;
    const heads = columns.map((label) => h("th", { scope: "col" }, span("word", label)));
    const corner = h("td", { class: "corner" }, `${axes[0]} ↓ ${axes[1]} →`);
    const lines = rows.map((label, row) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, span("word", label)),
        ...columns.map((_, column) => h("td", {}, this.places[row * columns.length + column])),
      ),
    );
    const parts = [h("thead", {}, h("tr", {}, corner, ...heads)), h("tbody", {}, ...lines)];
    return h("table", { "aria-label": title }, ...parts);
  }

  mark() {
    const { chosen, columns, revealed, values, right, colors } = this.data;
    const finite = values ? Array.from(values).filter(Number.isFinite) : [];
    const [low, high] = [Math.min(0, ...finite), Math.max(0, ...finite)];
    const shades = ramp(colors.sequential);
    for (const [i, button] of this.places.entries()) {
      const isChosen = chosen !== null && i === chosen[0] * columns.length + chosen[1];
      const isRight = Boolean(right?.[i]);
      const value = values?.[i];
      const has = value !== undefined && Number.isFinite(value);
      const color = has ? shades[shade((value - low) / (high - low || 1))] : null;
      button.tabIndex = i === this.at ? 0 : -1;
      button.ariaPressed = String(isChosen);
      button.ariaLabel = this.named(i);
      button.classList.toggle("chosen", isChosen);
      button.classList.toggle("right", isRight);
      button.classList.toggle("shown", revealed);
      button.style.background = color ? css(color) : "";
      button.style.color = color ? inkOn(color) : "";
      const number = has && (!this.data.rows.length || columns.length <= WRITTEN) ? format(value) : "";
      /** @type {HTMLElement} */ (button.lastElementChild).textContent =
        `${isRight ? "✓ " : ""}${number}${isChosen && revealed && !isRight ? " ✕" : ""}`;
    }
  }

  /** A place's name, with its number once revealed. @param {number} i */
  named(i) {
    const { rows, columns, axes, values, right, chosen, unit } = this.data;
    const column = i % columns.length;
    const row = Math.floor(i / columns.length);
    const where = rows.length
      ? `${axes[0]} ${quoted(rows[row])}, ${axes[1]} ${quoted(columns[column])}`
      : `${quoted(columns[column])}, position ${column}`;
    const isChosen = chosen && chosen[0] === row && chosen[1] === column;
    const value = values?.[i];
    const details = [
      value !== undefined && Number.isFinite(value) ? `${unit} ${format(value, 4)}` : "",
      right?.[i] ? "right" : "",
      isChosen ? "your prediction" : "",
    ].filter(Boolean);
    return [where, ...details].join(": ");
  }

  /** @param {number} i */
  choose(i) {
    const { revealed, open, columns } = this.data;
    if (revealed || !open[i]) return;
    const place = /** @type {Place} */ ([Math.floor(i / columns.length), i % columns.length]);
    this.data.chosen = place;
    this.at = i;
    this.mark();
    this.showNote(i);
    this.selection.report(place);
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const step = ARROWS[event.key];
    if (!step) return;
    event.preventDefault();
    this.at = this.following(this.at, step);
    for (const [i, button] of this.places.entries()) button.tabIndex = i === this.at ? 0 : -1;
    this.places[this.at].focus();
  }

  /**
   * The next open place in a direction, or the same place if there is none.
   * @param {number} at
   * @param {readonly [number, number]} step
   */
  following(at, step) {
    const { columns, rows, open } = this.data;
    const n = columns.length;
    for (let i = at; ; ) {
      const [row, column] = stepped([Math.floor(i / n), i % n], step, [rows.length || 1, n]);
      const next = row * n + column;
      if (next === i) return at;
      if (open[next]) return next;
      i = next;
    }
  }

  /** @param {EventTarget | null} target */
  point(target) {
    const i = this.places.findIndex((button) => target instanceof Node && button.contains(target));
    this.showNote(i < 0 ? null : i);
  }

  /** @param {number | null} i */
  showNote(i) {
    const { revealed, chosen, rows } = this.data;
    const ask = rows.length ? "Click a cell" : "Click a token";
    const rest = revealed
      ? `✓ is right${chosen ? "; your prediction is framed" : ""}.`
      : chosen
        ? ""
        : `${ask}, or move to it with the arrow keys.`;
    this.note.textContent = i === null ? rest : this.named(i);
  }
}

export const mount = mounting(Prediction, "prediction", style);
export default forStreamlit(mount);
