// @ts-check
// The path of one token through the model: played, paused, searched and stepped through. Between moves nothing runs.

import { forStreamlit, mounting } from "../mount.js";
import { commandOf, whereOf } from "../scenes/keys.js";
import { penOf, prepare } from "../shared/canvas.js";
import { div, h, positionInWindow, positionOn, span } from "../shared/dom.js";
import { clamp, format } from "../shared/numbers.js";
import { KEY_DELAY } from "../shared/selection.js";
import { CanvasView } from "../shared/shell.js";
import { quoted } from "../shared/words.js";
import { SIZE, sceneOf } from "./layout.js";
import { ARRIVAL, moment } from "./motion.js";
import { colorOf, Painter } from "./paint.js";
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

/** Milliseconds of motion in a step; keys are met one by one. */
const MOTION = { each: 3600, match: 4200, average: 3800 };
const USUAL = 2600;
/** How long a result is looked at while playing: the time to read its sentence. */
const READING = { least: 1400, letter: 26 };
/** Steps back are played faster. */
const BACKWARD = 4;
const ROLES = /** @type {const} */ (["in", "with", "out"]);

/** Whether the reader prefers no motion. */
const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** @extends {CanvasView<PathData & {selected?: null}, Place>} */
class Path extends CanvasView {
  canvas = h("canvas");
  /** @type {import("./layout.js").Scene[]} */
  scenes = [];
  height = 0;
  step = 0;
  /** The time in the step, from 0 to 1. */
  t = 1;
  isPlaying = false;
  frame = 0;
  timer = 0;
  /** The subject and the last place to which Python has moved. */
  known = ["", ""];
  frames = 0;
  where = div("where");
  heading = div("heading");
  sentence = h("p", { class: "sentence" });
  chapters = div("chapters");
  scales = div("scales");
  range = h("input", {
    type: "range",
    min: 0,
    step: 0.01,
    "aria-label": "Step",
    oninput: () => this.seek(Number(this.range.value)),
    onchange: () => this.report(),
  });
  playing = h("button", { class: "play", onclick: () => this.toggle() });
  back = h("button", { onclick: () => this.previous() }, "Back");
  forward = h("button", { onclick: () => this.next() }, "Next");
  onPage = (/** @type {KeyboardEvent} */ event) => this.keyOnPage(event);

  build() {
    this.stage.append(this.canvas);
    this.stage.onblur = () => this.point(null);
    const controls = div("controls", this.back, this.playing, this.forward, this.range);
    this.root.prepend(
      controls,
      this.chapters,
      this.where,
      this.heading,
      this.sentence,
      this.stage,
      this.scales,
      this.note,
    );
    this.listen(this.canvas);
    document.addEventListener("keydown", this.onPage);
    Object.assign(this.root, { seek: (/** @type {number} */ at) => this.seek(at) });
  }

  update() {
    const { data } = this;
    const numbers = (/** @type {string} */ name) => /** @type {any} */ (data)[name];
    this.painter = new Painter(data.colors, numbers);
    for (const role of ROLES) this.root.style.setProperty(`--hl-${role}`, colorOf(data.colors, role));
    this.stage.setAttribute("aria-label", data.title);
    this.range.max = String(data.steps.length);
    this.playing.hidden = isStill();
    this.note.textContent = isStill()
      ? "Arrow keys go from step to step."
      : "Space plays and pauses, arrow keys go from step to step. Point at a cell or a bar to read its number.";
    const name = this.at?.name;
    const place = `${data.here} ${data.moves}`;
    const isMoved = this.known[1] !== place;
    if (this.known[0] !== data.subject || isMoved) this.stop();
    this.known = [data.subject, place];
    const index = data.steps.findIndex((step) => step.name === (isMoved ? data.here : (name ?? data.here)));
    if (isMoved || data.steps[this.step]?.name !== name) [this.step, this.t] = [Math.max(0, index), 1];
    this.listChapters();
    this.layout();
    this.describeStep();
  }

  /** The step shown. @type {Step | undefined} */
  at;

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

  draw() {
    if (!this.width || !this.painter) return;
    const { steps } = this.data;
    const pen = prepare(this.canvas, this.width, this.height);
    pen.translate(3, 3);
    const [i, t] = [this.step, this.t];
    const before = i ? { step: steps[i - 1], scene: this.scenes[i - 1] } : null;
    const now = { step: steps[i], scene: this.scenes[i] };
    this.painter.paint(pen, now, before, moment(now.step, now.scene, before?.scene ?? null, t), t);
    this.range.value = String(i + t);
    this.highlight();
  }

