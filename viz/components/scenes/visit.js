// @ts-check
// Goes to an address as Back and Forward do: the address then decides on everything, and nothing is loaded again.

import { isIdle, onState } from "../shared/busy.js";

const TRIES = 3;
const SETTLED_MILLISECONDS = 100;
const PATIENCE_MILLISECONDS = 20_000;

/** Whether an address is being visited: it has its entry in the history, and the pages on the way get none. */
export const isVisiting = () => document.documentElement.hasAttribute("data-visiting");

/** @typedef {{address: string, path: string, steps: number, tries: number}} Target */

export class Visit {
  /** @type {Target | null} */
  target = null;
  /** Runs in which the address decided, as Python counts them. */
  steps = 0;
  /** Whether the event that goes round comes from here. */
  isOwn = false;
  /** What waits for the arrival. @type {(() => void)[]} */
  waiting = [];

  constructor() {
    onState(() => this.look());
  }

  /**
   * @param {string} address
   * @param {boolean} isNew whether it gets an entry of its own in the history
   */
  go(address, isNew) {
    // The page's own pushState is one that knows of page links; this entry is ours.
    if (isNew) History.prototype.pushState.call(history, history.state, "", address);
    const mine = { address, path: new URL(address, location.href).pathname, steps: this.steps, tries: 0 };
    this.target = mine;
    // Another scene may be asked for meanwhile: then this page is only passed.
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
    // A clock of the page that is left stands still; see bridge/clock.js.
    document.documentElement.dataset.following = target.path;
  }

  look() {
    if (this.target && isIdle()) setTimeout(() => this.check(), SETTLED_MILLISECONDS);
  }

  /** What was clicked just before can have sent the server back to its own page, or to its own choices. */
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

  /** Do something that asks the server for another run: it would take the place of this one. @param {() => void} act */
  afterwards(act) {
    if (this.target) this.waiting.push(act);
    else act();
  }
}
