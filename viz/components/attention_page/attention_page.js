// @ts-check
// The script of a saved page: it mounts the viewer on the runs in the page and requests nothing.

import { PageScene } from "./page_scene.js";
import { Steps } from "./steps.js";

/** @type {NodeListOf<HTMLElement>} */
const sections = document.querySelectorAll("main > section");
const scenes = Array.from(sections, (section) => new PageScene(section));
/** Null on a page of one run, which has no scenes to step through. */
const steps = document.querySelector(".scene") ? new Steps(scenes) : null;
const isDark = matchMedia("(prefers-color-scheme: dark)");

/** @param {boolean} isPrinted on paper the page is light, as wide as the paper, and shows all scenes: see the page's style */
function paint(isPrinted) {
  document.documentElement.classList.toggle("printed", isPrinted);
  for (const [index, scene] of scenes.entries()) {
    scene.section.hidden = !isPrinted && index !== (steps?.at ?? 0);
    scene.paint(isDark.matches && !isPrinted ? "dark" : "light");
  }
}

isDark.addEventListener("change", () => paint(false));
addEventListener("beforeprint", () => paint(true));
addEventListener("afterprint", () => paint(false));
paint(false);
// The visible scene comes first; the others are drawn when shown or printed.
for (const scene of scenes) await scene.read();
