// @ts-check
// Pieces of the run that are asked for: one request at a time, nothing twice. What a picture waits for is asked for
// alone: an answer comes as a whole, and of a long run each piece of it takes its time.

/** Nothing came for so many milliseconds: ask again, as an answer may have been overtaken by a newer page. */
const PATIENCE = 1500;
/** The most pieces of a request. */
const MOST = 8;

export class Fetching {
  /** What a picture waits for. @type {Set<string>} */
  #needed = new Set();
  /** What is likely to be chosen next. @type {Set<string>} */
  #likely = new Set();
  /** @type {Set<string>} */
  #asked = new Set();
  #timer = 0;

  /** @param {(names: string[]) => void} ask */
  constructor(ask) {
    this.ask = ask;
  }

  /** Whether something was asked for and has not come. */
  get isWaiting() {
    return this.#timer > 0;
  }

  /** Another run, or none: what was wanted of the last one does not count. */
  forget() {
    this.#needed.clear();
    this.#likely.clear();
    this.#asked.clear();
    clearTimeout(this.#timer);
    this.#timer = 0;
  }

  /** Say what is not here, the most needed first. @param {Iterable<string>} needed @param {Iterable<string>} likely */
  want(needed, likely) {
    this.#needed = new Set(needed);
    this.#likely = new Set(likely);
    if (!this.#timer) this.#request();
  }

  /** Pieces have come. @param {string[]} names */
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
