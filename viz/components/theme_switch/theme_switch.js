// @ts-check
// Switches the whole app to light, dark or the system's theme.
//
// Streamlit has no API for this. Its own menu, which the app hides, changes the theme through a React context, which
// is found here by walking up from this component's element: no reload is needed. (A message from a host page would
// do it too, if the app accepted messages from other pages.) If another version of Streamlit hides the context, a
// sentence says so.

/**
 * @typedef {object} ThemeContext
 * @property {{name: string}} activeTheme
 * @property {{name: string}[]} availableThemes
 * @property {(theme: {name: string}) => void} setTheme
 */
/** @typedef {"System" | "Light" | "Dark"} Choice */

const REMEMBERED = "headlight-theme";
/** The last word of Streamlit's name for each choice. */
const SUFFIX = { System: "Auto", Light: "Light", Dark: "Dark" };
/** A new theme is painted within a frame or two; a busy machine may take longer. */
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
 * Set Streamlit's theme; returns false if this version does not allow it.
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

  // Python draws figures in the theme it knew at the last run: request another run when the page is painted in a
  // different theme. The style sheet turns a change of colour into a transition, which is heard here.
  const report = () => {
    if (painted() !== data.theme) setTriggerValue("changed", true);
  };
  // A choice made before this script was loaded counts too.
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
