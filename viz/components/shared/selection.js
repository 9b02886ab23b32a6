// @ts-check
// What was selected, on its way to Python and back.

/** A key held down repeats faster than pages run: after so many milliseconds only the last is told. */
export const KEY_DELAY = 150;

export class Selection {
  #told = "";
  /** What Python was told and has not answered yet. @type {string[]} */
  #unanswered = [];
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
    else this.#send();
  }

  /** Whether something that was selected is still to be told. */
  get isWaiting() {
    return this.#timer > 0;
  }

  /** Tell what waits. */
  flush() {
    if (!this.#timer) return;
    this.forget();
    this.#send();
  }

  #send() {
    this.#unanswered.push(JSON.stringify(this.#waiting));
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
    if (told === this.#told) return false;
    this.#told = told;
    const answered = this.#unanswered.indexOf(told);
    // A late answer to what the user chose some time ago is no move; after a move no answer is waited for.
    this.#unanswered.splice(0, answered < 0 ? this.#unanswered.length : answered + 1);
    return answered < 0 && !this.#timer;
  }
}
