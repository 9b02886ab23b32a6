// @ts-check
// A view as a widget of a notebook (Jupyter, VS Code, Colab, marimo): what anywidget calls, made of `mount`.

import { close, publish } from "./shared/channel.js";
import { div } from "./shared/dom.js";
import { packFrame } from "./shared/frame.js";

/**
 * What anywidget hands to a widget's script: the state that it shares with Python, and messages between the two.
 * @typedef {object} Model
 * @property {(name: string) => any} get
 * @property {(name: string, value: unknown) => void} set
 * @property {() => void} save_changes
 * @property {(content: unknown) => void} send
 * @property {(event: string, listener: (...told: any[]) => void) => void} on
 * @property {(event: string, listener: (...told: any[]) => void) => void} off
 */

/**
 * Make what anywidget calls once for each place where a notebook shows the widget of headlight/widget.py. Such places
 * share the widget's choice, and each has a channel of its own, on which choices and pieces come.
 * @param {import("./mount.js").Mount} mount
 * @returns {(shown: {model: Model, el: HTMLElement}) => () => void}
 */
export const forAnywidget =
  (mount) =>
  ({ model, el }) => {
    const channel = `notebook ${Math.random()}`;
    /** A comm loses nothing: what was asked for once will come. @type {Set<string>} */
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
    // Jupyter's own keys are not for who is in here: an arrow would go on to the next cell of the notebook.
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

/** What came in binary form, which need not begin where its buffer does. @param {Binary} binary */
const bytesOf = (binary) =>
  ArrayBuffer.isView(binary)
    ? new Uint8Array(binary.buffer, binary.byteOffset, binary.byteLength)
    : new Uint8Array(binary);

/** @param {Model} model @param {Record<string, (...told: any[]) => void>} listeners */
function listenTo(model, listeners) {
  for (const [event, listener] of Object.entries(listeners)) model.on(event, listener);
  return () => {
    for (const [event, listener] of Object.entries(listeners)) model.off(event, listener);
  };
}

/** Bright text is on a dark page, whichever notebook it is. */
function themeOfPage() {
  const color = getComputedStyle(document.body).color;
  const [red, green, blue] = (color.match(/[\d.]+/g) ?? []).map(Number);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 128 ? "dark" : "light";
}

/** Look again when the page or the system has changed its looks. @param {() => void} onChange */
function watchTheme(onChange) {
  // In the middle of a change Jupyter has no width.
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
