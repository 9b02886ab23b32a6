// @ts-check
// Goes to an address as Back and Forward do: the address decides on everything, and nothing is reloaded.

import { isIdle, onState } from "../shared/busy.js";

const TRIES = 3;
const SETTLED_MILLISECONDS = 100;
const PATIENCE_MILLISECONDS = 20_000;

/** Whether an address is being visited: it has its history entry, and pages passed on the way get none. */
export const isVisiting = () => document.documentElement.hasAttribute("data-visiting");

/** @typedef {{address: string, path: string, steps: number, tries: number}} Target */

export class Visit {
  /** @type {Target | null} */
  target = null;
  /** Runs in which the address decided, as Python counts them. */
  steps = 0;
  /** Whether the current popstate event was dispatched here. */
  isOwn = false;
  /** Actions waiting for the arrival. @type {(() => void)[]} */
  waiting = [];

  constructor() {
    onState(() => this.look());
  }

  /**
   * @param {string} address
   * @param {boolean} isNew whether to add a history entry
   */
  go(address, isNew) {
    // Not the page's pushState, which navigation.js replaces: this entry is added as it is.
    if (isNew) History.prototype.pushState.call(history, history.state, "", address);
    const mine = { address, path: new URL(address, location.href).pathname, steps: this.steps, tries: 0 };
    this.target = mine;
    // If another scene is requested meanwhile, this page is only passed on the way.
    document.documentElement.dataset.visiting = "";
    this.ask(mine);
    setTimeout(() => this.target === mine && this.arrive(), PATIENCE_MILLISECONDS);
  }

  /** @param {Target} target */
  ask(target) {
    target.tries += 1;
    history.replaceState(history.state, "", target.address);
    this.isOwn = true;
    dispatchEvent(new PopStateEvent("popstate", { state: history.state }));
    this.isOwn = false;
    // Stops the clocks of the page being left; see bridge/clock.js.
    document.documentElement.dataset.following = target.path;
  }

  /**
   * Take in Python's count of steps. A short run begins and ends between two frames, and its state is never seen.
   * @param {number} steps
   */
  count(steps) {
    if (steps === this.steps) return;
    this.steps = steps;
    this.look();
  }

  look() {
    if (this.target && isIdle()) setTimeout(() => this.check(), SETTLED_MILLISECONDS);
  }

  /** Ask again: an earlier click may have sent the server back to its own page or choices. */
  check() {
    const { target } = this;
    if (!target || !isIdle()) return;
    const hasCome = this.steps > target.steps && location.pathname === target.path;
    if (hasCome || target.tries === TRIES) this.arrive();
    else this.ask(target);
  }

  arrive() {
    this.target = null;
    delete document.documentElement.dataset.visiting;
    delete document.documentElement.dataset.following;
    for (const act of this.waiting.splice(0)) act();
  }

  /** Resolves at the arrival. */
  arrived() {
    return /** @type {Promise<void>} */ (new Promise((act) => this.afterwards(act)));
  }

  /** Do something that requests another run, after the arrival: otherwise it would replace this one. @param {() => void} act */
  afterwards(act) {
    if (this.target) this.waiting.push(act);
    else act();
  }
}
