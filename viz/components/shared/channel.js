// @ts-check
// How bytes reach a view past its own data: by the name of a channel, from another script of the same document.

/**
 * @typedef {object} Channel
 * @property {Uint8Array | null} latest
 * @property {((bytes: Uint8Array) => void) | null} listener
 * @property {((names: string[]) => void) | null} answer
 */

const KEY = Symbol.for("headlight.channels");
/** One for the document: each script is a bundle of its own, with its own copy of this module. */
const held = /** @type {Record<symbol, Map<string, Channel>>} */ (/** @type {unknown} */ (globalThis));
held[KEY] ??= new Map();

/** @param {string} name @returns {Channel} */
function channel(name) {
  const found = held[KEY].get(name) ?? { latest: null, listener: null, answer: null };
  held[KEY].set(name, found);
  return found;
}

/**
 * Say who answers what is asked on a channel: bytes that are published on it.
 * @param {string} name
 * @param {(names: string[]) => void} answer
 */
export function serve(name, answer) {
  channel(name).answer = answer;
}

/** Ask for pieces by their names. @param {string} name @param {string[]} names */
export function ask(name, names) {
  channel(name).answer?.(names);
}

/** Hand bytes to whoever listens, now or later. @param {string} name @param {Uint8Array} bytes */
export function publish(name, bytes) {
  const to = channel(name);
  to.latest = bytes;
  to.listener?.(bytes);
}

/**
 * Listen to a channel: first to what came last, then to all that comes.
 * @param {string} name
 * @param {(bytes: Uint8Array) => void} listener
 * @returns {() => void} ends it
 */
export function listen(name, listener) {
  const to = channel(name);
  to.listener = listener;
  if (to.latest) listener(to.latest);
  return () => {
    if (to.listener === listener) to.listener = null;
  };
}

/** Forget a channel that nobody will listen to again. @param {string} name */
export const close = (name) => held[KEY].delete(name);
