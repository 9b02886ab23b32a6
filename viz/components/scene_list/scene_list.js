// @ts-check
// The list of scenes. A change is shown at once and then reported; Python validates it like a file.

import { forStreamlit, mounting } from "../mount.js";
import { REQUEST } from "../scenes/request.js";
import { namedButton } from "../shared/controls.js";
import { div, h, span } from "../shared/dom.js";
import { saveFile } from "../shared/save.js";
import { View } from "../shared/shell.js";
import style from "./style.css";

/** @typedef {import("../scenes/scenes.js").ListedScene} ListedScene */

const LONGEST_CAPTION = 500;
const FILE_NOTE = "A small file that Headlight opens again";
const PAGE_NOTE =
  "One HTML file that shows every scene without Headlight and without a network. Each page is visited for its picture.";

/** @extends {View<{scenes: ListedScene[], file: {name: string, head: object}}>} */
class SceneList extends View {
  /** @type {ListedScene[]} */
  scenes = [];
  /** @type {{listed: ListedScene, index: number} | null} */
  deleted = null;
  showButton = h("button", { class: "show", onclick: () => this.request(0, true) }, "Show");
  saveButton = h("button", { title: FILE_NOTE, onclick: () => this.save() }, "Save as a file");
  pageButton = h(
    "button",
    { title: PAGE_NOTE, onclick: () => this.request(0, false, true) },
    "Save as a page",
  );
  list = h("ol");
  undo = h("button", { onclick: () => this.bringBack() }, "Undo");
  status = h("span", { role: "status" });
  foot = div("foot", this.status, this.undo);

  build() {
    this.root.append(div("head", this.showButton, this.saveButton, this.pageButton), this.list, this.foot);
    this.say();
  }

  update() {
    const { scenes } = this.data;
    const isMoved = this.selection.movedByPython(kept(scenes));
    const isSame = JSON.stringify(kept(scenes)) === JSON.stringify(kept(this.scenes));
    if (isSame ? notesOf(scenes) === notesOf(this.scenes) : !isMoved) return;
    this.scenes = scenes;
    this.draw();
  }

  draw() {
    for (const button of [this.showButton, this.saveButton, this.pageButton])
      button.disabled = !this.scenes.length;
    this.list.replaceChildren(...this.scenes.map((listed, index) => this.row(listed, index)));
  }

  /** @param {ListedScene} listed @param {number} index */
  row(listed, index) {
    const { scene, title, lack } = listed;
    const number = index + 1;
    const caption = h("textarea", {
      rows: 2,
      maxlength: LONGEST_CAPTION,
      placeholder: "A sentence about it",
      "aria-label": `Caption of scene ${number}`,
      onchange: () => this.rename(index, caption.value),
    });
    caption.value = scene.caption ?? "";
    const button = (/** @type {string} */ sign, /** @type {string} */ verb, /** @type {() => void} */ act) =>
      namedButton(sign, `${verb} scene ${number}`, act);
    const up = button("▲", "Move up", () => this.move(index, -1));
    const down = button("▼", "Move down", () => this.move(index, 1));
    up.disabled = index === 0;
    down.disabled = number === this.scenes.length;
    const open = button("Open", "Open", () => this.request(index, false));
    const remove = button("Delete", "Delete", () => this.remove(index));
    return h(
      "li",
      {},
      span("number", number),
      div("what", div("title", title), caption, div("lack", lack)),
      div("acts", up, down, open, remove),
    );
  }

  /** @param {number} index @param {string} caption */
  rename(index, caption) {
    const listed = this.scenes[index];
    // Do not redraw the list: the button being pressed would disappear before it is released.
    this.report(this.scenes.with(index, { ...listed, scene: { ...listed.scene, caption: caption.trim() } }));
  }

  /** @param {number} index @param {number} by */
  move(index, by) {
    const to = index + by;
    const moved = this.scenes.toSpliced(index, 1);
    this.change(moved.toSpliced(to, 0, this.scenes[index]));
    const [up, down] = this.list.children[to].querySelectorAll("button");
    const [wanted, other] = by < 0 ? [up, down] : [down, up];
    (wanted.disabled ? other : wanted).focus();
  }

  /** @param {number} index */
  remove(index) {
    this.deleted = { listed: this.scenes[index], index };
    this.change(this.scenes.toSpliced(index, 1));
    this.say();
    this.undo.focus();
  }

  bringBack() {
    if (!this.deleted) return;
    const { listed, index } = this.deleted;
    this.deleted = null;
    this.change(this.scenes.toSpliced(index, 0, listed));
    this.say();
    this.list.querySelectorAll("textarea")[index]?.focus();
  }

  say() {
    this.foot.hidden = !this.deleted;
    this.status.textContent = this.deleted ? `Scene ${this.deleted.index + 1} is deleted.` : "";
  }

  /** @param {ListedScene[]} scenes */
  change(scenes) {
    this.report(scenes);
    this.draw();
  }

  /** @param {ListedScene[]} scenes */
  report(scenes) {
    this.scenes = scenes;
    this.selection.report(kept(scenes));
  }

  /** Save what is on screen: the last change may not have reached the server yet. */
  save() {
    const { name, head } = this.data.file;
    const text = JSON.stringify({ ...head, scenes: kept(this.scenes) }, null, 1);
    saveFile(text, name, "application/json");
  }

  /** @param {number} index @param {boolean} inShow @param {boolean} [toSave] */
  request(index, inShow, toSave = false) {
    /** @type {import("../scenes/request.js").Request} */
    const detail = { scenes: this.scenes, index, inShow, toSave, from: this.showButton };
    document.dispatchEvent(new CustomEvent(REQUEST, { detail }));
  }

  state() {
    return { scenes: this.scenes };
  }
}

/** The scenes in the form that Python writes to a file. @param {ListedScene[]} scenes */
const kept = (scenes) =>
  scenes.map(({ scene: { page, choices, caption, checkpoint, place } }) => ({
    page,
    choices,
    ...(caption && { caption }),
    ...(checkpoint && { checkpoint }),
    ...(place && { place }),
  }));

/** Python's part of the scenes: titles and what they lack. @param {ListedScene[]} scenes */
const notesOf = (scenes) => JSON.stringify(scenes.map(({ title, lack }) => [title, lack]));

export const mount = mounting(SceneList, "scene_list", style);
export default forStreamlit(mount);
