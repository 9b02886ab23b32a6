// @ts-check
// Saves the file that the server has sent, once, and says so.

import { teller } from "../shared/busy.js";
import { readFrame } from "../shared/frame.js";
import { saveFile } from "../shared/save.js";

/** @type {Set<string>} */
const saved = new Set();

/** @param {import("../mount.js").Component<Uint8Array>} component */
export default function ({ parentElement, data, setTriggerValue }) {
  const { id, name, mime, content } = readFrame(data);
  if (saved.has(id)) return;
  saved.add(id);
  saveFile(content, name, mime);
  teller(parentElement, () => setTriggerValue("saved", true))(id);
}
