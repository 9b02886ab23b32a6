// @ts-check
// The time of the path: which step is shown and how far it has come. Nothing runs while nothing moves.

import { clamp } from "../shared/numbers.js";

/** @typedef {{motion: string, sentence: [role: string, text: string][]}} Timed */
/**
 * @typedef {object} Listener
 * @property {() => void} draw after every change of the time
 * @property {() => void} describe when another step begins, or playing starts or ends
 * @property {() => void} enter when the next step begins while playing
 * @property {() => void} stop when the user has stopped at a step
 */

/** Milliseconds of motion in a step; tokens are met one after the other. @type {Record<string, number>} */
const MOTION = { each: 3600, match: 4200, average: 3800 };
const USUAL = 2600;
/** While playing, a result stays as long as its sentence takes to read. */
const READING = { least: 1400, letter: 26 };
/** Steps back are played faster. */
const BACKWARD = 4;
/** A frame that comes later than this does not jump. */
const LONGEST_FRAME = 100;

/** Whether the reader prefers no motion. */
export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export class Player {
  step = 0;
  /** The time in the step: from 0, where the step before ended, to 1. */
  t = 1;
  isPlaying = false;
  /** How many times faster than usual to play. */
  speed = 1;
  /** How many frames have been drawn in motion. */
  frames = 0;
  /** @type {Timed[]} */
  #steps = [];
  #frame = 0;
  #timer = 0;

  /** @param {Listener} listener */
  constructor({ draw, describe, enter, stop }) {
    this.draw = draw;
    this.describe = describe;
    this.onEnter = enter;
    this.onStop = stop;
  }

  get isMoving() {
    return this.#frame !== 0;
  }

  get last() {
    return this.#steps.length - 1;
  }

  /** @param {Timed[]} steps */
  take(steps) {
    this.#steps = steps;
  }

  /** Be at the end of a step, without drawing. @param {number} step */
  place(step) {
    [this.step, this.t] = [step, 1];
  }

  stop() {
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#timer);
    [this.#frame, this.#timer] = [0, 0];
    this.isPlaying = false;
  }

  toggle() {
    if (this.isPlaying) {
      this.stop();
      this.draw();
      this.describe();
      this.onStop();
    } else if (!isStill()) {
      const isOver = this.step === this.last && this.t === 1;
      this.stop();
      this.isPlaying = true;
      if (this.t < 1) this.#run(1);
      else this.#enter(isOver ? 0 : this.step + 1);
    }
  }

  /** To the end of this step if it is moving, or else through the next. */
  next() {
    const { isMoving } = this;
    this.stop();
    if (isMoving || (this.step === this.last && this.t === 1)) this.choose(this.step);
    else this.#enter(this.t < 1 ? this.step : this.step + 1);
  }

  /** Back through this step to the end of the one before. */
  previous() {
    this.stop();
    if (this.step === 0) this.choose(0);
    else if (isStill()) this.choose(this.step - 1);
    else this.#run(-BACKWARD);
  }

  /** Show a step at its end. @param {number} step */
  choose(step) {
    this.stop();
    this.place(step);
    this.draw();
    this.describe();
    this.onStop();
  }

  /** Show a time: a step's number plus the share of the step. @param {number} at */
  seek(at) {
    this.stop();
    this.step = clamp(Math.ceil(at) - 1, 0, this.last);
    this.t = isStill() ? 1 : clamp(at - this.step, 0, 1);
    this.draw();
    this.describe();
  }

  /** Begin a step. @param {number} step */
  #enter(step) {
    [this.step, this.t] = [step, isStill() ? 1 : 0];
    if (this.isPlaying) this.onEnter();
    if (!isStill()) this.#run(1);
    else {
      this.draw();
      this.#rest();
    }
  }

  /** Move to the end of the step, or with a negative speed to its beginning. @param {number} speed */
  #run(speed) {
    let last = performance.now();
    const tick = (/** @type {number} */ now) => {
      const duration = (MOTION[this.#steps[this.step].motion] ?? USUAL) / this.speed;
      this.t = clamp(this.t + (speed * clamp(now - last, 0, LONGEST_FRAME)) / duration, 0, 1);
      last = now;
      this.frames += 1;
      const isOver = speed > 0 ? this.t === 1 : this.t === 0;
      this.#frame = isOver ? 0 : requestAnimationFrame(tick);
      // The beginning of a step is the end of the one before.
      if (isOver && speed < 0) this.place(this.step - 1);
      this.draw();
      if (!this.isMoving) this.#rest();
    };
    this.describe();
    this.#frame = requestAnimationFrame(tick);
  }

  /** At the end of a step: stay, or continue once it has been read. */
  #rest() {
    if (this.isPlaying && this.step < this.last) {
      const letters = this.#steps[this.step].sentence.reduce((n, [, text]) => n + text.length, 0);
      const pause = (READING.least + letters * READING.letter) / this.speed;
      this.#timer = Number(setTimeout(() => this.#enter(this.step + 1), pause));
    } else {
      this.isPlaying = false;
      this.draw();
      this.onStop();
    }
    this.describe();
  }
}
