// @ts-check
// Keys during a show.

/** @typedef {"next" | "previous" | "first" | "last" | "end" | "screen"} Command */

/** Sent by presenters; they work wherever the focus is. @type {Record<string, Command>} */
const PAGING = { PageDown: "next", PageUp: "previous" };
/** @type {Record<string, Command>} */
const MOVES = { ArrowRight: "next", ArrowLeft: "previous", Home: "first", End: "last" };
/** @type {Record<string, Command>} */
const OTHERS = { Escape: "end", f: "screen", F: "screen" };

const FIELDS =
  "input, textarea, select, [contenteditable=true], [role=slider], [role=combobox], [role=listbox], [role=menu]";
// A click on empty space focuses Streamlit's own <main>: that counts as the page.
const VIEWS = "[role=application], [tabindex]:not([tabindex='-1'], button, a, main)";

/**
 * Where the focus is: in a field, which needs all keys; in a view, which needs the arrow keys; or on the page.
 * @param {EventTarget[]} path
 * @returns {"field" | "view" | "page"}
 */
export function whereOf(path) {
  const elements = path.filter((node) => node instanceof Element);
  if (elements.some((element) => element.matches(FIELDS))) return "field";
  return elements.some((element) => element.matches(VIEWS)) ? "view" : "page";
}

/**
 * @param {Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">} event
 * @param {"field" | "view" | "page"} where
 * @returns {Command | undefined}
 */
export function commandOf({ key, ctrlKey, metaKey, altKey }, where) {
  if (ctrlKey || metaKey || altKey) return undefined;
  const known = { ...PAGING, ...(where !== "field" && OTHERS), ...(where === "page" && MOVES) };
  return Object.hasOwn(known, key) ? known[key] : undefined;
}
