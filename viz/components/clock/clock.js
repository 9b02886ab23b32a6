// @ts-check
// Asks for another run of the fragment that it stands in, again and again, for as long as Python says.
//
// Streamlit's own clock (run_every) can only be set and stopped by a run of the whole page, and a run of the whole
// page that was asked for by a clock overtakes a page link that is being followed.

import { afterUser } from "../shared/after_user.js";
import { isFollowing, isRunning } from "../shared/busy.js";

/** @type {WeakMap<Node, number>} */
const running = new WeakMap();

/** @param {import("../mount.js").Component<{seconds: number | null}>} component */
export default function ({ parentElement, data, setTriggerValue }) {
  const stop = () => clearInterval(running.get(parentElement));
  stop();
  if (data.seconds) {
    const tick = () => {
      if (!isRunning() && !isFollowing()) setTriggerValue("tick", true);
    };
    running.set(
      parentElement,
      window.setInterval(() => afterUser(tick), data.seconds * 1000),
    );
  }
  return stop;
}
