// @ts-check
// A formula wider than its box scrolls, but Streamlit leaves it out of the keyboard's reach. Here it becomes a Tab
// stop, where the arrow keys scroll it.

import { stopWhereMore } from "../shared/controls.js";

/** Watch all formulas of the document, present and future. */
export function reachFormulas() {
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) stopWhereMore(target);
  });
  const look = () => {
    for (const formula of document.querySelectorAll(".katex-display")) {
      sizes.observe(formula);
      stopWhereMore(formula);
    }
  };
  let isWaiting = false;
  const lookSoon = () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      look();
    });
  };
  new MutationObserver(lookSoon).observe(document.body, { childList: true, subtree: true });
  document.fonts.addEventListener("loadingdone", look);
  look();
}
