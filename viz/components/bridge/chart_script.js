// @ts-check
// Loads Streamlit's script for charts, of several megabytes, while the first page is idle.

const IDLE_WITHIN = 5000; // milliseconds

/** @param {string} name of its file, next to Streamlit's main script; "" if unknown */
export function loadChartScript(name) {
  const main = document.querySelector('script[type="module"][src*="/index."]');
  if (!name || !(main instanceof HTMLScriptElement)) return;
  requestIdleCallback(() => preload(new URL(name, main.src).href), { timeout: IDLE_WITHIN });
}

/** @param {string} address */
function preload(address) {
  const link = document.createElement("link");
  link.rel = "modulepreload";
  link.href = address;
  document.head.append(link);
}
