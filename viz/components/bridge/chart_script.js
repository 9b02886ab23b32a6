// @ts-check
// Loads Streamlit's script for charts, of several megabytes, while the first page is idle.

const CHART_SCRIPT = /\.\/PlotlyChart\.[\w-]+\.js/; // among the names of the scripts that the main one may load
const IDLE_WITHIN = 5000; // milliseconds

export function loadChartScript() {
  const main = document.querySelector('script[type="module"][src*="/index."]');
  if (!(main instanceof HTMLScriptElement)) return;
  requestIdleCallback(() => preload(main.src), { timeout: IDLE_WITHIN });
}

/** A script that can't be found is loaded with the first chart. @param {string} main */
async function preload(main) {
  const name = CHART_SCRIPT.exec(await (await fetch(main)).text())?.[0];
  if (!name) return;
  const link = document.createElement("link");
  link.rel = "modulepreload";
  link.href = new URL(name, main).href;
  document.head.append(link);
}
