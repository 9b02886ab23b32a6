// @ts-check
// Loads and runs Streamlit's script for charts while the first page is idle: its several megabytes take a second.

/** @param {string} name of its file, next to Streamlit's main script; "" if unknown */
export function loadChartScript(name) {
  const main = document.querySelector('script[type="module"][src*="/index."]');
  if (!name || !(main instanceof HTMLScriptElement)) return;
  requestIdleCallback(() => import(new URL(name, main.src).href));
}
