// @ts-check
// The viewer of a run's attention, painted from what the browser holds. Choosing is local; the host is told
// afterwards, and asked for missing pieces.

import { forStreamlit, mounting } from "../mount.js";
import { forAnywidget } from "../notebook.js";
import { AfterPaint } from "../shared/after_paint.js";
import { ask, listen } from "../shared/channel.js";
import { forgetChosen, onChoose, tellChosen } from "../shared/chosen_token.js";
import { div } from "../shared/dom.js";
import { readFrame } from "../shared/frame.js";
import { Selection } from "../shared/selection.js";
import { View } from "../shared/shell.js";
import { Bars } from "./bars.js";
import cell from "./cell/style.css";
import { possible } from "./choice.js";
import { Fetching } from "./fetching.js";
import grid from "./grid/style.css";
import map from "./map/style.css";
import matrix from "./matrix/style.css";
import { OutputLine } from "./output.js";
import { Panels } from "./panels.js";
import rows from "./rows/style.css";
import { ViewerRun } from "./run.js";
import style from "./style.css";
import table from "./table/style.css";
import { choosing, chosenIn, keptCell } from "./token.js";

/** @typedef {import("./choice.js").Choice} Choice */

/** A choice is reported when nothing else has been chosen for so many milliseconds. */
const SETTLED = 200;
/** A reported choice that has not come back after so many milliseconds was not accepted. */
const PATIENCE = 8000;

/** @extends {View<import("./run.js").RunFrame>} */
class AttentionViewer extends View {
  /** @type {ViewerRun} */
  run;
  /** Null until the first update. @type {Choice | null} */
  choice = null;
  /** Reported choices that have not come back, and when they were reported. @type {{text: string, at: number}[]} */
  reported = [];
  leave = () => {};
  ignore = () => {};
  channel = "";
  /** Whether the choice for this run is still to come: its first pieces come with it. */
  isAwaited = true;
  /** The texts, which take longer than the pictures and follow them. */
  texts = new AfterPaint();

  /** @param {HTMLElement} root @param {import("../shared/shell.js").Host} host */
  constructor(root, host) {
    super(root, host);
    this.host = host;
    this.selection = new Selection((choice) => {
      this.reported.push({ text: JSON.stringify(choice), at: Date.now() });
      host.select(choice);
    });
    const change = (/** @type {Partial<Choice>} */ changed) => this.change(changed);
    this.fetching = new Fetching((names) => {
      if (host.request) host.request(names);
      else ask(this.channel, names);
    });
    this.bars = new Bars(change);
    this.panels = new Panels(change, (piece) => this.choice && this.request([piece]));
    this.output = new OutputLine(
      (position) => this.chooseToken({ stack: "decoder", position }),
      (word) => this.askWhy(word),
    );
    this.onKey = (/** @type {KeyboardEvent} */ event) => this.release(event);
  }

  build() {
    this.root.append(this.output.box, this.bars.box, this.panels.box, div("hl-note"));
    document.addEventListener("keydown", this.onKey);
    this.ignore = onChoose((token) => this.holdsToken && this.chooseToken(token));
  }

  /** Take in another run, or other colours. */
  update() {
    const { data } = this;
    const isOther = data.run !== this.run?.id;
    if (isOther) {
      this.run = new ViewerRun(data);
      this.fetching.forget();
      this.choice &&= possible(this.choice, this.run);
      this.isAwaited = true;
    }
    if (isOther || data.channel !== this.channel) {
      this.leave();
      this.channel = data.channel;
      this.leave = listen(data.channel, (bytes) => this.receive(bytes));
    }
    this.layout();
  }

  /** Take in an update: a choice made elsewhere, and requested pieces. @param {Uint8Array} bytes */
  receive(bytes) {
    const update = readFrame(bytes);
    if (update.run !== this.run?.id) return;
    // The first update of a run allows asking for more, whether or not the choice is another.
    const isFirst = this.isAwaited;
    this.isAwaited = false;
    this.run.add(update);
    this.fetching.came([...update.pieces, ...update.none]);
    const isMoved = update.choice && this.hear(update.choice);
    if (this.width && (isFirst || isMoved || update.pieces.length || update.none.length)) this.show();
  }

