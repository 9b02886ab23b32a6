// @ts-check
// Asks for another run of the surrounding fragment at an interval, for as long as Python says.
//
// Streamlit's own clock (run_every) can be set and stopped only by a run of the whole page, and such a run, requested
// by a clock, would overtake a page link that is being followed.

import { afterUser } from "../shared/after_user.js";
import { isFollowing, isRunning } from "../shared/busy.js";

/** @type {import("./bridge.js").Helper<{seconds: number | null}>} */
export function clock({ seconds }, { answer }) {
  if (!seconds) return;
  const tick = () => {
    if (!isRunning() && !isFollowing()) answer(true);
  };
  const timer = setInterval(() => afterUser(tick), seconds * 1000);
  return () => clearInterval(timer);
}
