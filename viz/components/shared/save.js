// @ts-check
// How a file is saved on the user's disk.

import { h } from "./dom.js";

const KEPT_MILLISECONDS = 60_000;

/**
 * Have the browser save a file.
 * @param {BlobPart} content
 * @param {string} name what it proposes to call it
 * @param {string} type its MIME type
 */
export function saveFile(content, name, type) {
  const href = URL.createObjectURL(new Blob([content], { type }));
  h("a", { href, download: name }).click();
  // Some browsers begin to read it only after the click.
  setTimeout(() => URL.revokeObjectURL(href), KEPT_MILLISECONDS);
}
