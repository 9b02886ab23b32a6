// @ts-check
// One history entry per visited page, no click that overtakes a page link, and no sidebar over the page on a phone.
//
// Streamlit adds an entry for each parameter that Python writes and up to three when the page changes, the first of
// them the old page without its parameters. And a click between a page link and the new page's first message is sent
// for the old page, which the server then shows again.

import { isVisiting } from "../scenes/visit.js";
import { isIdle } from "../shared/busy.js";

/** The links of the navigation, and the product's name, which leads home. */
const LINK = '[data-testid="stSidebarNavLink"], .st-key-brand a';
const OPEN_SIDEBAR = '[data-testid="stSidebar"][data-collapsed="false"]';
const COLLAPSE = '[data-testid="stSidebarCollapseButton"] button';
/** Up to this width Streamlit draws the sidebar over the page. */
const NARROW_PIXELS = 768;
const GESTURES = ["pointerdown", "mousedown", "pointerup", "mouseup", "click"];
const INPUTS = ["pointerdown", "keydown"];
const TRIES = 3;
const SETTLED_MILLISECONDS = 300;
/** Streamlit sends a component's report from a timer: a link followed before it fires would be overtaken. */
const TOLD_MILLISECONDS = 10;
const PATIENCE_MILLISECONDS = 10_000;

const links = () => [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(LINK))];

/** @param {Element} link */
const pathOf = (link) => new URL(/** @type {HTMLAnchorElement} */ (link).href).pathname;

/** Whether a click opens its link in this window. @param {Event} event */
const isPlainClick = (event) =>
  event instanceof MouseEvent &&
  event.type === "click" &&
  !(event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);

/** @param {Event} event */
function swallow(event) {
  event.preventDefault();
  event.stopImmediatePropagation();
}

/** @param {string} path */
const linkTo = (path) => links().find((link) => pathOf(link) === path);

/** Streamlit leaves the sidebar open over most of the page, or its second click on a link opens it again. */
function uncoverPage() {
  if (innerWidth > NARROW_PIXELS) return;
  /** @type {HTMLElement | null | undefined} */ (
    document.querySelector(OPEN_SIDEBAR)?.querySelector(COLLAPSE)
  )?.click();
}

class Navigation {
  /** The page that a followed link leads to, until it is shown. @type {{path: string, tries: number} | null} */
  followed = null;
  /** Whether the sidebar may cover a page that a link has led to. */
  isCovered = false;
  /** The address of the current page, before leaving it changes the address. */
  whole = location.href;
  /**
   * Whether a run has cleared the address. One that leaves the page does so, and is over before the next page is there,
   * however long that takes: until the user does something here, `whole` is the address before.
   */
  isCleared = false;
  push = history.pushState.bind(history);
  replace = history.replaceState.bind(history);

  /** @param {string} path */
  follow(path) {
    this.whole = location.href;
    const mine = { path, tries: 1 };
    this.followed = mine;
    this.isCovered = true;
    document.documentElement.dataset.following = path;
    setTimeout(() => this.followed === mine && this.arrive(), PATIENCE_MILLISECONDS);
  }

  arrive() {
    this.followed = null;
    delete document.documentElement.dataset.following;
    if (this.isCovered) setTimeout(uncoverPage);
  }

  /** Replaces Streamlit's additions to the history. @type {History["pushState"]} */
  onPush(state, _unused, url) {
    if (isVisiting()) {
      this.replace(state, "", url);
      return;
    }
    const { pathname } = new URL(url ?? "", location.href);
    if (pathname !== location.pathname) {
      this.replace(history.state, "", this.whole);
      this.push(state, "", url);
      this.isCleared = false;
      // A button pressed before the link may have led elsewhere.
      if (!this.followed || this.followed.path === pathname) this.arrive();
      this.whole = location.href;
    } else if (!this.followed) {
      const { search } = new URL(url ?? "", location.href);
      this.isCleared = !search && (this.isCleared || Boolean(location.search));
      this.replace(state, "", url);
    }
  }

  /** @param {Event} event */
  onGesture(event) {
    const link = event.target instanceof Element ? event.target.closest(LINK) : null;
    if (!link) {
      if (this.followed) swallow(event);
    } else if (isPlainClick(event)) {
      const path = pathOf(link);
      if (path === location.pathname) {
        this.arrive();
      } else if (path !== this.followed?.path) {
        this.follow(path);
        swallow(event);
        setTimeout(() => this.followed?.path === path && linkTo(path)?.click(), TOLD_MILLISECONDS);
      }
    }
  }

  /** The user stays on a page whose address was cleared. */
  onInput() {
    if (this.isCleared && isIdle()) this.whole = location.href;
    this.isCleared = this.isCleared && !isIdle();
  }

  onStep() {
    this.arrive();
    this.isCleared = false;
    this.whole = location.href;
  }

  onState() {
    plainLists();
    if (!isIdle()) return;
    if (this.followed) {
      setTimeout(() => this.again(), SETTLED_MILLISECONDS);
      return;
    }
    if (!this.isCleared) this.whole = location.href;
    if (this.isCovered) uncoverPage();
    this.isCovered = false;
  }

  /** Click again: a run in progress when the link was clicked may have sent the server back to its own page. */
  again() {
    const mine = this.followed;
    if (!mine || !isIdle()) return;
    const link = linkTo(mine.path);
    if (!link || mine.tries === TRIES) {
      this.arrive();
    } else {
      mine.tries += 1;
      link.click();
    }
  }
}

/** Streamlit puts each group's heading into one list with the links, which no list may hold. */
function plainLists() {
  for (const node of document.querySelectorAll(
    '[data-testid="stSidebarNavItems"], [data-testid="stSidebarNavItems"] li',
  ))
    node.setAttribute("role", "presentation");
}

const navigation = new Navigation();

/**
 * Expect a page that a report to Python will open, as a link would. Call it at the moment of reporting.
 * @param {string} page its path below the app's base
 */
export function expectPage(page) {
  const path = new URL(page, location.href).pathname;
  if (path !== location.pathname) navigation.follow(path);
}

/** Take over the document's history and page links. */
export function navigate() {
  plainLists();
  history.pushState = (...change) => navigation.onPush(...change);
  for (const type of INPUTS) addEventListener(type, () => navigation.onInput(), { capture: true });
  for (const type of GESTURES)
    addEventListener(type, (event) => navigation.onGesture(event), { capture: true });
  addEventListener("popstate", () => navigation.onStep(), { capture: true });
  new MutationObserver(() => navigation.onState()).observe(document.body, {
    subtree: true,
    attributes: true,
    attributeFilter: ["data-test-script-state"],
  });
}
