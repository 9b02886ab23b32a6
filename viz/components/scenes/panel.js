// @ts-check
// The panel in the sidebar.

import { h } from "../shared/dom.js";
import { recall, remember } from "./memory.js";
import { pictureInView } from "./picture.js";
import { theShow } from "./show.js";
import style from "./style.css";

const LONGEST_CAPTION = 500;

export class Panel {
  caption = h("textarea", {
    rows: 2,
    maxlength: LONGEST_CAPTION,
    "aria-label": "Caption of the scene",
    placeholder: "A sentence about it",
    onkeydown: (/** @type {KeyboardEvent} */ event) => this.press(event),
  });
  keepButton = h("button", { onclick: () => this.keep() }, "Keep this");
  showButton = h("button", { onclick: () => theShow().start(0, this.showButton) });
  said = h("p", { role: "status" });
  /** Names of the current page's own picture. @type {string[]} */
  pictures = [];
  /** @type {(name: string, value: unknown) => void} */
  send = () => {};

  /** @param {HTMLElement | ShadowRoot} root */
  constructor(root) {
    const buttons = h("div", {}, this.keepButton, this.showButton);
    root.append(
      h("style", {}, style),
      h("fieldset", {}, h("legend", {}, "Scenes"), this.caption, buttons),
      this.said,
    );
  }

  /** @param {import("../mount.js").Component<import("./scenes.js").Data>} component */
  update({ data, setTriggerValue }) {
    this.send = setTriggerValue;
    const { length } = data.scenes;
    this.keepButton.disabled = this.caption.disabled = !data.canKeep;
    this.showButton.disabled = !length;
    this.showButton.textContent = length ? `Show ${length}` : "Show";
    this.showButton.ariaLabel = length === 1 ? "Show 1 scene" : `Show ${length} scenes`;
    this.pictures = data.pictures;
    this.said.textContent = data.note;
    if (data.revision) remember(data.scenes.map(({ scene }) => scene));
    else this.restore();
  }

  /** After a reload the server has forgotten the scenes; the browser has not. */
  restore() {
    const scenes = recall();
    if (scenes) this.send("restore", scenes);
  }

  keep() {
    const caption = this.caption.value.trim();
    this.caption.value = "";
    this.send("keep", { caption, place: pictureInView(this.pictures) });
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    if (event.key !== "Enter" || event.isComposing || this.keepButton.disabled) return;
    event.preventDefault();
    this.keep();
  }
}
