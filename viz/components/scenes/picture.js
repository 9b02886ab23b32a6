// @ts-check
// A page's picture: what a scene keeps by name, and the only part of the page that a show leaves visible.

import { isVisiting } from "./visit.js";

const MAIN = '[data-testid="stMain"]';
const DRAWN = '[data-testid="stPlotlyChart"], [data-testid^="stBidiComponent"]';
const KEYED = /(?:^|\s)st-key-([\w-]+)/;
/** Helpers that draw nothing are lower than this, in pixels. */
const LOWEST = 60;
/** Space below a shown picture, in pixels. */
const MARGIN = 8;

const main = () => /** @type {HTMLElement | null} */ (document.querySelector(MAIN));

/** @param {HTMLElement} element */
const nameOf = (element) => KEYED.exec(element.className)?.[1] ?? "";

/** The elements that draw something, each with the name that Python gave it. @returns {HTMLElement[]} */
function drawn() {
  const found = [...(main()?.querySelectorAll(DRAWN) ?? [])].map((element) =>
    element.closest('[class*="st-key-"]'),
  );
  return /** @type {HTMLElement[]} */ (found).filter((element) => element && element.offsetHeight > LOWEST);
}

/** The element of a name; a name that is not a picture's leads to the picture after it. @param {string} name */
function named(name) {
  const within = main();
  const element = name.startsWith("#")
    ? document.getElementById(name.slice(1))
    : within?.getElementsByClassName(`st-key-${name}`)[0];
  if (!element || element.querySelector(DRAWN)) return /** @type {HTMLElement | undefined} */ (element);
  const { DOCUMENT_POSITION_FOLLOWING } = Node;
  return drawn().find((own) => element.compareDocumentPosition(own) & DOCUMENT_POSITION_FOLLOWING);
}

/**
 * The name of the picture that fills most of the window; "" for the page's own.
 * @param {string[]} own names of the page's own picture
 */
export function pictureInView(own) {
  const within = main();
  if (!within?.scrollTop) return "";
  const { top, bottom } = within.getBoundingClientRect();
  let [name, most] = ["", 0];
  for (const element of drawn()) {
    const box = element.getBoundingClientRect();
    const seen = Math.min(box.bottom, bottom) - Math.max(box.top, top);
    if (seen > most) [name, most] = [nameOf(element), seen];
  }
  const isOwn = own.some((each) => named(each)?.querySelector(`.st-key-${CSS.escape(name || "-")}`));
  return isOwn || own.includes(name) ? "" : name;
}

/** Finds a scene's picture while its page is still being drawn; shows it alone, or scrolls to it. */
export class Picture {
  /** In order of preference; null once the user has moved on. @type {string[] | null} */
  names = null;
  isAlone = false;
  /** @type {HTMLElement | null} */
  element = null;

  constructor() {
    this.sized = new ResizeObserver(() => this.fit());
    const look = () => this.names && this.look();
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
    addEventListener("resize", () => this.fit());
    for (const moved of ["wheel", "touchmove", "pointerdown", "keydown"])
      addEventListener(moved, () => this.isAlone || this.release(), { capture: true, passive: true });
  }

  /** @param {string[]} names @param {boolean} isAlone whether to hide everything else */
  want(names, isAlone) {
    this.names = names;
    this.isAlone = isAlone;
    this.look();
  }

  /** Show the whole page again. */
  release() {
    this.names = null;
    this.isAlone = false;
    this.mark(null);
  }

  /** Look again on another page, whose elements may be those of the last one. */
  lookAfresh() {
    this.mark(null);
    this.look();
  }

  look() {
    if (isVisiting()) return;
    const found = this.names?.map(named).find(Boolean);
    const kept = this.element?.isConnected ? this.element : null;
    const element = found ?? kept ?? (this.isAlone ? drawn()[0] : null) ?? null;
    if (this.isAlone) this.mark(element);
    else element?.scrollIntoView({ block: "center" });
  }

  /** @param {HTMLElement | null} element */
  mark(element) {
    if (element === this.element) return;
    if (this.element) {
      delete this.element.dataset.picture;
      for (const name of ["width", "zoom", "transform", "margin"]) this.element.style.removeProperty(name);
    }
    this.sized.disconnect();
    this.element = element;
    if (!element) return;
    // A Plotly chart finds the pointer under a transform, our own views under a zoom.
    const isChart = element.querySelector('[data-testid="stPlotlyChart"]');
    element.dataset.picture = isChart ? "chart" : "view";
    this.sized.observe(element);
    this.fit();
  }

  /** Make the picture as large as the window below the bar allows. */
  fit() {
    const [element, within] = [this.element, main()];
    if (!element || !within || !element.offsetHeight) return;
    const { style } = element;
    const room = within.getBoundingClientRect();
    const [width, height] = [
      Math.max(element.offsetWidth, element.scrollWidth),
      Math.max(element.offsetHeight, element.scrollHeight),
    ];
    const space = [within.clientWidth - 2 * MARGIN, innerHeight - room.top - 2 * MARGIN];
    const scale = Math.min(1, space[0] / width, space[1] / height);
    style.width = `${width}px`;
    if (element.dataset.picture === "view") {
      style.zoom = String(scale);
    } else {
      style.transform = `scale(${scale})`;
      style.margin = `0 ${(scale - 1) * width}px ${(scale - 1) * height}px 0`;
    }
  }
}
