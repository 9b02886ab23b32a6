// Sets `window.isAsking` while a run that the page requested has not begun, read from Streamlit's messages.

// The field numbers of streamlit.proto.
const ForwardMsg = { metadata: 2, newSession: 4, delta: 5, scriptFinished: 6, stopAutoRerun: 28 };
const BackMsg = { rerunScript: 11 };
const FRAGMENT_ID = { ofClientState: 5, ofDelta: 8, ofStopAutoRerun: 1 };
const RUN = { ofMetadata: 6, fragmentIds: 2 };
const FINISHED_SUCCESSFULLY = 0; // a run of the whole page

/**
 * The fields of a protobuf message, by number: bytes, or an integer.
 *
 * @param {Uint8Array} bytes
 * @returns {Map<number, (number | Uint8Array)[]>}
 */
function fields(bytes) {
  const found = new Map();
  let at = 0;
  const integer = () => {
    for (let value = 0, factor = 1; ; factor *= 128) {
      const byte = bytes[at++];
      value += (byte & 127) * factor;
      if (!(byte > 127)) return value; // also where a message ends in the middle
    }
  };
  while (at < bytes.length) {
    const [tag, value] = [integer(), integer()];
    const hasBytes = tag % 8 === 2;
    const number = Math.floor(tag / 8);
    found.set(number, [...(found.get(number) ?? []), hasBytes ? bytes.subarray(at, at + value) : value]);
    if (hasBytes) at += value;
  }
  return found;
}

/**
 * All values of a nested field, as bytes.
 *
 * @param {Uint8Array} message
 * @param {...number} path
 * @returns {Uint8Array[]}
 */
function nested(message, ...path) {
  return path.reduce(
    (found, number) =>
      found.flatMap((bytes) => fields(bytes).get(number) ?? []).filter((it) => it instanceof Uint8Array),
    [message],
  );
}

/** @param {Uint8Array[]} values */
const texts = (values) => values.map((bytes) => new TextDecoder().decode(bytes));

const PAGE = "";
let asked = new Set(); // the page, or fragments, with a requested run that has not begun
let drawn = new Set(); // fragments drawn since the page's last run began

/** @param {Uint8Array} message */
function onRequest(message) {
  for (const request of nested(message, BackMsg.rerunScript))
    asked.add(texts(nested(request, FRAGMENT_ID.ofClientState))[0] ?? PAGE);
}

/** @param {Uint8Array} message */
function onAnswer(message) {
  const answer = fields(message);
  if (answer.has(ForwardMsg.newSession)) {
    asked = new Set();
    const isOfPage = !nested(message, ForwardMsg.metadata, RUN.ofMetadata, RUN.fragmentIds).length;
    if (isOfPage) drawn = new Set();
  }
  for (const fragment of texts(nested(message, ForwardMsg.delta, FRAGMENT_ID.ofDelta))) drawn.add(fragment);
  // The server ignores requests of fragments that are gone.
  if (answer.get(ForwardMsg.scriptFinished)?.[0] === FINISHED_SUCCESSFULLY)
    asked = new Set([...asked].filter((id) => id === PAGE || drawn.has(id)));
  for (const fragment of texts(nested(message, ForwardMsg.stopAutoRerun, FRAGMENT_ID.ofStopAutoRerun)))
    asked.delete(fragment);
}

const watched = new WeakSet();
const { send } = WebSocket.prototype;

/** @this {WebSocket} */
WebSocket.prototype.send = function (/** @type {any} */ message) {
  if (!this.url.endsWith("/_stcore/stream")) return send.call(this, message);
  /** @param {(bytes: Uint8Array) => void} note */
  const tell = (note, /** @type {Uint8Array | ArrayBuffer} */ data) => {
    note(new Uint8Array(data));
    Object.assign(window, { isAsking: asked.size > 0 });
  };
  tell(onRequest, message);
  if (!watched.has(this)) this.addEventListener("message", ({ data }) => tell(onAnswer, data));
  watched.add(this);
  return send.call(this, message);
};
