// @ts-check
// Keyboard and presenter control of lesson steps and of the stages of Step by step. Each step starts at its top.

import { commandOf, whereOf } from "../scenes/keys.js";

/** Streamlit keys of the buttons. @type {Partial<Record<import("../scenes/keys.js").Command, string[]>>} */
const BUTTONS = { next: ["step_next", "stage_next"], previous: ["step_back", "stage_back"] };
const STEPS = ".st-key-lesson_steps button";
const TOP = ".st-key-step";

/** Listen to keys in the whole document, on pages that have such buttons. */
export function stepByKeys() {
  document.addEventListener("keydown", (event) => {
    const command = event.defaultPrevented ? undefined : commandOf(event, whereOf(event.composedPath()));
    const names = (command && BUTTONS[command]) ?? [];
    const found = names.map((name) => document.querySelector(`.st-key-${name} button`));
    const button = /** @type {HTMLButtonElement | undefined} */ (found.find((one) => one !== null));
    if (!button || button.disabled) return;
    event.preventDefault();
    button.click();
  });
  document.addEventListener("click", ({ target }) => {
    if (target instanceof Element && target.closest(STEPS)) document.querySelector(TOP)?.scrollIntoView();
  });
}
