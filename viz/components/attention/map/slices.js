// @ts-check
// Work done in slices, a little per frame, so that the page stays responsive.

/** Milliseconds per frame. */
const SLICE = 8;

export class Slices {
  #frame = 0;
  /** @type {Iterator<unknown> | null} */
  #work = null;

  get isRunning() {
    return this.#work !== null;
  }

  /** Start; unfinished earlier work is dropped. @param {Iterator<unknown>} work */
  run(work) {
    cancelAnimationFrame(this.#frame);
    this.#work = work;
    this.#slice();
  }

  #slice() {
    const end = performance.now() + SLICE;
    while (this.#work && performance.now() < end) if (this.#work.next().done) this.#work = null;
    if (this.#work) this.#frame = requestAnimationFrame(() => this.#slice());
  }
}
