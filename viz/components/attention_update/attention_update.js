// @ts-check
// What is chosen and pieces of the run, for a viewer that is mounted elsewhere on the page: the run itself, which is
// large, then need not be sent again. What the viewer asks for goes this way too: of what one component tells twice
// before a run, Streamlit keeps the last, and what was chosen would be lost. Nothing is seen of this.

import { teller } from "../shared/busy.js";
import { publish, serve } from "../shared/channel.js";
import { readFrame } from "../shared/frame.js";

/** @param {import("../mount.js").Component<Uint8Array>} component */
export default function update({ parentElement, data, setTriggerValue }) {
  const { channel } = readFrame(data);
  serve(
    channel,
    teller(parentElement, (names) => setTriggerValue("fetch", names)),
  );
  publish(channel, data);
}
