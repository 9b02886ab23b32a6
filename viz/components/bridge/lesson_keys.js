// @ts-check
// The steps of a lesson, and the stages of Step by step, by keyboard or by a presenter. Each step is read from its
// beginning.

import { commandOf, whereOf } from "../scenes/keys.js";

/** The keys of the buttons. @type {Partial<Record<import("../scenes/keys.js").Command, string[]>>} */
const BUTTONS = { next: ["step_next", "stage_next"], previous: ["step_back", "stage_back"] };
const STEPS = ".st-key-lesson_steps button";
const TOP = ".st-key-step";

/** Let the keys of the whole document step, where there are such buttons. */
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
