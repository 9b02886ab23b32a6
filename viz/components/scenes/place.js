// @ts-check
// A page's scroll position, relative to the landmark nearest the top, because heights differ between windows.

/** @typedef {[landmark: string, offset: number]} Place a name, and its distance below the upper edge, in rem */

const MAIN = '[data-testid="stMain"]';
const LANDMARKS = 'h1[id], h2[id], h3[id], [class*="st-key-"]';
const KEYED = /(?:^|\s)st-key-([\w-]+)/;

const rem = () => Number.parseFloat(getComputedStyle(document.documentElement).fontSize);

const main = () => document.querySelector(MAIN);

/** @param {Element} element @param {Element} within */
const offsetIn = (element, within) =>
  (element.getBoundingClientRect().top - within.getBoundingClientRect().top) / rem();

/** @param {Element} element */
const nameOf = (element) => (element.id ? `#${element.id}` : (KEYED.exec(element.className)?.[1] ?? ""));

/** @param {string} name @param {Element} within */
function named(name, within) {
  if (name.startsWith("#")) return document.getElementById(name.slice(1));
  return within.getElementsByClassName(`st-key-${name}`)[0] ?? null;
}

/** The page's scroll position; null at the top. @returns {Place | null} */
export function placeOf() {
  const within = main();
  if (!within?.scrollTop) return null;
  /** @type {Place | null} */
  let nearest = null;
  for (const element of within.querySelectorAll(LANDMARKS)) {
    const [name, offset] = [nameOf(element), offsetIn(element, within)];
    const shown = element.getClientRects().length > 0;
    if (name && shown && Math.abs(offset) < Math.abs(nearest?.[1] ?? Infinity)) nearest = [name, offset];
  }
  return nearest;
}

/** Holds a page at a position while it is still being drawn, until the user scrolls. */
export class Hold {
  /** @type {{place: Place | null} | null} */
  target = null;

  constructor() {
    const grown = new ResizeObserver(() => this.align());
    const look = () => {
      const within = main();
      for (const part of within?.children ?? []) grown.observe(part);
      if (within) grown.observe(within);
      this.align();
    };
    new MutationObserver(() => this.target && look()).observe(document.body, {
      childList: true,
      subtree: true,
    });
    addEventListener("scroll", () => this.align(), { capture: true, passive: true });
    for (const moved of ["wheel", "touchmove", "pointerdown", "keydown"])
      addEventListener(moved, () => this.release(), { capture: true, passive: true });
  }

  /** @param {Place | null} place */
  hold(place) {
    this.target = { place };
    this.align();
  }

  release() {
    this.target = null;
  }

  align() {
    const within = main();
    if (!this.target || !within) return;
    const { place } = this.target;
    if (!place) {
      within.scrollTop = 0;
      return;
    }
    const element = named(place[0], within);
    if (element) within.scrollTop += (offsetIn(element, within) - place[1]) * rem();
  }
}
