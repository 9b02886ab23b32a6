// @ts-check
// The path of one token through the model: played, paused, searched and stepped through. Between moves nothing runs.

import { forStreamlit, mounting } from "../mount.js";
import { commandOf, whereOf } from "../scenes/keys.js";
import { penOf, prepare } from "../shared/canvas.js";
import { div, h, positionInWindow, positionOn, span } from "../shared/dom.js";
import { format } from "../shared/numbers.js";
import { KEY_DELAY } from "../shared/selection.js";
import { CanvasView } from "../shared/shell.js";
import { quoted } from "../shared/words.js";
import { SIZE, sceneOf } from "./layout.js";
import { ARRIVAL, moment } from "./motion.js";
import { colorOf, Painter } from "./paint.js";
import { isStill, Player } from "./player.js";
import style from "./style.css";

/** @typedef {import("./layout.js").Step} Step */
/** @typedef {[actor: number, cell: number]} Place */
/**
 * @typedef {object} PathData
 * @property {string} title
 * @property {string} here the name of a step
 * @property {number} moves how often Python has moved to it
 * @property {string} subject
 * @property {Step[]} steps
 */

const SPEEDS = [0.5, 1, 2, 4];
const ROLES = /** @type {const} */ (["in", "with", "out"]);

/** @extends {CanvasView<PathData & {selected?: null}, Place>} */
class Path extends CanvasView {
  canvas = h("canvas");
  /** @type {import("./layout.js").Scene[]} */
  scenes = [];
  height = 0;
  player = new Player({
    draw: () => this.draw(),
    describe: () => this.describeStep(),
    // The full matrices below follow, also while playing if they can be seen.
    enter: () =>
      this.root.getBoundingClientRect().bottom < innerHeight && this.selection.report(this.player.step),
    stop: () => this.selection.report(this.player.step, KEY_DELAY),
  });
  /** The subject and the last place to which Python has moved. */
  known = ["", ""];
  /** The step that is described. @type {Step | undefined} */
  at;
  heading = div("heading");
  sentence = h("p", { class: "sentence" });
  chapters = div("chapters");
  scales = div("scales");
  range = h("input", {
    type: "range",
    min: 0,
    step: 0.01,
    "aria-label": "Step",
    oninput: () => this.player.seek(Number(this.range.value)),
    onchange: () => this.player.onStop(),
  });
  playing = h("button", { class: "play", onclick: () => this.toggle() });
  back = h("button", { onclick: () => this.player.previous() }, "Back");
  forward = h("button", { onclick: () => this.player.next() }, "Next");
  speed = h(
    "select",
    { onchange: () => (this.player.speed = Number(this.speed.value)) },
    ...SPEEDS.map((speed) => h("option", { value: speed }, `${speed}×`)),
  );
  onPage = (/** @type {KeyboardEvent} */ event) => this.keyOnPage(event);

  build() {
    this.stage.append(this.canvas);
    this.stage.onblur = () => this.point(null);
    const controls = div(
      "controls",
      this.back,
      this.playing,
      this.forward,
      this.range,
      h("label", { class: "speed" }, "Speed ", this.speed),
    );
    this.root.prepend(
      controls,
      this.chapters,
      this.heading,
      this.sentence,
      this.stage,
      this.scales,
      this.note,
    );
    this.speed.value = "1";
    this.listen(this.canvas);
    document.addEventListener("keydown", this.onPage);
    Object.assign(this.root, { seek: (/** @type {number} */ at) => this.player.seek(at) });
  }

  update() {
    const { data } = this;
    const numbers = (/** @type {string} */ name) => /** @type {any} */ (data)[name];
    this.painter = new Painter(data.colors, numbers);
    for (const role of ROLES) this.root.style.setProperty(`--hl-${role}`, colorOf(data.colors, role));
    this.stage.setAttribute("aria-label", data.title);
    this.range.max = String(data.steps.length);
    this.root.classList.toggle("still", isStill());
    this.note.textContent = isStill()
      ? "Arrow keys go from step to step."
      : "Space plays and pauses, arrow keys go from step to step. Point at a cell or a bar to read its number.";
    const name = this.at?.name;
    const place = `${data.here} ${data.moves}`;
    const isMoved = this.known[1] !== place;
    if (this.known[0] !== data.subject || isMoved) this.player.stop();
    this.known = [data.subject, place];
    const index = data.steps.findIndex((step) => step.name === (isMoved ? data.here : (name ?? data.here)));
    this.player.take(data.steps);
    if (isMoved || data.steps[this.player.step]?.name !== name) this.player.place(Math.max(0, index));
    this.listChapters();
    this.layout();
    this.describeStep();
  }

