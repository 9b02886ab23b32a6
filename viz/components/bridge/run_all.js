// @ts-check
// Asks for a run of the whole page when something outside the last fragment run has changed.

import { RUN_ALL } from "../shared/after_user.js";
import { reporter } from "../shared/busy.js";

/** @type {import("./bridge.js").Helper} */
export function runAll(_, { node, answer }) {
  const ask = reporter(node, answer);
  const listener = () => ask(true);
  document.addEventListener(RUN_ALL, listener);
  return () => document.removeEventListener(RUN_ALL, listener);
}
