// @ts-check
// Saves the file that the server has sent, once, and says so as often as it is sent: the server may not have heard.

import { teller } from "../shared/busy.js";
import { readFrame } from "../shared/frame.js";
import { saveFile } from "../shared/save.js";

const KEY = Symbol.for("headlight.saved");
/** One for the document: where Headlight is not installed, Streamlit may load this script more than once. */
const held = /** @type {Record<symbol, Set<string>>} */ (/** @type {unknown} */ (globalThis));
held[KEY] ??= new Set();

/** @param {import("../mount.js").Component<Uint8Array>} component */
export default function ({ parentElement, data, setTriggerValue }) {
  const { id, name, mime, content } = readFrame(data);
  if (!held[KEY].has(id)) saveFile(content, name, mime);
  held[KEY].add(id);
  teller(parentElement, (saved) => setTriggerValue("select", saved))(id);
}
