// @ts-check
// What was selected, on its way to Python and back.

/** A key held down repeats faster than pages run: after so many milliseconds only the last is told. */
export const KEY_DELAY = 150;

export class Selection {
  #told = "";
  #timer = 0;
  /** @type {unknown} */
  #waiting = null;

  /** @param {(selection: unknown) => void} tell */
  constructor(tell) {
    this.tell = tell;
  }

  /** Tell Python: at once, or when nothing else has been selected for so long. @param {unknown} selection */
  report(selection, delay = 0) {
    this.forget();
    this.#waiting = selection;
    if (delay) this.#timer = Number(setTimeout(() => this.flush(), delay));
    else this.tell(selection);
  }

  /** Tell what waits. */
  flush() {
    if (!this.#timer) return;
    this.forget();
    this.tell(this.#waiting);
  }

  /** Drop what waits. */
  forget() {
    clearTimeout(this.#timer);
    this.#timer = 0;
  }

  /**
   * Whether Python has moved the selection since it was last asked about, and the user has not moved it further.
   * @param {unknown} selected what Python now says
   */
  movedByPython(selected) {
    const told = JSON.stringify(selected);
    const moved = told !== this.#told && !this.#timer;
    this.#told = told;
    return moved;
  }
}
