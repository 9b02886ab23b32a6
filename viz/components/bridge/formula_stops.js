// @ts-check
// A formula wider than the page is drawn smaller. If it would then be too small to read it scrolls, but Streamlit
// leaves it out of the keyboard's reach: here it becomes a Tab stop, where the arrow keys scroll it.

import { stopWhereMore } from "../shared/controls.js";

const FORMULA = ".katex-display";
/** The least share of its size that a formula is drawn at; its letters are then 12 px high in text of 16 px. */
const SMALLEST = 0.65;
/** What each formula was fitted to. @type {WeakMap<HTMLElement, string>} */
const fitted = new WeakMap();

/** @param {HTMLElement} formula */
function fit(formula) {
  const now = `${formula.clientWidth} ${formula.textContent}`;
  if (fitted.get(formula) === now) return;
  fitted.set(formula, now);
  formula.style.fontSize = "";
  const share = formula.clientWidth / formula.scrollWidth;
  if (share < 1) formula.style.fontSize = `${Math.max(SMALLEST, share - 0.01)}em`;
  stopWhereMore(formula);
}

/** Watch all formulas of the document, present and future. */
export function reachFormulas() {
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) fit(/** @type {HTMLElement} */ (target));
  });
  const look = () => {
    for (const formula of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(FORMULA))) {
      sizes.observe(formula);
      fit(formula);
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
  document.fonts.addEventListener("loadingdone", () => {
    for (const formula of document.querySelectorAll(FORMULA))
      fitted.delete(/** @type {HTMLElement} */ (formula));
    look();
  });
  look();
}
