// @ts-check
// Keeps scenes in the browser tab across a reload, which ends the server's session.

/** @typedef {import("./scenes.js").Scene} Scene */

const KEY = "headlight-scenes";

/** @param {Scene[]} scenes */
export function remember(scenes) {
  try {
    if (scenes.length) sessionStorage.setItem(KEY, JSON.stringify(scenes));
    else sessionStorage.removeItem(KEY);
  } catch {
    // Storage is full or not allowed: a reload then forgets the scenes.
  }
}

/** The remembered scenes; Python validates them like a file. @returns {unknown} */
export function recall() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  } catch {
    return null;
  }
}
