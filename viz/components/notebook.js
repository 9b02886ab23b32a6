// @ts-check
// A view as a notebook widget (Jupyter, VS Code, Colab, marimo): adapts `mount` to anywidget.

import { close, publish } from "./shared/channel.js";
import { div } from "./shared/dom.js";
import { packFrame } from "./shared/frame.js";

/**
 * What anywidget passes to a widget's script: state shared with Python, and messages.
 * @typedef {object} Model
 * @property {(name: string) => any} get
 * @property {(name: string, value: unknown) => void} set
 * @property {() => void} save_changes
 * @property {(content: unknown) => void} send
 * @property {(event: string, listener: (...values: any[]) => void) => void} on
 * @property {(event: string, listener: (...values: any[]) => void) => void} off
 */

/**
 * Make the function that anywidget calls for each place where a notebook shows the widget of headlight/widget.py.
 * These places share the widget's choice; each has its own channel for choices and pieces.
 * @param {import("./mount.js").Mount} mount
 * @returns {(shown: {model: Model, el: HTMLElement}) => () => void}
 */
export const forAnywidget =
  (mount) =>
  ({ model, el }) => {
    const channel = `notebook ${Math.random()}`;
    /** A comm loses nothing: each piece is requested once. @type {Set<string>} */
    const asked = new Set();
    let run = "";
    let theme = themeOfPage();
    let changed = () => {};

    const followChoice = () =>
      publish(channel, packFrame({ run, choice: model.get("choice"), pieces: [], none: [] }));
    const takePieces = (/** @type {unknown} */ _content, /** @type {Binary[]} */ [pieces]) =>
      publish(channel, bytesOf(pieces));
    const followTheme = () => {
      const before = theme;
      theme = themeOfPage();
      if (theme !== before) changed();
    };

    const box = div("");
    // Keep Jupyter's shortcuts out: an arrow key would move to the notebook's next cell.
    box.dataset.lmSuppressShortcuts = "true";
    Object.assign(box.style, { padding: "12px", borderRadius: "8px" });
    el.append(box);
    const leave = mount(box.attachShadow({ mode: "open" }), {
      get: () => bytesOf(model.get("frame")),
      onChange: (listener) => {
        changed = listener;
      },
      select: (choice) => {
        model.set("choice", choice);
        model.save_changes();
      },
      request: (names) => {
        const fresh = names.filter((name) => !asked.has(name));
        for (const name of fresh) asked.add(name);
        if (fresh.length) model.send({ fetch: fresh });
      },
      adapt: (data) => {
        run = data.run;
        const colors = data.palettes?.[theme] ?? data.colors;
        box.style.background = colors.background;
        return { channel, colors };
      },
    });
    const end = listenTo(model, { "change:choice": followChoice, "msg:custom": takePieces });
    const forget = watchTheme(followTheme);
    followChoice();
    return () => {
      leave();
      end();
      forget();
      close(channel);
      box.remove();
    };
  };

/** @typedef {ArrayBuffer | ArrayBufferView<ArrayBuffer>} Binary */

/** The bytes of a binary message, which may begin anywhere in its buffer. @param {Binary} binary */
const bytesOf = (binary) =>
  ArrayBuffer.isView(binary)
    ? new Uint8Array(binary.buffer, binary.byteOffset, binary.byteLength)
    : new Uint8Array(binary);

/** @param {Model} model @param {Record<string, (...values: any[]) => void>} listeners */
function listenTo(model, listeners) {
  for (const [event, listener] of Object.entries(listeners)) model.on(event, listener);
  return () => {
    for (const [event, listener] of Object.entries(listeners)) model.off(event, listener);
  };
}

/** The page is dark if its text is bright, in any notebook. */
function themeOfPage() {
  const color = getComputedStyle(document.body).color;
  const [red, green, blue] = (color.match(/[\d.]+/g) ?? []).map(Number);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 128 ? "dark" : "light";
}

/** Call `onChange` whenever the page's or the system's theme may have changed. @param {() => void} onChange */
function watchTheme(onChange) {
  // During a change Jupyter has no width: wait for the next frame.
  const look = () => requestAnimationFrame(onChange);
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", look);
  const observer = new MutationObserver(look);
  for (const node of [document.documentElement, document.body]) observer.observe(node, { attributes: true });
  return () => {
    system.removeEventListener("change", look);
    observer.disconnect();
  };
}
