// @ts-check
// Steps through the scenes of a saved page like the app's show: a bar with the caption, and the same keys.

import { Bar, toggleFullScreen } from "../scenes/bar.js";
import { clamp } from "../shared/numbers.js";

export class Steps {
  at = 0;
  bar = new Bar({
    next: () => this.go(this.at + 1),
    previous: () => this.go(this.at - 1),
    first: () => this.go(0),
    last: () => this.go(this.scenes.length - 1),
    screen: toggleFullScreen,
  });

  /** @param {import("./page_scene.js").PageScene[]} scenes */
  constructor(scenes) {
    this.scenes = scenes;
    document.documentElement.classList.add("stepped");
    document.body.prepend(this.bar.host);
    addEventListener("keydown", (event) => this.bar.press(event), { capture: true });
    this.show();
  }

  /** @param {number} index */
  go(index) {
    const next = clamp(index, 0, this.scenes.length - 1);
    if (next === this.at) return;
    this.scenes[this.at].section.hidden = true;
    this.at = next;
    this.scenes[next].section.hidden = false;
    this.scenes[next].draw();
    scrollTo(0, 0);
    this.show();
  }

  show() {
    const { section } = this.scenes[this.at];
    const caption = section.querySelector(".caption")?.textContent ?? "";
    this.bar.show({ caption, title: section.ariaLabel ?? "" }, this.at, this.scenes.length);
  }
}
