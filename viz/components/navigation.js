// One entry in the browser's history for each visit of a page, and no click that overtakes a page link.
//
// Streamlit adds an entry for each parameter that Python writes and up to three when the page changes, the first of
// them the page being left without its parameters. And whatever is clicked between a link and the first word of the
// new page is sent in the name of the old one, which the server then shows.

const LINK = '[data-testid="stSidebarNavLink"]';
const APP = '[data-testid="stApp"]';
const GESTURES = ["pointerdown", "mousedown", "pointerup", "mouseup", "click"];
const TRIES = 3;
const SETTLED_MILLISECONDS = 300;
const PATIENCE_MILLISECONDS = 10_000;

function install() {
  const { documentElement: root } = document;
  const push = history.pushState.bind(history);
  const replace = history.replaceState.bind(history);
  // The page that a link leads to, until it comes; and the address of the page shown, before leaving changes it.
  let followed = null;
  let whole = location.href;

  const arrive = () => {
    followed = null;
    delete root.dataset.following;
  };

  const follow = (path) => {
    whole = location.href;
    followed = { path, tries: 1 };
    root.dataset.following = path;
    const mine = followed;
    setTimeout(() => followed === mine && arrive(), PATIENCE_MILLISECONDS);
  };

  history.pushState = (state, unused, url) => {
    const { pathname } = new URL(url, location.href);
    if (pathname !== location.pathname) {
      replace(history.state, "", whole);
      push(state, "", url);
      arrive();
    } else if (!followed) {
      replace(state, "", url);
    }
  };

  const onGesture = (event) => {
    const link = event.target.closest?.(LINK);
    if (!link) {
      if (followed) {
        event.preventDefault();
        event.stopImmediatePropagation();
      }
      return;
    }
    if (event.type !== "click" || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const path = new URL(link.href).pathname;
    if (path === location.pathname) arrive();
    else if (path !== followed?.path) follow(path);
  };
  for (const type of GESTURES) addEventListener(type, onGesture, { capture: true });
  const onStep = () => {
    arrive();
    whole = location.href;
  };
  addEventListener("popstate", onStep, { capture: true });

  // A run that was under way when the link was clicked can have sent the server back to its own page.
  const again = () => {
    const mine = followed;
    if (!mine || document.querySelector(APP)?.dataset.testScriptState !== "notRunning") return;
    const link = [...document.querySelectorAll(LINK)].find(({ href }) => new URL(href).pathname === mine.path);
    if (!link || mine.tries === TRIES) {
      arrive();
    } else {
      mine.tries += 1;
      link.click();
    }
  };
  const onState = () => {
    if (document.querySelector(APP)?.dataset.testScriptState !== "notRunning") return;
    if (followed) setTimeout(again, SETTLED_MILLISECONDS);
    else whole = location.href;
  };
  new MutationObserver(onState).observe(document.body, {
    subtree: true,
    attributes: true,
    attributeFilter: ["data-test-script-state"],
  });
}

export default function () {
  if (window.headlightNavigation) return;
  window.headlightNavigation = true;
  install();
}
