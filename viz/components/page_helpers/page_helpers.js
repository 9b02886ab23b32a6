// @ts-check
// What the whole document needs, once, whatever page it shows.

import { teller } from "../shared/busy.js";
import { reachFormulas } from "./formula_stops.js";
import { stepByKeys } from "./lesson_keys.js";
import { expectPage, navigate } from "./navigation.js";
import { explainTerms } from "./terms.js";
import { keepCharactersWhole } from "./whole_characters.js";

const LEARN = "learn";
/** @type {(lesson: string) => void} */
let openLesson = () => {};

/** @param {import("../mount.js").Component} component */
export default function ({ parentElement, setTriggerValue }) {
  openLesson = teller(parentElement, (name) => {
    setTriggerValue("lesson", name);
    // The key that opened it is released in the next moment: what is told then would go back to the page that is left.
    expectPage(LEARN);
  });
  const { dataset } = document.documentElement;
  if ("headlight" in dataset) return;
  dataset.headlight = "";
  navigate();
  keepCharactersWhole();
  reachFormulas();
  stepByKeys();
  explainTerms((lesson) => openLesson(lesson));
}
