// @ts-check
// A formula wider than its place scrolls; Streamlit leaves it out of reach of the keyboard. One that does scroll
// becomes a stop of the Tab key, where the arrow keys move it.

import { stopWhereMore } from "../shared/controls.js";

/** Watch all formulas of the document, also those to come. */
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
