// @ts-check
// Asks for a run of the whole page, when a fragment has been run for what was not in it.

import { RUN_ALL } from "../shared/after_user.js";
import { teller } from "../shared/busy.js";

/** @type {(told: true) => void} */
let runAll = () => {};
document.addEventListener(RUN_ALL, () => runAll(true));

/** @param {import("../mount.js").Component} component */
export default function ({ parentElement, setTriggerValue }) {
  runAll = teller(parentElement, (told) => setTriggerValue("asked", told));
}
