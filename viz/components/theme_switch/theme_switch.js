// @ts-check
// Light, dark or the system's choice, for the whole app at once.
//
// Streamlit has no call for this. Its own menu, which the app does not show, changes the theme by a React context,
// found here from this component's own element upwards; so a change is as quick as the menu's, and nothing is
// reloaded. (A message as from a host page would do it too, if the app obeyed the messages of other pages.) Another
// version of Streamlit may hide the context: then a sentence says so.

/**
 * @typedef {object} ThemeContext
 * @property {{name: string}} activeTheme
 * @property {{name: string}[]} availableThemes
 * @property {(theme: {name: string}) => void} setTheme
 */
/** @typedef {"System" | "Light" | "Dark"} Choice */

const REMEMBERED = "headlight-theme";
/** The last word of Streamlit's name for each. */
const SUFFIX = { System: "Auto", Light: "Light", Dark: "Dark" };
/** A theme that has been set is painted within a frame or two; a busy machine may need longer. */
const PATIENCE_MILLISECONDS = 3000;

/** @param {string | null} text @returns {Choice} */
const asChoice = (text) => (text && text in SUFFIX ? /** @type {Choice} */ (text) : "System");

/** @param {Element | null} element @returns {ThemeContext | null} */
function themeContext(element) {
  const fiberKey = (/** @type {Element} */ node) =>
    Object.keys(node).find((name) => name.startsWith("__reactFiber$"));
  let node = element;
  while (node && !fiberKey(node)) node = node.parentElement;
  const known = /** @type {any} */ (node);
  for (let fiber = known?.[fiberKey(known) ?? ""]; fiber; fiber = fiber.return) {
    const value = fiber.memoizedProps?.value;
    if (value?.setTheme && value.activeTheme && value.availableThemes) return value;
  }
  return null;
}

/**
 * Have Streamlit change its theme; false where this version of it does not let us.
 * @param {Choice} choice
 * @param {Element} element
 */
function apply(choice, element) {
  const context = themeContext(element);
  const theme = context?.availableThemes.find(({ name }) => name.endsWith(SUFFIX[choice]));
  if (!context || !theme) return false;
  if (theme.name !== context.activeTheme.name) context.setTheme(theme);
  return true;
}

/** @param {Choice} choice */
function schemeOf(choice) {
  if (choice !== "System") return choice.toLowerCase();
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** @param {import("../mount.js").Component<{theme: string}> & {parentElement: ShadowRoot}} component */
export default function ({ parentElement, data, setTriggerValue }) {
  const group = /** @type {HTMLFieldSetElement} */ (parentElement.querySelector("fieldset"));
  const failure = /** @type {HTMLElement} */ (parentElement.querySelector("[role=status]"));
  const painted = () => getComputedStyle(group).colorScheme;

  /** @param {Choice} choice */
  const choose = (choice) => {
    const verify = () => {
      failure.hidden = painted() === schemeOf(choice);
    };
    failure.hidden = apply(choice, parentElement.host);
    if (failure.hidden) setTimeout(verify, PATIENCE_MILLISECONDS);
  };

  // Python draws its figures in the theme that it was told at a run: ask for another run when the page is painted
  // in a different one, whoever changed it. The style sheet makes a change of colour a transition.
  const report = () => {
    if (painted() !== data.theme) setTriggerValue("changed", true);
  };
  // What was chosen before this script was there counts too.
  /** @type {HTMLInputElement | null} */
  const early = group.ontransitionstart ? null : group.querySelector("input:checked");
  if (early) localStorage.setItem(REMEMBERED, early.value);
  group.ontransitionstart = report;
  report();

  const chosen = asChoice(localStorage.getItem(REMEMBERED));
  for (const input of group.querySelectorAll("input")) {
    input.checked = input.value === chosen;
    input.onchange = () => {
      localStorage.setItem(REMEMBERED, input.value);
      choose(asChoice(input.value));
    };
  }
  choose(chosen);
}
