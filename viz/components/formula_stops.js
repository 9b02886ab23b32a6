// A formula wider than its place scrolls; Streamlit leaves it out of reach of the keyboard. One that does scroll
// becomes a stop of the Tab key, where the arrow keys move it.

function mend(formula) {
  const scrolls = formula.scrollWidth > formula.clientWidth;
  if (scrolls === formula.hasAttribute("tabindex")) return;
  if (scrolls) formula.setAttribute("tabindex", "0");
  else formula.removeAttribute("tabindex");
}

export default function () {
  if (window.headlightFormulas) return;
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