  /** Mark in the sentence what is moving. */
  highlight() {
    const growth = (this.t - ARRIVAL) / (1 - ARRIVAL);
    const now =
      this.t === 1
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
    const step = steps[this.step];
    this.playing.textContent = this.isPlaying ? "Pause" : "Play";
    this.back.disabled = this.step === 0;
    this.forward.disabled = this.step === steps.length - 1 && this.t === 1;
    if (step === this.at) return;
    this.at = step;
    const where = `Step ${this.step + 1} of ${steps.length}, ${step.chapter}`;
    this.where.textContent = where;
    this.heading.textContent = step.title;
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
    const first = new Map(steps.map(({ chapter }, i) => [chapter, i]).reverse());
    const buttons = [...first]
      .reverse()
      .map(([chapter, i]) => h("button", { onclick: () => this.choose(Number(i)) }, String(chapter)));
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
      const [low, high] = own[0].scale.map((end) => format(end));
      const bar = span("bar");
      bar.style.background = `linear-gradient(90deg,${diverging.join()})`;
      return span("scale", names.join(" and "), low, bar, high);
    });
    this.scales.replaceChildren(...entries);
  }

  // Time

  /** Play on to the end of this step, and then to the end of the path if it plays. */
  run(speed = 1) {
    this.halt();
    let last = performance.now();
    const tick = (/** @type {number} */ now) => {
      const { motion } = this.data.steps[this.step];
      const duration = MOTION[/** @type {keyof typeof MOTION} */ (motion)] ?? USUAL;
      this.t = clamp(this.t + (speed * Math.min(now - last, 100)) / duration, 0, 1);
      last = now;
      this.frames += 1;
      if (speed > 0 ? this.t < 1 : this.t > 0) {
        this.frame = requestAnimationFrame(tick);
        this.draw();
        return;
      }
      this.frame = 0;
      if (speed < 0) [this.step, this.t] = [this.step - 1, 1];
      this.draw();
      this.rest();
    };
    this.describeStep();
    this.frame = requestAnimationFrame(tick);
  }

  /** At the end of a step: stay, or play on once it has been read. */
  rest() {
    const { steps } = this.data;
    if (this.isPlaying && this.step < steps.length - 1) {
      const letters = steps[this.step].sentence.reduce((n, [, text]) => n + text.length, 0);
      this.timer = Number(
        setTimeout(() => this.enter(this.step + 1), READING.least + letters * READING.letter),
      );
    } else {
      this.isPlaying = false;
      this.report();
    }
    this.describeStep();
  }

  /** Begin a step. @param {number} step */
  enter(step) {
    [this.step, this.t] = [step, isStill() ? 1 : 0];
    if (isStill()) {
      this.draw();
      this.rest();
    } else this.run();
  }

  halt() {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    [this.frame, this.timer] = [0, 0];
  }

  stop() {
    this.halt();
    this.isPlaying = false;
  }

  toggle() {
    if (this.isPlaying) {
      this.stop();
      this.describeStep();
      this.report();
      return;
    }
    if (isStill()) return;
    this.isPlaying = true;
    if (this.t < 1) this.run();
    else this.enter(this.step === this.data.steps.length - 1 ? 0 : this.step + 1);
  }

  next() {
    const isMoving = this.frame !== 0;
    this.stop();
    if (isMoving || this.step === this.data.steps.length - 1) this.choose(this.step);
    else this.enter(this.t < 1 ? this.step : this.step + 1);
  }

  previous() {
    this.stop();
    if (this.step === 0) this.choose(0);
    else if (isStill()) this.choose(this.step - 1);
    else this.run(-BACKWARD);
  }

  /** Show a step at its end. @param {number} step */
  choose(step) {
    this.stop();
    [this.step, this.t] = [step, 1];
    this.draw();
    this.describeStep();
    this.report();
  }

  /** Go to a time: a step's number plus the share of the step. @param {number} at */
  seek(at) {
    this.stop();
    const last = this.data.steps.length - 1;
    this.step = clamp(Math.ceil(at) - 1, 0, last);
    this.t = isStill() ? 1 : clamp(at - this.step, 0, 1);
    this.draw();
    this.describeStep();
  }

  /** Report where the user has stopped, for the full matrices of that step. */
  report() {
    this.selection.report(this.step, KEY_DELAY);
  }

  // Keys

  /** @param {string} key */
  onKey(key) {
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowRight: () => this.next(),
      ArrowLeft: () => this.previous(),
      PageDown: () => this.next(),
      PageUp: () => this.previous(),
      Home: () => this.choose(0),
      End: () => this.choose(this.data.steps.length - 1),
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

  isInSight() {
    const { top, bottom } = this.root.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  }

  // Pointer

  /** @param {MouseEvent} event @returns {Place | null} */
  find(event) {
    if (this.t < 1) return null;
    const [x, y] = positionOn(this.canvas, event).map((place) => place - 3);
    const { actors } = this.scenes[this.step];
    for (const [number, { part, box }] of actors.entries()) {
      const { form, sizes } = this.data.steps[this.step].parts[part];
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
    const actor = this.scenes[this.step].actors[number];
    const part = this.data.steps[this.step].parts[actor.part];
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
    const [x, y, w, tall] = this.scenes[this.step].actors[number].box;
    return positionInWindow(this.canvas, [x + w, y + tall]);
  }

  /** Nothing is selected by a click. */
  click() {}

  end() {
    this.stop();
    document.removeEventListener("keydown", this.onPage);
    super.end();
  }

  state() {
    const { step, t, isPlaying, frame, frames, height } = this;
    return { step, t, isPlaying, isMoving: frame !== 0, frames, height, name: this.at?.name };
  }
}

/** @param {number[]} values */
function mostCommon(values) {
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].reduce((best, one) => (one[1] > best[1] ? one : best), [1, 0])[0];
}

export const mount = mounting(Path, "path", style);
export default forStreamlit(mount);
