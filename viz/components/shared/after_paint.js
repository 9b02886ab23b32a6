// @ts-check
// Work that can wait until the browser has painted what the user asked for.

export class AfterPaint {
  #frame = 0;

  /** Whether the work is still to be done. */
  get isWaiting() {
    return this.#frame > 0;
  }

  /** Do this work after the next frame, and not what was to be done before. @param {() => void} work */
  run(work) {
    this.drop();
    this.#frame = requestAnimationFrame(() => {
      // A frame is painted when its callbacks have run; a message is handled right after it.
      const { port1, port2 } = new MessageChannel();
      const own = this.#frame;
      port1.onmessage = () => {
        if (this.#frame !== own) return;
        this.#frame = 0;
        work();
      };
      port2.postMessage(null);
    });
  }

  /** Drop the work. */
  drop() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }
}
