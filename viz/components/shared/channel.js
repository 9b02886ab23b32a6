// @ts-check
// Named channels that carry bytes to a view from another script of the same document.

import { documentWide } from "./document_wide.js";

/**
 * @typedef {object} Channel
 * @property {Uint8Array | null} latest
 * @property {((bytes: Uint8Array) => void) | null} listener
 * @property {((names: string[]) => void) | null} answer
 */

/** @type {Map<string, Channel>} */
const channels = documentWide("channels", () => new Map());

/** @param {string} name @returns {Channel} */
function channel(name) {
  const found = channels.get(name) ?? { latest: null, listener: null, answer: null };
  channels.set(name, found);
  return found;
}

/**
 * Set who answers the requests on a channel, by publishing on it.
 * @param {string} name
 * @param {(names: string[]) => void} answer
 */
export function serve(name, answer) {
  channel(name).answer = answer;
}

/** Request pieces by name. @param {string} name @param {string[]} names */
export function ask(name, names) {
  channel(name).answer?.(names);
}

/** Send bytes to the channel's listener, now or when there is one. @param {string} name @param {Uint8Array} bytes */
export function publish(name, bytes) {
  const to = channel(name);
  to.latest = bytes;
  to.listener?.(bytes);
}

/**
 * Listen to a channel: to the latest bytes, then to all that follow.
 * @param {string} name
 * @param {(bytes: Uint8Array) => void} listener
 * void} ends it => @returns {() => void} stops listening => void} ends it
 */
export function listen(name, listener) {
  const to = channel(name);
  to.listener = listener;
  if (to.latest) listener(to.latest);
  return () => {
    if (to.listener === listener) to.listener = null;
  };
}

/** Drop a channel that nobody will listen to again. @param {string} name */
export const close = (name) => channels.delete(name);
