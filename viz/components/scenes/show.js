// @ts-check
// The show: one scene after another, each on its own page as it was kept, with its caption above.

import { setColors } from "../shared/color.js";
import { documentWide } from "../shared/document_wide.js";
import { h } from "../shared/dom.js";
import { clamp } from "../shared/numbers.js";
import { addressOf, baseOf, isLarge } from "./address.js";
import { Bar, toggleFullScreen } from "./bar.js";
import page from "./page.css";
import { Picture } from "./picture.js";
import { REQUEST } from "./request.js";
import { Visit } from "./visit.js";

/** @typedef {import("./scenes.js").ListedScene} ListedScene */

class Show {
  /** @type {ListedScene[]} */
  scenes = [];
  /** Index of the scene that is shown; -1 if there is no show. */
  at = -1;
  base = "";
  wasLarge = false;
  isLeavingFullScreen = false;
  /** The element that had the focus before the show. @type {HTMLElement | undefined} */
  from;
  /** The scenes whose pictures are being taken; null if there is no page to save. @type {ListedScene[] | null} */
  saving = null;
  /** @type {(name: "large" | "page", value: unknown) => void} */
  send = () => {};
  visit = new Visit();
  picture = new Picture();
  bar = new Bar({
    next: () => this.step(1),
    previous: () => this.step(-1),
    first: () => this.step(-this.at),
    last: () => this.step(this.scenes.length),
    screen: () => this.toggleFullScreen(),
    end: () => this.end(),
  });

  constructor() {
    document.head.append(h("style", {}, page));
    addEventListener("keydown", (event) => this.press(event), { capture: true });
    addEventListener("popstate", () => this.onHistory());
    document.addEventListener("fullscreenchange", () => this.onFullScreen());
    document.addEventListener(REQUEST, (event) => this.onRequest(/** @type {CustomEvent} */ (event).detail));
  }

  /** @param {import("./scenes.js").Data} data @param {(name: "large" | "page", value: unknown) => void} send */
  update({ scenes, here, steps, colors }, send) {
    this.base ||= baseOf(location.pathname, here);
    this.scenes = scenes;
    this.send = send;
    this.visit.count(steps);
    setColors(this.bar.box, colors);
    if (this.at >= scenes.length) this.end();
  }

  /** @param {import("./request.js").Request} request */
  onRequest({ scenes, index, inShow, toSave, from }) {
    this.scenes = scenes;
    if (toSave) this.save();
    else if (inShow) this.start(index, from);
    else this.go(scenes[index], isLarge(location.search), true);
  }

  /** @param {number} index @param {HTMLElement} [from] gets the focus back afterwards */
  start(index, from) {
    this.open(from);
    document.documentElement.requestFullscreen?.().catch(() => {});
    this.show(index, true);
  }

  /** @param {HTMLElement} [from] */
  open(from) {
    this.wasLarge = isLarge(location.search);
    this.from = from;
    document.documentElement.dataset.showing = "";
    this.bar.open();
  }

  /** Visit every scene whose page has to be seen for its picture, and have Python save them all as a page. */
  async save() {
    const { scenes } = this;
    /** @type {string[]} */
    const stills = [];
    const back = location.href;
    this.saving = scenes;
    for (const [index, listed] of scenes.entries()) {
      if (listed.lack || !listed.isStill) {
        stills.push("");
        continue;
      }
      if (this.at < 0) this.open();
      this.at = index;
      const caption = `Saving the page: the picture of scene ${index + 1} …`;
      this.bar.show({ caption, title: "", sentence: listed.title }, index, scenes.length);
      this.go(listed, false, false);
      await this.visit.arrived();
      // The page says that a picture is missing; the others are not lost with it.
      try {
        stills.push(await this.picture.still());
      } catch (error) {
        reportError(error);
        stills.push("");
      }
      if (this.saving !== scenes || this.at < 0) return;
    }
    if (this.at >= 0) this.close();
    this.saving = null;
    if (location.href !== back) this.visit.go(back, false);
    await this.visit.arrived();
    this.send("page", stills);
  }

  /** @param {number} by */
  step(by) {
    if (this.saving) return;
    const next = clamp(this.at + by, 0, this.scenes.length - 1);
    if (next !== this.at) this.show(next, false);
  }

  /** @param {number} index @param {boolean} isNew */
  show(index, isNew) {
    this.at = index;
    const listed = this.scenes[index];
    this.bar.show({ ...listed, caption: listed.scene.caption }, index, this.scenes.length);
    this.go(listed, true, isNew);
  }

  /** @param {ListedScene} listed @param {boolean} large @param {boolean} isNew */
  go({ scene, pictures }, large, isNew) {
    this.visit.go(addressOf(scene, this.base, large), isNew);
    this.picture.want(this.at < 0 && !scene.place ? [] : pictures, this.at >= 0, Boolean(this.saving));
    this.visit.afterwards(() => this.picture.lookAfresh());
  }

  /** End the show at the current scene. */
  end() {
    if (this.at < 0) return;
    const pictures = this.scenes[this.at]?.pictures ?? [];
    const { saving } = this;
    this.close();
    this.picture.want(pictures, false);
    if (!this.wasLarge && !saving) this.visit.afterwards(() => this.at < 0 && this.send("large", false));
    this.from?.focus();
  }

  close() {
    this.at = -1;
    this.saving = null;
    this.bar.close();
    delete document.documentElement.dataset.showing;
    if (document.fullscreenElement) document.exitFullscreen();
    this.picture.release();
  }

  toggleFullScreen() {
    this.isLeavingFullScreen = Boolean(document.fullscreenElement);
    toggleFullScreen();
  }

  /** Escape leaves full screen before any script hears of it; it ends the show as well. */
  onFullScreen() {
    if (!document.fullscreenElement && !this.isLeavingFullScreen) this.end();
    this.isLeavingFullScreen = false;
  }

  /** Back and Forward hand control to the address and end the show, even while a scene is loading. */
  onHistory() {
    if (this.visit.isOwn) return;
    this.visit.arrive();
    if (this.at < 0) return;
    this.wasLarge = true;
    this.end();
    this.picture.release();
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    if (this.at >= 0) this.bar.press(event);
  }
}

/** The one show of the document: it outlives the pages. */
export const theShow = () => documentWide("show", () => new Show());
