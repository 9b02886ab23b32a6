// @ts-check
// The steps of a lesson by keyboard, or by a presenter; each is read from its beginning.

import { commandOf, whereOf } from "../scenes/keys.js";

/** @type {Partial<Record<import("../scenes/keys.js").Command, string>>} */
const BUTTONS = { next: "step_next", previous: "step_back" };
const STEPS = ".st-key-lesson_steps button";
const TOP = ".st-key-step";

/** Let the keys of the whole document step, where a lesson is. */
export function stepByKeys() {
  document.addEventListener("keydown", (event) => {
    const command = event.defaultPrevented ? undefined : commandOf(event, whereOf(event.composedPath()));
    const name = command && BUTTONS[command];
    const button =
      name && /** @type {HTMLButtonElement | null} */ (document.querySelector(`.st-key-${name} button`));
    if (!button || button.disabled) return;
    event.preventDefault();
    button.click();
  });
  document.addEventListener("click", ({ target }) => {
    if (target instanceof Element && target.closest(STEPS)) document.querySelector(TOP)?.scrollIntoView();
  });
}
