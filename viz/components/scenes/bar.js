// @ts-check
// The bar above the page during a show: the caption, the scene's number, and buttons.

import { namedButton } from "../shared/controls.js";
import { div, h, span, svg } from "../shared/dom.js";
import style from "./bar.css";
import { commandOf, whereOf } from "./keys.js";

/** The actions of the buttons and keys; without `end` the show cannot be ended. */
/** @typedef {Record<Exclude<import("./keys.js").Command, "end">, () => void> & {end?: () => void}} Commands */

/** Many fonts lack a full-screen symbol. */
const CORNERS = "M1 5V1h4M11 1h4v4M15 11v4h-4M5 15H1v-4";

export class Bar {
  caption = h("p", { class: "caption", "aria-live": "polite" });
  sentence = h("p", { class: "sentence" });
  lack = h("p", { class: "lack" });
  count = span("count", "");

  /** @param {Commands} commands */
  constructor(commands) {
    this.commands = commands;
    this.previous = namedButton("◀", "Previous scene", commands.previous);
    this.next = namedButton("▶", "Next scene", commands.next);
    const screen = namedButton("", "Full screen, or back", commands.screen);
    screen.append(svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: CORNERS })));
    screen.hidden = !document.fullscreenEnabled;
    const controls = div("controls", this.previous, this.count, this.next, screen);
    if (commands.end) controls.append(namedButton("✕", "End the show", commands.end));
    this.box = h("div", { class: "bar", role: "region", "aria-label": "Scenes" });
    this.box.append(div("said", this.caption, this.sentence, this.lack), controls);
    this.host = h("div");
    this.host.attachShadow({ mode: "open" }).append(h("style", {}, style), this.box);
    // The page begins below the bar, which is as tall as its caption.
    new ResizeObserver(() => this.measure()).observe(this.box);
  }

  open() {
    document.body.append(this.host);
    this.next.focus();
  }

  close() {
    this.host.remove();
  }

  measure() {
    document.documentElement.style.setProperty("--hl-bar-height", `${this.box.offsetHeight}px`);
  }

  /**
   * @param {{caption?: string, title: string, sentence?: string, lack?: string}} said a title contains the sentence
   * @param {number} index
   * @param {number} length
   */
  show({ caption, title, sentence = "", lack = "" }, index, length) {
    this.caption.textContent = caption || title;
    this.caption.classList.toggle("title", !caption);
    this.sentence.textContent = sentence;
    this.sentence.hidden = !caption || !sentence;
    this.lack.textContent = lack;
    this.lack.hidden = !lack;
    this.count.textContent = `${index + 1} of ${length}`;
    this.previous.ariaDisabled = String(index === 0);
    this.next.ariaDisabled = String(index === length - 1);
    this.measure();
  }

  /** Do what a key commands, and keep it from everything else. @param {KeyboardEvent} event */
  press(event) {
    const command = commandOf(event, whereOf(event.composedPath()));
    const act = command && this.commands[command];
    if (!act) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    act();
  }
}

/** Enter or leave full screen, where the browser allows it. */
export function toggleFullScreen() {
  if (document.fullscreenElement) document.exitFullscreen();
  else document.documentElement.requestFullscreen?.().catch(() => {});
}
