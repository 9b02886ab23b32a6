// A formula wider than its place scrolls; Streamlit leaves it out of reach of the keyboard. One that does scroll
// becomes a stop of the Tab key, where the arrow keys move it. Without the padding each formula of several lines
// would scroll, by 2 px.
//
// The values of a multiselect are white on the accent colour, which is pale in the dark theme.

const STYLE = [
  ".katex-display { padding-right: 4px; }",
  '[data-testid="stMultiSelectTagsContainer"] span[role="group"] * { color: light-dark(#ffffff, #0e1117); }',
].join("\n");

function mend(formula) {
  const scrolls = formula.scrollWidth > formula.clientWidth;
  if (scrolls === formula.hasAttribute("tabindex")) return;
  if (scrolls) formula.setAttribute("tabindex", "0");
  else formula.removeAttribute("tabindex");
}

export default function () {
  if (window.headlightFormulas) return;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  document.adoptedStyleSheets.push(sheet);
  const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => mend(target)));
  const look = () => {
    for (const formula of document.querySelectorAll(".katex-display")) {
      sizes.observe(formula);
      mend(formula);
    }
  };
  let waiting = 0;
  window.headlightFormulas = new MutationObserver(() => {
    waiting ||= requestAnimationFrame(() => {
      waiting = 0;
      look();
    });
  });
  window.headlightFormulas.observe(document.body, { childList: true, subtree: true });
  document.fonts.addEventListener("loadingdone", look);
  look();
}
