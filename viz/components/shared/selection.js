// @ts-check
// Reports the user's selection to Python, and recognises Python's answer.

/** A held key repeats faster than pages run: only the last selection within so many milliseconds is reported. */
export const KEY_DELAY = 150;

export class Selection {
  #latest = "";
  /** Reported selections that Python has not answered yet. @type {string[]} */
  #unanswered = [];
  #timer = 0;
  /** @type {unknown} */
  #waiting = null;

  /** @param {(selection: unknown) => void} send */
  constructor(send) {
    this.send = send;
  }

  /** Report a selection: at once, or after a delay in which nothing else is selected. @param {unknown} selection */
  report(selection, delay = 0) {
    this.forget();
    this.#waiting = selection;
    if (delay) this.#timer = Number(setTimeout(() => this.flush(), delay));
    else this.#send();
  }

  /** Whether a selection is still to be reported. */
  get isWaiting() {
    return this.#timer > 0;
  }

  /** Report the waiting selection now. */
  flush() {
    if (!this.#timer) return;
    this.forget();
    this.#send();
  }

  #send() {
    this.#unanswered.push(JSON.stringify(this.#waiting));
    this.send(this.#waiting);
  }

  /** Drop the waiting selection. */
  forget() {
    clearTimeout(this.#timer);
    this.#timer = 0;
  }

  /**
   * Whether Python has moved the selection since the last call, and the user has not moved it further.
   * @param {unknown} selected Python's current selection
   */
  movedByPython(selected) {
    const text = JSON.stringify(selected);
    if (text === this.#latest) return false;
    this.#latest = text;
    const answered = this.#unanswered.indexOf(text);
    // A late answer to one of the user's earlier choices is not a move; a move answers all open reports.
    this.#unanswered.splice(0, answered < 0 ? this.#unanswered.length : answered + 1);
    return answered < 0 && !this.#timer;
  }
}