  place() {
    const pen = penOf(this.canvas);
    pen.font = `${SIZE}px ${getComputedStyle(this.root).fontFamily}`;
    const measure = (/** @type {string} */ text) => pen.measureText(text).width;
    const { steps } = this.data;
    const vectors = steps.flatMap(({ parts }) => parts.filter(({ form }) => form === "strip"));
    // The stream: the width of what most steps show.
    const stream = Math.max(1, mostCommon(vectors.map(({ sizes }) => sizes[0])));
    this.scenes = steps.map((step) => sceneOf(step, this.width - 6, stream, measure));
    this.height = Math.max(...this.scenes.map(({ height }) => height)) + 6;
    this.draw();
  }

  /** The height of this step, and of the one before while it turns into this; while playing nothing jumps. */
  heightNow() {
    const { step, t, isPlaying } = this.player;
    if (isPlaying || "showing" in document.documentElement.dataset) return this.height;
    const own = this.scenes.slice(t < 1 ? Math.max(0, step - 1) : step, step + 1);
    return Math.max(...own.map(({ height }) => height)) + 6;
  }

  draw() {
    if (!this.width || !this.painter) return;
    const { steps } = this.data;
    const { step: i, t } = this.player;
    const pen = prepare(this.canvas, this.width, this.heightNow());
    pen.translate(3, 3);
    const before = i ? { step: steps[i - 1], scene: this.scenes[i - 1] } : null;
    const now = { step: steps[i], scene: this.scenes[i] };
    this.painter.paint(pen, now, before, moment(now.step, now.scene, before?.scene ?? null, t), t);
    this.range.value = String(i + t);
    this.highlight();
  }

  /** Mark in the sentence what is moving. */
  highlight() {
    const { t } = this.player;
    const growth = (t - ARRIVAL) / (1 - ARRIVAL);
    const now =
      t === 1
        ? ""
        : growth < 0
          ? "in"
          : growth < 0.45 && this.sentence.querySelector(".with")
            ? "with"
            : "out";
    for (const piece of this.sentence.querySelectorAll("span"))
      piece.classList.toggle("now", now !== "" && piece.classList.contains(now));
  }

  /** Write about the step, if it is another one. */
  describeStep() {
    const { steps } = this.data;
    const { step: i, t, isPlaying } = this.player;
    const step = steps[i];
    this.playing.textContent = isPlaying ? "Pause" : "Play";
    this.back.disabled = i === 0;
    this.forward.disabled = i === steps.length - 1 && t === 1;
    if (step === this.at) return;
    this.at = step;
    const chapter = steps.filter((own) => own.chapter === step.chapter);
    const where = `${step.chapter}, step ${chapter.indexOf(step) + 1} of ${chapter.length}`;
    this.heading.replaceChildren(step.title, span("where", where));
    this.sentence.replaceChildren(...step.sentence.map(([role, text]) => (role ? span(role, text) : text)));
    this.range.setAttribute("aria-valuetext", `${where}: ${step.title}`);
    for (const button of this.chapters.querySelectorAll("button"))
      button.toggleAttribute("aria-current", button.textContent === step.chapter);
    this.listScales(step);
    this.say(`${step.title}. ${step.sentence.map(([, text]) => text).join("")}`);
    this.point(null);
  }

  listChapters() {
    const { steps } = this.data;
    const names = [...new Set(steps.map(({ chapter }) => chapter))];
    const buttons = names.map((name) =>
      h(
        "button",
        { onclick: () => this.player.choose(steps.findIndex(({ chapter }) => chapter === name)) },
        name,
      ),
    );
    this.chapters.replaceChildren(...buttons);
    this.at = undefined;
  }