  /**
   * Take a choice from an update. A reported choice that comes back is not a new one; and while one is pending, the
   * update may hold an older choice that the user has left.
   * @param {Choice} choice
   * @returns {boolean} whether the choice has changed
   */
  hear(choice) {
    const heard = possible({ ...this.choice, ...choice }, this.run);
    const isMoved = this.selection.movedByPython(choice);
    this.reported = this.reported.filter(({ at }) => Date.now() - at < PATIENCE);
    const back = this.reported.findIndex(({ text }) => text === JSON.stringify(heard));
    if (back >= 0) this.reported.splice(0, back + 1);
    if (back >= 0 || !isMoved || this.reported.length) return false;
    this.choice = heard;
    return true;
  }

  /** Whether the page's chosen token is the one in this view: the view of the page's output. */
  get holdsToken() {
    return Boolean(this.data?.output);
  }

  /** Choose a token from anywhere on the page. @param {import("./token.js").ChosenToken} token */
  chooseToken(token) {
    const tokens = this.run?.sides[token.stack]?.tokens ?? [];
    if (this.choice && token.position < tokens.length) this.change(choosing(this.run, this.choice, token));
  }

  /** Leave for the question why the model wrote a word. @param {number} word its index */
  askWhy(word) {
    // With the choice, which may not have been reported yet: a component reports one thing per run of the page.
    this.selection.forget();
    this.host.select({ ...this.choice, why: word });
  }

  /** Escape frees the page's chosen token, unless it means something else where the focus is. @param {KeyboardEvent} event */
  release(event) {
    if (event.key !== "Escape" || event.defaultPrevented || !this.holdsToken) return;
    const path = event.composedPath().filter((node) => node instanceof Element);
    if (path.some((node) => node.matches("input, textarea, select, [role=dialog]"))) return;
    if (this.choice?.cell || this.choice?.locked) this.change({ cell: null, locked: null });
  }

  /** Change the choice. @param {Partial<Choice>} changed */
  change(changed) {
    if (!this.choice) return;
    const before = this.choice;
    const after = possible({ ...before, ...changed }, this.run);
    const isElsewhere =
      ["attention", "layer", "head"].some((name) => name in changed) && !("cell" in changed);
    this.choice = isElsewhere ? { ...after, cell: keptCell(this.run, before, after) } : after;
    this.show();
    this.selection.report(this.choice, SETTLED);
  }

  place() {
    this.panels.width = this.width;
    this.show();
  }

  show() {
    const { run, choice, data } = this;
    if (!choice) return;
    run.missing.clear();
    this.bars.show(run, choice, this.width);
    const scene = this.panels.show(run, choice, data);
    this.request([]);
    this.texts.run(() => this.write(scene));
  }

  /** Write what is said about the pictures. @param {import("./panels.js").Scene} scene */
  write(scene) {
    const { data } = this;
    const { run, choice, cell } = scene;
    const [encoder, decoder] = /** @type {const} */ (["encoder", "decoder"]).map((stack) =>
      chosenIn(run, choice, stack),
    );
    this.output.show(run, data, decoder);
    const { why } = data;
    this.output.offer(why, why && choice.cell ? chosenIn(run, choice, why.stack) : undefined);
    // Until the numbers are here, writing would take the time in which they are requested.
    if (!this.panels.write(scene, data)) return;
    if (this.holdsToken)
      tellChosen({ encoder, decoder, shown: chosenIn(run, { ...choice, cell }, "decoder") });
    this.request(this.panels.ahead(run, choice));
  }

  /** Request what is missing, and then what is likely to be. @param {string[]} ahead */
  request(ahead) {
    const { run } = this;
    if (!run.absent && !this.isAwaited) this.fetching.want(run.missing, ahead);
  }

  /** Stop asking: otherwise requests that nobody answers would rerun the page forever. */
  end() {
    super.end();
    this.fetching.forget();
    this.texts.drop();
    this.panels.end();
    this.leave();
    this.ignore();
    document.removeEventListener("keydown", this.onKey);
    if (this.holdsToken) forgetChosen();
  }

  /** The choice arrives in a message of its own, perhaps late. */
  get isPending() {
    return !this.choice || super.isPending || this.fetching.isWaiting || this.texts.isWaiting;
  }

  state() {
    return { choice: this.choice, ...this.panels.state() };
  }
}

export const mount = mounting(
  AttentionViewer,
  "attention",
  style + grid + matrix + table + map + rows + cell,
);

const draw = forStreamlit(mount);
const render = forAnywidget(mount);

/**
 * Streamlit calls this with a component to draw; anywidget calls it without arguments to get `render`.
 * @param {import("../mount.js").Component} [component]
 */
export default (component) => (component ? draw(component) : { render });
