// @ts-check
// Loads and runs Streamlit's script for charts while the first page is idle: its several megabytes take a second.

const CHART_SCRIPT = /\.\/PlotlyChart\.[\w-]+\.js/; // among the names of the scripts that the main one may load

export function loadChartScript() {
  const main = document.querySelector('script[type="module"][src*="/index."]');
  if (main instanceof HTMLScriptElement) requestIdleCallback(() => load(main.src));
}

/** A script that can't be found is loaded with the first chart. @param {string} main */
async function load(main) {
  const [name] = CHART_SCRIPT.exec(await (await fetch(main)).text()) ?? [];
  if (name) requestIdleCallback(() => import(new URL(name, main).href));
}
