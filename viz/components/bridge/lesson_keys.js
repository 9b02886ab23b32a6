// @ts-check
// Keyboard and presenter control of lesson steps. Each step starts at its top.

import { commandOf, whereOf } from "../scenes/keys.js";

/** Streamlit keys of the buttons. @type {Partial<Record<import("../scenes/keys.js").Command, string>>} */
const BUTTONS = { next: "step_next", previous: "step_back" };
const STEPS = ".st-key-lesson_steps button";
const TOP = ".st-key-step";

/** Listen to keys in the whole document, on pages that have such buttons. */
export function stepByKeys() {
  document.addEventListener("keydown", (event) => {
    const command = event.defaultPrevented ? undefined : commandOf(event, whereOf(event.composedPath()));
    const name = command && BUTTONS[command];
    const button = /** @type {HTMLButtonElement | null} */ (
      name ? document.querySelector(`.st-key-${name} button`) : null
    );
    if (!button || button.disabled) return;
    event.preventDefault();
    button.click();
  });
  document.addEventListener("click", ({ target }) => {
    if (target instanceof Element && target.closest(STEPS)) document.querySelector(TOP)?.scrollIntoView();
  });
}
