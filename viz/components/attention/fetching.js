// @ts-check
// Requests missing pieces of the run: one request at a time, nothing twice. Pieces that a picture waits for are
// requested alone: an answer arrives as a whole, and each piece of a long run takes time.

/** Ask again after so many milliseconds: a newer run of the page may have overtaken the answer. */
const PATIENCE = 1500;
/** The most pieces per request. */
const MOST = 8;

export class Fetching {
  /** Pieces that a picture waits for. @type {Set<string>} */
  #needed = new Set();
  /** Pieces that are likely to be needed next. @type {Set<string>} */
  #likely = new Set();
  /** @type {Set<string>} */
  #asked = new Set();
  #timer = 0;

  /** @param {(names: string[]) => void} ask */
  constructor(ask) {
    this.ask = ask;
  }

  /** Whether a request is unanswered. */
  get isWaiting() {
    return this.#timer > 0;
  }

  /** Drop all requests, when the run changes or the viewer goes. */
  forget() {
    this.#needed.clear();
    this.#likely.clear();
    this.#asked.clear();
    clearTimeout(this.#timer);
    this.#timer = 0;
  }

  /** Say what is missing, the most needed first. @param {Iterable<string>} needed @param {Iterable<string>} likely */
  want(needed, likely) {
    this.#needed = new Set(needed);
    this.#likely = new Set(likely);
    if (!this.#timer) this.#request();
  }

  /** Take note of pieces that have arrived. @param {string[]} names */
  came(names) {
    for (const name of names) {
      this.#needed.delete(name);
      this.#likely.delete(name);
      this.#asked.delete(name);
    }
    if (this.#timer && this.#asked.size === 0) {
      clearTimeout(this.#timer);
      this.#timer = 0;
      this.#request();
    }
  }

  #request() {
    const names = [...(this.#needed.size ? this.#needed : this.#likely)].slice(0, MOST);
    if (!names.length) return;
    this.#asked = new Set(names);
    this.#timer = Number(
      setTimeout(() => {
        this.#timer = 0;
        this.#request();
      }, PATIENCE),
    );
    this.ask(names);
  }
}
