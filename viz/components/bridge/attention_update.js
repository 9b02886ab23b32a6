// @ts-check
// Carries the choice and pieces of the run to a viewer mounted elsewhere on the page, so that the run itself, which is
// large, is not sent again. The viewer's requests return this way too: Streamlit keeps only a component's last trigger
// per run, so that a request sent by the viewer itself could replace its choice.

import { reporter } from "../shared/busy.js";
import { publish, serve } from "../shared/channel.js";

/** @type {import("./bridge.js").Helper<{channel: string, content: Uint8Array}>} */
export function attentionUpdate({ channel, content }, { node, answer }) {
  serve(channel, reporter(node, answer));
  publish(channel, content);
}
