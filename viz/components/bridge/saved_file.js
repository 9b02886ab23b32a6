// @ts-check
// Saves a file that Python sends, once, and confirms it every time it is sent: Python may have missed the last answer.

import { teller } from "../shared/busy.js";
import { saveFile } from "../shared/save.js";

const KEY = Symbol.for("headlight.saved");
/** Shared by the document: where Headlight is not installed, Streamlit may load this script more than once. */
const held = /** @type {Record<symbol, Set<string>>} */ (/** @type {unknown} */ (globalThis));
held[KEY] ??= new Set();

/** @typedef {{id: string, name: string, mime: string, content: Uint8Array<ArrayBuffer>}} SavedFile */

/** @type {import("./bridge.js").Helper<SavedFile>} */
export function savedFile({ id, name, mime, content }, { node, answer }) {
  if (!held[KEY].has(id)) saveFile(content, name, mime);
  held[KEY].add(id);
  teller(node, answer)(id);
}
