// @ts-check
// Says by what the page is magnified, where Python takes it for something else. The style sheet decides, by the width
// of the window.

import { isFollowing, isIdle, onState } from "../shared/busy.js";

/** @type {WeakMap<Node, () => void>} */
const listening = new WeakMap();

/** @param {import("../mount.js").Component<{magnification: number}>} component */
export default function ({ parentElement, data, setTriggerValue }) {
  listening.get(parentElement)?.();
  const report = () => {
    const magnified = Number(getComputedStyle(document.documentElement).getPropertyValue("--hl-zoom"));
    // Not while the page is run: another run would take the place of one in which the address decides.
    if (isIdle() && !isFollowing() && magnified && magnified !== data.magnification)
      setTriggerValue("changed", magnified);
  };
  const end = onState(report);
  const stop = () => {
    end();
    removeEventListener("resize", report);
  };
  addEventListener("resize", report);
  listening.set(parentElement, stop);
  report();
  return stop;
}
