// @ts-check
// Reports the page's magnification when Python assumes another one. The style sheet decides it by the window's width.

import { isFollowing, isIdle, onState } from "../shared/busy.js";

/** @type {import("./bridge.js").Helper<{magnification: number}>} */
export function largeType({ magnification }, { answer }) {
  const report = () => {
    const actual = Number(getComputedStyle(document.documentElement).getPropertyValue("--hl-zoom"));
    // Not during a run: another run would replace one in which the address decides.
    if (isIdle() && !isFollowing() && actual && actual !== magnification) answer(actual);
  };
  const end = onState(report);
  addEventListener("resize", report);
  report();
  return () => {
    end();
    removeEventListener("resize", report);
  };
}
