// @ts-check
// Base classes of the views: made once and then updated, with a stage for pointer and keys, and reports to Python.

import { div, h } from "./dom.js";
import { Selection } from "./selection.js";
import { announcer, Tooltip } from "./words.js";

/** @type {Record<string, [down: number, right: number]>} */
export const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/**
 * What a view needs from the page around it.
 * @typedef {object} Host
 * @property {() => any} get the data, packed by frame.py or as readFrame returns it
 * @property {(listener: () => void) => void} onChange calls the listener whenever the data changes
 * @property {(selection: unknown) => void} select receives the user's selection
 * @property {() => boolean} [isReporting] whether a selection is still to be sent; absent if it is sent at once
 * @property {(names: string[]) => void} [request] requests further pieces of the data by name; absent if there are
 *   none
 * @property {(data: any) => object} [adapt] fields of the data that this place replaces
 */

/**
 * A view: built once, updated when its data changes, laid out again when its width changes.
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
    // Report before the user acts elsewhere: a view that reports during a run makes Streamlit lose what follows it on
    // the page.
    root.addEventListener("focusout", ({ relatedTarget }) => {
      if (!root.contains(/** @type {Node | null} */ (relatedTarget))) this.selection.flush();
    });
  }

  /** Fill the root with the view's elements, once, before there is data. */
  build() {}

  /** Take in new data. */
  update() {}

  /** Adapt to a new width or new data, unless the view is hidden. */
  layout() {
    this.width = this.root.clientWidth;
    if (this.width) this.place();
  }

  /** Lay everything out in the available width, and draw it. */
  place() {}

  /** Clean up when the page drops the view: a later report would bring the old page back. */
  end() {
    this.selection.forget();
  }

  /** Whether a report or a request is still pending. */
  get isPending() {
    return this.selection.isWaiting;
  }

  /**
   * State that the document does not show, for tests and benchmarks, which call `state()` of the root element.
   * @returns {object}
   */
  state() {
    return {};
  }
}

/**
 * A view with a stage, which takes the focus and the keys.
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
   * The action of a key; undefined leaves the key to the browser.
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
 * A stage with canvases on which pointer and keys reach places: tuples of numbers, such as a layer and a head.
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

  /** @param {HTMLElement} target where the pointer reaches places */
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

  /** Mark what is hovered and selected. */
  mark() {}

  /**
   * The tooltip of a place.
   * @param {Place} _place
   * @param {MouseEvent | null} _event the pointer, if it is on the place
   * @returns {import("./words.js").Line[]}
   */
  describe(_place, _event) {
    return [];
  }

  /**
   * Hover a place, or none, and show its tooltip.
   * @param {Place | null} place
   * @param {MouseEvent | null} pointer null if the place was reached by keys
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

  /** Where in the window to show the tooltip of a place reached by keys. @param {Place} _place */
  cornerOf(_place) {
    return { clientX: 0, clientY: 0 };
  }

  /** @param {Place | null} place */
  click(place) {
    if (place) this.select(place);
  }

  /** Select a place and report it. @param {Place | null} place */
  select(place, delay = 0) {
    if (same(place, this.selected)) return;
    this.selected = place;
    this.mark();
    if (place) this.announce(place);
    this.selection.report(this.reported(place), delay);
  }

  /** Describe a place to screen readers. @param {Place} place */
  announce(place) {
    const texts = this.describe(place, null).map(([, text]) => text);
    this.say(texts.join(". "));
  }

  /**
   * A selection in the form that Python parses.
   * @param {Place | null} place
   * @returns {unknown}
   */
  reported(place) {
    return place;
  }

  /** Follow the selection if Python has moved it. */
  follow() {
    const { selected = null } = this.data;
    if (this.selection.movedByPython(selected)) this.selected = selected;
  }
}

/** @param {number[] | null} a @param {number[] | null} b */
export const same = (a, b) => String(a) === String(b);
