// @ts-check
// A scene of a saved page: its viewer is mounted when it is first shown, and keeps its choice.

import { mount } from "../attention/attention.js";
import { publish } from "../shared/channel.js";
import { readFrame } from "../shared/frame.js";
import { bytesOf, unshuffled, unzipped } from "./unpack.js";

/** @typedef {"light" | "dark"} Theme */

/** @type {Map<number, Promise<Record<string, any>>>} */
const runs = new Map();

/** @param {Element | null | undefined} block of base64 */
const bytesIn = (block) => bytesOf(block?.textContent?.trim() ?? "");

/** A run by its number, read once for all scenes that show it. @param {number} number */
function runOf(number) {
  const known = runs.get(number) ?? read(document.querySelectorAll("script.run")[number]);
  runs.set(number, known);
  return known;
}

/** @param {Element} block */
async function read(block) {
  const run = readFrame(await unzipped(bytesIn(block)));
  for (const [name, value] of Object.entries(run)) {
    if (ArrayBuffer.isView(value)) run[name] = unshuffled(/** @type {any} */ (value));
  }
  return run;
}

let count = 0;

export class PageScene {
  /** @type {Theme} */
  theme = "light";
  /** @type {Record<string, any> | null} */
  run = null;
  /** Redraws the mounted viewer. @type {(() => void) | null} */
  redraw = null;
  channel = `scene ${count++}`;

  /** @param {HTMLElement} section */
  constructor(section) {
    this.section = section;
    /** The viewer's element; null in a scene without a run. @type {HTMLElement | null} */
    this.place = section.querySelector(".viewer");
  }

  /** Read the run, and draw it if the scene is visible. */
  async read() {
    if (!this.place) return;
    try {
      this.run = await runOf(Number(this.place.dataset.run));
      this.draw();
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      this.place.textContent = `This page can't be drawn: ${message}. Open it in an up-to-date browser.`;
    }
  }

  /** @param {Theme} theme */
  paint(theme) {
    this.theme = theme;
    if (this.redraw) this.redraw();
    else this.draw();
  }

  draw() {
    const { run, place, section, channel } = this;
    if (!run || !place || section.hidden || this.redraw) return;
    publish(channel, bytesIn(section.querySelector("script.choice")));
    mount(place, {
      get: () => ({ ...run, channel, colors: run.palettes[this.theme] }),
      onChange: (listener) => {
        this.redraw = listener;
      },
      select: () => {},
    });
  }
}
