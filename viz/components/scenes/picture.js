// @ts-check
// A page's picture: what a scene keeps by name, and the only part of the page that a show leaves visible.

import { isIdle } from "../shared/busy.js";
import { clamp } from "../shared/numbers.js";
import { stillOf } from "./still.js";
import { isVisiting } from "./visit.js";

const MAIN = '[data-testid="stMain"]';
const CHART = '[data-testid="stPlotlyChart"]';
const DRAWN = `${CHART}, [data-testid^="stBidiComponent"]`;
const SECTION = '[class*="st-key-section-"]';
const KEYED = /(?:^|\s)st-key-([\w-]+)/;
/** Helpers that draw nothing are lower than this, in pixels. */
const LOWEST = 60;
/** Space around a shown picture, in pixels. */
const MARGIN = 8;
/** Most times that a picture is magnified. */
const LARGEST = 1.5;
/** A picture that would have to be scaled by less is not legible: it is shown in part, and scrolls. */
const SMALLEST = 0.6;
/** Most times that a picture is laid out wider than the window. */
const WIDEST = 1.6;
/** A picture that has not changed for so long has been drawn. */
const SETTLED_MILLISECONDS = 600;
const PATIENCE_MILLISECONDS = 20_000;

const pause = () => new Promise((resume) => setTimeout(resume, 100));

const main = () => /** @type {HTMLElement | null} */ (document.querySelector(MAIN));

/** @param {HTMLElement} element */
const nameOf = (element) => KEYED.exec(element.className)?.[1] ?? "";

/** The elements that draw something, each with the name that Python gave it. @returns {HTMLElement[]} */
function drawn() {
  const found = [...(main()?.querySelectorAll(DRAWN) ?? [])].map((element) =>
    element.closest('[class*="st-key-"]'),
  );
  return /** @type {HTMLElement[]} */ (found).filter(
    (element) => element && element.offsetHeight > LOWEST && !element.closest("details:not([open])"),
  );
}

/** What a page shows where its own picture is missing: the first that it has, or a section of text. */
function substitute() {
  const section = /** @type {HTMLElement | null | undefined} */ (main()?.querySelector(SECTION));
  return section ? (drawn().find((own) => section.contains(own)) ?? section) : drawn()[0];
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
  /** Whether a still is being taken, which needs the whole picture. */
  isForStill = false;
  /** Scale of a picture that is shown in part; 0 if it is shown whole. */
  part = 0;
  /** @type {HTMLElement | null} */
  element = null;
  /** The element itself or the chart in it. @type {HTMLElement | null} */
  scaled = null;
  /** The size of the window that the picture's width was chosen for. */
  room = "";

  constructor() {
    this.sized = new ResizeObserver(() => this.fit());
    const look = () => this.names && this.look();
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
    addEventListener("resize", () => this.fit());
    for (const moved of ["wheel", "touchmove", "pointerdown", "keydown"])
      addEventListener(moved, () => this.isAlone || this.release(), { capture: true, passive: true });
  }

  /**
   * @param {string[]} names
   * @param {boolean} isAlone whether to hide everything else
   * @param {boolean} isForStill
   */
  want(names, isAlone, isForStill = false) {
    this.names = names;
    this.isAlone = isAlone;
    this.isForStill = isForStill;
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
    const element = found ?? kept ?? (this.isAlone ? substitute() : null) ?? null;
    if (this.isAlone) this.mark(element);
    else element?.scrollIntoView({ block: "center" });
  }

  /** A still of the picture once it has been drawn; "" if there is none. */
  async still() {
    let [before, since] = ["", Date.now()];
    for (const start = since; Date.now() - start < PATIENCE_MILLISECONDS; await pause()) {
      const box = this.scaled?.getBoundingClientRect();
      const now =
        this.element && box ? [box.width, box.height, this.element.querySelectorAll("*").length].join() : "";
      if (now !== before || !isIdle()) [before, since] = [now, Date.now()];
      else if (Date.now() - since > SETTLED_MILLISECONDS) return this.scaled ? stillOf(this.scaled) : "";
    }
    return this.scaled ? stillOf(this.scaled) : "";
  }

  /** @param {HTMLElement | null} element */
  mark(element) {
    if (element === this.element) return;
    if (this.element && this.scaled) {
      delete this.element.dataset.picture;
      delete this.element.dataset.part;
      for (const name of ["width", "zoom", "transform", "margin", "--hl-chart-scale"]) {
        this.element.style.removeProperty(name);
        this.scaled.style.removeProperty(name);
      }
    }
    this.sized.disconnect();
    this.element = this.scaled = element;
    this.room = "";
    if (!element) return;
    // A Plotly chart finds the pointer under a transform, our own views under a zoom. Streamlit makes a chart as wide
    // as its element appears, so the element of a single chart must not be transformed itself.
    const chart = /** @type {HTMLElement | null} */ (element.querySelector(CHART));
    element.dataset.picture = chart ? "chart" : "view";
    this.scaled = element.dataset.testid === "stElementContainer" && chart ? chart : element;
    this.sized.observe(element);
    this.fit();
  }

  /** Make the picture as large as the window below the bar allows. */
  fit() {
    const [element, within] = [this.element, main()];
    if (!element || !within || !element.offsetHeight) return;
    const { style } = element;
    const room = [
      within.offsetWidth - 2 * MARGIN,
      innerHeight - within.getBoundingClientRect().top - 2 * MARGIN,
    ];
    const size = [element.scrollWidth, Math.max(element.offsetHeight, element.scrollHeight)];
    const fitting = [room[0] / size[0], room[1] / size[1]];
    // A picture that is scaled down has room for more width, which may make it lower; the other way round for one
    // that is scaled up. Its size is then observed once more.
    if (this.room !== String(room)) {
      this.room = String(room);
      this.part = 0;
      delete element.dataset.part;
      const wanted = size[0] > element.offsetWidth ? 1 : clamp(fitting[1], 1 / WIDEST, LARGEST);
      const before = element.offsetWidth;
      style.width = `${room[0] / wanted}px`;
      if (element.offsetWidth !== before) return;
    }
    const whole = Math.min(...fitting, LARGEST);
    if (whole < SMALLEST && !this.part && !this.isForStill) {
      this.part = fitting[1] < SMALLEST ? 1 : Math.min(fitting[1], 1);
      element.dataset.part = "";
      // Next to the scroll bar of the window.
      style.width = `${(room[0] - 2 * MARGIN) / this.part}px`;
      return;
    }
    const scale = this.isForStill ? 1 : this.part || whole;
    const left = Math.max(0, room[0] - scale * size[0]) / 2;
    if (element.dataset.picture === "view") {
      style.zoom = String(scale);
      style.margin = `0 0 0 ${left / scale}px`;
    } else {
      // Streamlit measures the chart's frame, so within it only Plotly's own element is scaled; see page.css.
      if (this.scaled === element) style.transform = `scale(${scale})`;
      else style.setProperty("--hl-chart-scale", String(scale));
      style.margin = `0 ${(scale - 1) * size[0]}px ${(scale - 1) * size[1]}px ${left}px`;
    }
  }
}
