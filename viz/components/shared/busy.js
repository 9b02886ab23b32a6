// @ts-check
// Whether the server is running the page, or about to, read from an attribute that Streamlit sets.

import { afterUser } from "./after_user.js";

const APP = '[data-testid="stApp"]';
const STATE = "data-test-script-state";
const FOLLOWING = "data-following";

/** Whether a page link is being followed: a run requested now would overtake it and return to the old page. */
export const isFollowing = () => document.documentElement.hasAttribute(FOLLOWING);

const state = () => document.querySelector(APP)?.getAttribute(STATE);

export const isRunning = () => state() === "running";
export const isIdle = () => state() === "notRunning";

/**
 * Call the listener whenever the server starts or finishes running the page.
 * @param {() => void} listener
 * @returns {() => void} ends it
 */
export const onState = (listener) => onAttribute(document.body, STATE, listener);

/** @param {Element} top @param {string} attribute of it or of something in it @param {() => void} listener */
function onAttribute(top, attribute, listener) {
  const observer = new MutationObserver(listener);
  observer.observe(top, { subtree: true, attributes: true, attributeFilter: [attribute] });
  return () => observer.disconnect();
}

/**
 * Make a reporter for a node: it sends Python the latest value once the page is idle. During a run, Streamlit would
 * lose the contents of the node's fragment; while a page link is being followed, it would go back to the old page.
 * @template Value
 * @param {Node} node
 * @param {(value: Value) => void} report
 * @returns {((value: Value) => void) & {isWaiting: () => boolean}} sends nothing once the node has left the page;
 *   `isWaiting`: whether a value is still to be sent
 */
export function reporter(node, report) {
  /** @type {(() => void)[]} */
  let ends = [];
  /** @type {Value} */
  let latest;
  const mustWait = () => node.isConnected && (!isIdle() || isFollowing());
  const send = () => {
    if (!ends.length || mustWait()) return;
    for (const end of ends) end();
    ends = [];
    if (node.isConnected) report(latest);
  };
  const tryAgain = () => {
    if (!mustWait()) afterUser(send);
  };
  const add = (/** @type {Value} */ value) => {
    latest = value;
    if (!ends.length) ends = [onState(tryAgain), onAttribute(document.documentElement, FOLLOWING, tryAgain)];
    tryAgain();
  };
  return Object.assign(add, { isWaiting: () => ends.length > 0 && node.isConnected });
}
