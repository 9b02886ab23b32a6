// @ts-check
// What this tab of the browser remembers when the page is loaded again, which ends the session of the server.

/** @typedef {import("./scenes.js").Scene} Scene */

const KEY = "headlight-scenes";

/** @param {Scene[]} scenes */
export function remember(scenes) {
  try {
    if (scenes.length) sessionStorage.setItem(KEY, JSON.stringify(scenes));
    else sessionStorage.removeItem(KEY);
  } catch {
    // No room, or none is given: then a reload forgets them.
  }
}

/** What was remembered, for Python to read as strictly as a file. @returns {unknown} */
export function recall() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  } catch {
    return null;
  }
}
