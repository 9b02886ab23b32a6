// @ts-check
// The menu of a page's sections stays in view; a section that is chosen from its middle begins at its start.

const MENU = ".st-key-section_menu";
const SECTIONS = ".st-key-sections";

/** Watch all menus of sections of the document, present and future. */
export function startSections() {
  const startChosen = (/** @type {Event} */ { target }) => {
    const button = target instanceof Element && target.closest(`${MENU} button`);
    if (!button) return;
    const [menu, sections] = [button.closest(MENU), button.closest(SECTIONS)];
    if (!menu || !sections) return;
    button.scrollIntoView({ block: "nearest", inline: "center" });
    const isStuck = menu.getBoundingClientRect().top > sections.getBoundingClientRect().top + 16;
    if (isStuck) sections.scrollIntoView();
  };
  addEventListener("click", startChosen, { capture: true });
}
