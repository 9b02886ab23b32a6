// @ts-check
// Whether the server is running the page, as Streamlit's own frame says it, or is about to.

import { afterUser } from "./after_user.js";

const APP = '[data-testid="stApp"]';
const STATE = "data-test-script-state";
const FOLLOWING = "data-following";

/** Whether a page link is being followed: a run that is asked for now would overtake it, in the name of the old page. */
export const isFollowing = () => document.documentElement.hasAttribute(FOLLOWING);

const state = () => document.querySelector(APP)?.getAttribute(STATE);

export const isRunning = () => state() === "running";
export const isIdle = () => state() === "notRunning";

/**
 * Be called whenever the server begins or ends to run the page.
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
 * Make what tells Python something from a node: the last that is to be told, when the page is at rest. Told while the
 * page is being run, Streamlit would lose what stands in the node's fragment; while a page link is being followed, it
 * would go back to the old page.
 * @template Told
 * @param {Node} node
 * @param {(told: Told) => void} tell
 * @returns {(told: Told) => void} nothing is told when the page has gone on without the node
 */
export function teller(node, tell) {
  /** @type {(() => void)[]} */
  let ends = [];
  /** @type {Told} */
  let latest;
  const mustWait = () => node.isConnected && (!isIdle() || isFollowing());
  const send = () => {
    if (!ends.length || mustWait()) return;
    for (const end of ends) end();
    ends = [];
    if (node.isConnected) tell(latest);
  };
  const tryAgain = () => {
    if (!mustWait()) afterUser(send);
  };
  return (told) => {
    latest = told;
    if (!ends.length) ends = [onState(tryAgain), onAttribute(document.documentElement, FOLLOWING, tryAgain)];
    tryAgain();
  };
}
