// @ts-check
// What the whole document needs, once, whatever page it shows.

import { reachFormulas } from "./formula_stops.js";
import { navigate } from "./navigation.js";
import { keepCharactersWhole } from "./whole_characters.js";

export default function () {
  const { dataset } = document.documentElement;
  if ("headlight" in dataset) return;
  dataset.headlight = "";
  navigate();
  keepCharactersWhole();
  reachFormulas();
}
