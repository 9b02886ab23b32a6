// @ts-check
// Saves a file that Python sends, once, and confirms it every time it is sent: Python may have missed the last answer.

import { reporter } from "../shared/busy.js";
import { documentWide } from "../shared/document_wide.js";
import { saveFile } from "../shared/save.js";

/** Ids of the files that were saved. @type {Set<string>} */
const saved = documentWide("saved", () => new Set());

/** @typedef {{id: string, name: string, mime: string, content: Uint8Array<ArrayBuffer>}} SavedFile */

/** @type {import("./bridge.js").Helper<SavedFile>} */
export function savedFile({ id, name, mime, content }, { node, answer }) {
  if (!saved.has(id)) saveFile(content, name, mime);
  saved.add(id);
  reporter(node, answer)(id);
}
