// @ts-check
// The bridge between Python and the browser for everything that draws nothing. A message names its helper by its
// `kind`; the helper may answer through the one trigger, "answer".

import { readFrame } from "../shared/frame.js";
import { attentionUpdate } from "./attention_update.js";
import { clock } from "./clock.js";
import { largeType } from "./large_type.js";
import { pageHelpers } from "./page_helpers.js";
import { runAll } from "./run_all.js";
import { savedFile } from "./saved_file.js";

/**
 * Handles one kind of message. Returns what ends its effect, called before the next message to the same place.
 * @template [Message=any]
 * @typedef {(message: Message, link: Link) => (() => void) | void} Helper
 */
/**
 * The way back to Python from the place where the bridge is mounted.
 * @typedef {object} Link
 * @property {Node} node that place
 * @property {(answer: unknown) => void} answer sends at once; see `reporter` for an answer that must wait
 */

/** @type {Record<string, Helper>} */
const HELPERS = {
  attention_update: attentionUpdate,
  clock,
  large_type: largeType,
  page_helpers: pageHelpers,
  run_all: runAll,
  saved_file: savedFile,
};

/** @type {WeakMap<Node, (() => void) | void>} */
const ends = new WeakMap();

/** @param {import("../mount.js").Component<Uint8Array>} component */
export default function ({ parentElement: node, data, setTriggerValue }) {
  const end = () => ends.get(node)?.();
  end();
  const message = readFrame(data);
  ends.set(
    node,
    HELPERS[message.kind](message, { node, answer: (value) => setTriggerValue("answer", value) }),
  );
  return end;
}
