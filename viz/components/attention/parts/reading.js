// @ts-check
// Next to the picture: what can be seen in the chosen head, and what to look for.

import { div, h, span } from "../../shared/dom.js";
import { format } from "../../shared/numbers.js";
import { quoted } from "../../shared/words.js";
import { pattern, RESTS, reading } from "../reading.js";

/** @typedef {import("../panels.js").Scene} Scene */

/** How many of the strongest cells are named. */
const PAIRS = 3;

export class ReadingPart {
  look = "";

  /** @param {HTMLElement} box @param {(changed: any) => void} change */
  constructor(box, change) {
    this.box = box;
    this.change = change;
  }

  /** @param {Scene} scene @param {Partial<Record<string, string>>} lookFor by attention */
  show(scene, lookFor) {
    const { run, attn, choice } = scene;
    const { layer, head, rows } = choice;
    const found = reading(scene);
    const look = [run.id, attn.name, layer, head, rows, Boolean(found)].join();
    if (look === this.look) return;
    this.look = look;
    const said = found ? [div("", ...this.#pattern(found, scene)), ...this.#pairs(found, scene)] : [];
    const { [attn.name]: general } = lookFor;
    if (general)
      said.push(div("hl-general hl-quiet", span("hl-look-for", "Among these heads, look for "), general));
    this.box.replaceChildren(...said);
  }

  /** @param {import("../reading.js").Reading} found @param {Scene} scene */
  #pattern(found, scene) {
    const { easiest } = scene.attn;
    const isEasiest = String(easiest) === String([scene.choice.layer, scene.choice.head]);
    const text = span("hl-pattern", pattern(found, scene));
    if (found.resting <= RESTS || isEasiest) return [text];
    const [layer, head] = easiest;
    const go = () => this.change({ layer, head });
    return [text, " More can be read in ", link(`layer ${layer}, head ${head}.`, go)];
  }

  /** @param {import("../reading.js").Reading} found @param {Scene} scene */
  #pairs({ pairs }, { run, attn, choice }) {
    if (!pairs.length) return [];
    const { tokens, written } = run.sides[attn.queries];
    const named = choice.rows === "written" && written.length ? written : tokens;
    const parts = pairs.slice(0, PAIRS).flatMap(([query, key, weight], i) => {
      const text = `${quoted(named[query] ?? tokens[query])} → ${quoted(run.sides[attn.keys].tokens[key])}`;
      const choose = () => this.change({ cell: [query, key] });
      return [i ? ", " : "", link(text, choose), ` ${format(weight, 2)}`];
    });
    return [div("", "Its strongest cells between words: ", ...parts, ".")];
  }
}

/** @param {string} text @param {() => void} onclick */
const link = (text, onclick) => h("button", { class: "hl-link", onclick }, text);
