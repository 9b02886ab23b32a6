// @ts-check
// Shows a term's explanation next to it: on hover, on focus, at the first tap. A click opens its lesson.
//
// A term is a link to its lesson with the explanation as its title; see viz/glossary.py.

import { div, h } from "../shared/dom.js";
import { clamp } from "../shared/numbers.js";

const LINK = "#lesson-";
const TERM = `a[href^="${LINK}"]`;
const ID = "headlight-term";
const MORE = "Click to open its lesson.";
/** Time to move from the term to its explanation. */
const LEAVING_MILLISECONDS = 200;
const MARGIN = 8;

/** The event's innermost target, inside shadow roots too. @param {Event} event */
const targetOf = (event) => event.composedPath()[0];

/** @param {EventTarget | null} target @returns {HTMLAnchorElement | null} */
const termOf = (target) => (target instanceof Element ? target.closest(TERM) : null);

class Terms {
  text = h("div");
  box = h("div", { id: ID, class: "hl-term", role: "tooltip", popover: "manual" });
  /** The term whose explanation is shown. @type {HTMLAnchorElement | null} */
  shown = null;
  /** The first tap shows the explanation, the next opens the lesson. */
  isFirstTap = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  leaving;

  constructor() {
    this.box.append(this.text, div("hl-term-more", MORE));
  }

  /** @param {HTMLAnchorElement} term */
  show(term) {
    clearTimeout(this.leaving);
    if (this.shown === term) return;
    this.hide();
    // Otherwise the browser would show the title as well.
    if (term.title) term.dataset.term = term.title;
    term.removeAttribute("title");
    this.text.textContent = term.dataset.term ?? "";
    // Not by the box's id, which is unknown inside a shadow root.
    term.ariaDescription = this.text.textContent;
    document.body.append(this.box);
    this.box.showPopover();
    this.place(term);
    this.shown = term;
  }

  /** Place the box below the term, or above if there is no room. @param {HTMLElement} term */
  place(term) {
    const { box } = this;
    const { left, top, bottom } = term.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = box;
    const isAbove = bottom + height + MARGIN > innerHeight && top > height + MARGIN;
    box.style.left = `${clamp(left, MARGIN, Math.max(MARGIN, innerWidth - width - MARGIN))}px`;
    box.style.top = `${isAbove ? top - height - 2 : bottom + 2}px`;
  }

  hide() {
    clearTimeout(this.leaving);
    if (!this.shown) return;
    this.shown.ariaDescription = null;
    this.shown = null;
    this.box.hidePopover();
  }

  hideSoon() {
    clearTimeout(this.leaving);
    this.leaving = setTimeout(() => this.hide(), LEAVING_MILLISECONDS);
  }

  /** @param {PointerEvent} event */
  onOver(event) {
    const target = targetOf(event);
    const term = termOf(target);
    if (term && event.pointerType !== "touch") this.show(term);
    else if (target instanceof Node && this.box.contains(target)) clearTimeout(this.leaving);
    else if (this.shown && !this.shown.matches(":focus")) this.hideSoon();
  }

  /** Tab may have scrolled to a term: its explanation moves along. */
  onScroll() {
    if (this.shown?.matches(":focus")) this.place(this.shown);
    else this.hide();
  }

  /** @param {PointerEvent} event */
  onDown(event) {
    const target = targetOf(event);
    const term = termOf(target);
    this.isFirstTap = event.pointerType === "touch" && term !== this.shown;
    if (!term && !(target instanceof Node && this.box.contains(target))) this.hide();
  }
}

/** Explain the terms of the document. @param {(lesson: string) => void} open opens a lesson */
export function explainTerms(open) {
  const terms = new Terms();
  if (location.hash.startsWith(LINK)) {
    // From a click before this script was loaded.
    open(location.hash.slice(LINK.length));
    history.replaceState(history.state, "", location.pathname + location.search);
  }
  document.addEventListener("pointerover", (event) => terms.onOver(event));
  document.addEventListener("pointerdown", (event) => terms.onDown(event), true);
  document.addEventListener("focusin", (event) => {
    const term = termOf(targetOf(event));
    if (term) terms.show(term);
    else terms.hide();
  });
  document.addEventListener("focusout", () => terms.hideSoon());
  document.addEventListener("scroll", () => terms.onScroll(), { capture: true, passive: true });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !terms.shown) return;
    event.stopPropagation();
    terms.hide();
  });
  document.addEventListener(
    "click",
    (event) => {
      const term = termOf(targetOf(event));
      if (!term) return;
      event.preventDefault();
      if (terms.isFirstTap) {
        terms.show(term);
        return;
      }
      terms.hide();
      open(term.hash.slice(LINK.length));
    },
    true,
  );
}
