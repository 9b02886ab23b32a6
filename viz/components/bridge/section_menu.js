// @ts-check
// The menu of a page's sections stays in view, and so does its chosen button on a narrow screen; a section that is
// chosen from its middle begins at its start.

const MENU = ".st-key-section_menu";
const ROW = '[data-testid="stButtonGroup"] > div';
const SECTIONS = ".st-key-sections";
/** The animation that begins on a button whenever it becomes the chosen one: at first, by a click, or by Python. */
const CHOSEN = "hl-chosen";

/** Scroll a button to the middle of its row, and nothing else. @param {Element} button */
function center(button) {
  const row = button.closest(ROW);
  if (!row) return;
  const [own, whole] = [button.getBoundingClientRect(), row.getBoundingClientRect()];
  row.scrollLeft += own.left + own.width / 2 - whole.left - whole.width / 2;
}

/** Watch all menus of sections of the document, present and future. */
export function startSections() {
  const startChosen = (/** @type {Event} */ { target }) => {
    const button = target instanceof Element && target.closest(`${MENU} button`);
    if (!button) return;
    const [menu, sections] = [button.closest(MENU), button.closest(SECTIONS)];
    if (!menu || !sections) return;
    const isStuck = menu.getBoundingClientRect().top > sections.getBoundingClientRect().top + 16;
    if (isStuck) sections.scrollIntoView();
  };
  const showChosen = (/** @type {AnimationEvent} */ { target, animationName }) => {
    if (animationName === CHOSEN && target instanceof Element) center(target);
  };
  addEventListener("click", startChosen, { capture: true });
  addEventListener("animationstart", showChosen, { capture: true });
  document.querySelectorAll(`${MENU} [aria-checked="true"]`).forEach(center);
}
