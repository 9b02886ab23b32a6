// @ts-check
// What all views have in common: being made once and then updated, a stage for pointer and keys, and what they tell
// Python. A view's own file has only what is its own.

import { div, h } from "./dom.js";
import { Selection } from "./selection.js";
import { announcer, Tooltip } from "./tell.js";

/** @type {Record<string, [down: number, right: number]>} */
export const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/**
 * What a view needs of the page around it.
 * @typedef {object} Host
 * @property {() => any} get what is to be drawn, as frame.py packs it, or as readFrame reads that
 * @property {(listener: () => void) => void} onChange calls the listener whenever there is something else to draw
 * @property {(selection: unknown) => void} select takes what the user selected
 * @property {(names: string[]) => void} [request] asks for more of the data, by name; not where there is no more
 * @property {(data: any) => object} [adapt] what this place has of its own in the data, instead of what came
 */

/**
 * A view: made once, updated for other data, placed again for another width.
 * @template Data
 */
export class View {
  /** @type {Data & import("./frame.js").Frame} */
  data;
  width = 0;

  /** @param {HTMLElement} root @param {Host} host */
  constructor(root, host) {
    this.root = root;
    this.selection = new Selection(host.select);
    // Before the user does something elsewhere: a view that reports while the page is being drawn again makes
    // Streamlit lose what stands after it.
    root.addEventListener("focusout", ({ relatedTarget }) => {
      if (!root.contains(/** @type {Node | null} */ (relatedTarget))) this.selection.flush();
    });
  }

  /** Put what the view is made of into its root: once, before there is data. */
  build() {}

  /** There is other data. */
  update() {}

  /** There is another width, or other data; nothing to do where the page does not show the view. */
  layout() {
    this.width = this.root.clientWidth;
    if (this.width) this.place();
  }

  /** Give everything its place in the width there is, and draw it. */
  place() {}

  /** The page has gone on without the view: a report of it now would call the page back. */
  end() {
    this.selection.forget();
  }

  /** Whether the page is still to be told or asked something. */
  get isTelling() {
    return this.selection.isWaiting;
  }

  /**
   * What tests and benchmarks may know of a view that is not in the document: as `state()` of its element.
   * @returns {object}
   */
  state() {
    return {};
  }
}

/**
 * A view with a stage, which has the focus and takes the keys.
 * @template Data
 * @extends {View<Data>}
 */
export class StageView extends View {
  stage = h("div", {
    class: "hl-stage",
    tabindex: 0,
    role: "application",
    onkeydown: (/** @type {KeyboardEvent} */ event) => this.press(event),
  });
  note = div("hl-note");
  say = announcer(this.root);

  /**
   * What a key does; nothing for those that are the browser's.
   * @param {string} _key
   * @param {[down: number, right: number]} [_step] of an arrow key
   * @returns {(() => void) | undefined}
   */
  onKey(_key, _step) {
    return undefined;
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const action =
      event.ctrlKey || event.metaKey || event.altKey ? null : this.onKey(event.key, ARROWS[event.key]);
    if (!action) return;
    event.preventDefault();
    action();
  }
}

/**
 * A stage with canvases, on which pointer and keys find places, such as a layer and a head: numbers that say where.
 * @template {{title: string, selected?: Place | null}} Data
 * @template {number[]} Place
 * @extends {StageView<Data>}
 */
export class CanvasView extends StageView {
  /** @type {Place | null} */
  hovered = null;
  /** @type {Place | null} */
  selected = null;
  /** @type {MouseEvent | null} */
  pointer = null;
  tip = new Tooltip(this.root);

  /** @param {HTMLElement} target where the pointer finds places */
  listen(target) {
    target.onpointermove = (event) => this.point(this.find(event), event);
    target.onpointerleave = () => this.point(null);
    target.onclick = (event) => this.click(this.find(event));
  }

  /**
   * The place under the pointer.
   * @param {MouseEvent} _event
   * @returns {Place | null}
   */
  find(_event) {
    return null;
  }

  /** Draw what is hovered and selected. */
  mark() {}

  /**
   * What there is to say of a place.
   * @param {Place} _place
   * @param {MouseEvent | null} _event the pointer, if it is there
   * @returns {import("./tell.js").Line[]}
   */
  describe(_place, _event) {
    return [];
  }

  /**
   * Show what a place is.
   * @param {Place | null} place
   * @param {MouseEvent | null} pointer none where keys have reached the place
   */
  point(place, pointer = null) {
    this.pointer = pointer;
    if (!same(place, this.hovered)) {
      this.hovered = place;
      this.mark();
    }
    const lines = place ? this.describe(place, pointer) : [];
    if (place && lines.length) this.tip.show(pointer ?? this.cornerOf(place), lines);
    else this.tip.hide();
  }

  /** Where in the window to say what a place is that keys have reached. @param {Place} _place */
  cornerOf(_place) {
    return { clientX: 0, clientY: 0 };
  }

  /** @param {Place | null} place */
  click(place) {
    if (place) this.select(place);
  }

  /** Choose a place and tell Python. @param {Place | null} place */
  select(place, delay = 0) {
    if (same(place, this.selected)) return;
    this.selected = place;
    this.mark();
    if (place) this.tell(place);
    this.selection.report(this.reported(place), delay);
  }

  /** Say to screen readers what a place is. @param {Place} place */
  tell(place) {
    const texts = this.describe(place, null).map(([, text]) => text);
    this.say(texts.join(". "));
  }

  /**
   * A selection as Python takes it.
   * @param {Place | null} place
   * @returns {unknown}
   */
  reported(place) {
    return place;
  }

  /** Select what Python says, if it has moved the selection. */
  follow() {
    const { selected = null } = this.data;
    if (this.selection.movedByPython(selected)) this.selected = selected;
  }
}

/** @param {number[] | null} a @param {number[] | null} b */
export const same = (a, b) => String(a) === String(b);
