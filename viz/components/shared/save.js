// @ts-check
// Saves a file to the user's disk.

import { h } from "./dom.js";

const KEPT_MILLISECONDS = 60_000;

/**
 * Have the browser save a file.
 * @param {BlobPart} content
 * @param {string} name the name that the browser proposes
 * @param {string} type its MIME type
 */
export function saveFile(content, name, type) {
  const href = URL.createObjectURL(new Blob([content], { type }));
  h("a", { href, download: name }).click();
  // Some browsers start reading only after the click.
  setTimeout(() => URL.revokeObjectURL(href), KEPT_MILLISECONDS);
}