  /** Each colour scale, with all that share it. @param {Step} step */
  listScales({ parts }) {
    /** @type {Map<string, import("./layout.js").Part[]>} */
    const groups = new Map();
    for (const part of parts.filter(({ form }) => form === "strip" || form === "rows" || form === "weights"))
      groups.set(part.group, [...(groups.get(part.group) ?? []), part]);
    const { diverging } = this.data.colors;
    const entries = [...groups.values()].map((own) => {
      const names = [...new Set(own.map(({ name }) => name))];
      const largest = Math.max(...own.map(({ array }) => largestOf(/** @type {any} */ (this.data)[array])));
      const [low, high] = own[0].scale;
      // Beyond the ends of the scale the colour stays the same.
      const isCut = largest > high * 1.001;
      const bar = span("bar");
      bar.style.background = `linear-gradient(90deg,${diverging.join()})`;
      const ends = [`${isCut ? "≤ " : ""}${format(low)}`, `${isCut ? "≥ " : ""}${format(high)}`];
      return span("scale", span("", names.join(" and ")), span("", ends[0]), bar, span("", ends[1]));
    });
    this.scales.replaceChildren(...entries);
  }

  // Keys

  /** @param {string} key */
  onKey(key) {
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowRight: () => this.player.next(),
      ArrowLeft: () => this.player.previous(),
      PageDown: () => this.player.next(),
      PageUp: () => this.player.previous(),
      Home: () => this.player.choose(0),
      End: () => this.player.choose(this.data.steps.length - 1),
      " ": () => this.toggle(),
    };
    return keys[key];
  }

  /** Keys elsewhere on the page, unless they belong to what has the focus. @param {KeyboardEvent} event */
  keyOnPage(event) {
    const path = event.composedPath();
    if (event.defaultPrevented || !this.width) return;
    if (path.includes(this.range)) {
      if (event.key.startsWith("Arrow") || event.key === " ") this.press(event);
      return;
    }
    const where = whereOf(path);
    const isOnButton = path.some(
      (node) => node instanceof Element && node.matches("button, a, summary, [role=button]"),
    );
    if (
      event.key === " "
        ? where === "page" && !isOnButton && this.isInSight()
        : ["next", "previous"].includes(commandOf(event, where) ?? "")
    )
      this.press(event);
  }

  /** Play or pause; a picture that is going to move comes into sight. */
  toggle() {
    this.player.toggle();
    if (this.player.isPlaying && this.root.getBoundingClientRect().bottom > innerHeight)
      this.root.scrollIntoView();
  }

  isInSight() {
    const { top, bottom } = this.root.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  }

  // Pointer

  /** @param {MouseEvent} event @returns {Place | null} */
  find(event) {
    if (this.player.t < 1) return null;
    const [x, y] = positionOn(this.canvas, event).map((place) => place - 3);
    const { actors } = this.scenes[this.player.step];
    for (const [number, { part, box }] of actors.entries()) {
      const { form, sizes } = this.data.steps[this.player.step].parts[part];
      const [across, down] = [(x - box[0]) / box[2], (y - box[1]) / box[3]];
      if (across < 0 || across >= 1 || down < 0 || down >= 1) continue;
      if (form === "strip") return [number, Math.floor(across * sizes[0])];
      if (form === "rows") return [number, Math.floor(across * sizes[1])];
      if (form === "bars") return [number, Math.floor(down * sizes[0])];
    }
    return null;
  }

  /** @param {Place} place @returns {import("../shared/words.js").Line[]} */
  describe([number, cell]) {
    const actor = this.scenes[this.player.step].actors[number];
    const part = this.data.steps[this.player.step].parts[actor.part];
    const values = /** @type {any} */ (this.data)[part.array];
    const isRows = part.form === "rows";
    const at = part.form === "bars" ? quoted(part.labels[cell]) : `number ${cell}`;
    const of = isRows ? ` of ${quoted(part.labels[actor.row])}` : "";
    const value = values[isRows ? actor.row * part.sizes[1] + cell : cell];
    return [
      ["title", `${part.name}${of}: ${at}`],
      ["value", format(value, 6)],
    ];
  }

  /** @param {Place} place */
  cornerOf([number]) {
    const [x, y, w, tall] = this.scenes[this.player.step].actors[number].box;
    return positionInWindow(this.canvas, [x + w, y + tall]);
  }

  /** Nothing is selected by a click. */
  click() {}

  end() {
    this.player.stop();
    document.removeEventListener("keydown", this.onPage);
    super.end();
  }

  state() {
    const { step, t, isPlaying, isMoving, frames } = this.player;
    return { step, t, isPlaying, isMoving, frames, name: this.at?.name };
  }
}

/** The largest magnitude. @param {Float32Array} values */
const largestOf = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

/** @param {number[]} values */
function mostCommon(values) {
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].reduce((best, one) => (one[1] > best[1] ? one : best), [1, 0])[0];
}

export const mount = mounting(Path, "path", style);
export default forStreamlit(mount);
