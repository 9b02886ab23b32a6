// @ts-check
// Installs once per document what every page needs, and reports the lesson that a click on a term asks for.

import { reporter } from "../shared/busy.js";
import { loadChartScript } from "./chart_script.js";
import { reachFormulas } from "./formula_stops.js";
import { stepByKeys } from "./lesson_keys.js";
import { expectPage, navigate } from "./navigation.js";
import { startSections } from "./section_menu.js";
import { explainTerms } from "./terms.js";
import { keepCharactersWhole } from "./whole_characters.js";

const LEARN = "learn";
/** @type {(lesson: string) => void} */
let openLesson = () => {};

/** @type {import("./bridge.js").Helper} */
export function pageHelpers({ chart_script }, { node, answer }) {
  openLesson = reporter(node, (lesson) => {
    answer(lesson);
    // The key that opened it is released a moment later: a run caused by that would return to the old page.
    expectPage(LEARN);
  });
  const { dataset } = document.documentElement;
  if ("headlight" in dataset) return;
  dataset.headlight = "";
  navigate();
  keepCharactersWhole();
  reachFormulas();
  startSections();
  stepByKeys();
  loadChartScript(chart_script);
  explainTerms((lesson) => openLesson(lesson));
}
