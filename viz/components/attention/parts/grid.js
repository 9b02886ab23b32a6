// @ts-check
// All heads of the chosen attention at a glance, by layer or ordered by a score.

import { GridView } from "../grid/grid.js";
import { ranked, SCORES } from "../grid/order.js";
import { PENDING } from "../matrix/describe.js";
import { fourDecimals } from "../matrix/numbers.js";
import { extremes, rangeFor } from "../range.js";
import { overview } from "../room.js";
import { Sheet } from "../sheet.js";
import { NumbersTable } from "../table/table.js";
import { partHost } from "./host.js";
import { ReceiptPart } from "./receipt.js";

/** @typedef {import("../panels.js").Scene} Scene */
/** @typedef {import("../grid/grid.js").GridData} GridData */

/** The note on a file that lacks the numbers of some heads. */
const INSTEAD = "These are weights: the numbers of the other heads are not in this file.";
const AXES = "Rows look (queries); columns are looked at (keys).";
/** The numbers of a map are requested when it has been pointed at for so many milliseconds. */
const REST = 150;

export class GridPart {
  look = "";
  /** @type {Scene} */
  scene;
  #timer = 0;

  /**
   * @param {HTMLElement} box
   * @param {(changed: any) => void} change
   * @param {(piece: string) => void} want called with a piece that the user points at
   */
  constructor(box, change, want) {
    this.box = box;
    this.want = want;
    this.view = new GridView(
      box,
      partHost(({ layer, head }) => change({ layer, head })),
    );
    this.view.build();
    this.view.onPoint = (map) => this.#point(map);
    this.table = new NumbersTable(box, "Table of these heads");
    this.receipt = new ReceiptPart(box);
  }

  /**
   * @param {Scene} scene
   * @param {import("../grid/maps.js").Maps} maps
   * @param {string} of what the maps depend on
   * @param {{width: number, beside: boolean, instead: boolean}} how the available width, whether the chosen picture
   *   is next to the grid, and whether weights replace unavailable numbers
   */
  show(scene, maps, of, { width, beside, instead }) {
    const { choice, run, attn } = scene;
    this.scene = scene;
    const order = orderOf(scene);
    this.receipt.show(scene);
    const scale = scaleOf(scene, maps, instead);
    const tall = overview(beside);
    const place = [tall, width, beside, ...Object.values(scale), document.fonts.status];
    const look = [of, choice.sort, order !== null, ...place].join();
    if (look === this.look && this.view.data.colors === scene.colors) {
      if (String(this.view.selected) !== String([choice.layer, choice.head])) {
        this.view.moveTo([choice.layer, choice.head]);
      }
      const { pointer } = this.view;
      if (pointer) this.view.point(this.view.find(pointer), pointer);
      return;
    }
    this.look = look;
    const shown = instead
      ? { ...scene, choice: { ...choice, measure: /** @type {const} */ ("weights") } }
      : scene;
    const fields = fieldsOf(shown, maps, order);
    const note = instead ? `${INSTEAD} ${fields.note}` : fields.note;
    this.view.data = { ...maps, ...scale, ...fields, note, tallest: tall };
    this.view.selected = [choice.layer, choice.head];
    this.view.update();
    this.table.show([run.id, attn.name, look], () => [headNumbers(this.view.data)]);
  }

  /** Request the numbers of a map that is pointed at. @param {import("../grid/grid.js").MapIndex | null} map */
  #point(map) {
    clearTimeout(this.#timer);
    const { run, attn } = this.scene;
    if (!map || !mayRequest(run) || run.hasHead(attn, ...map)) return;
    this.#timer = Number(setTimeout(() => this.want(`head:${attn.name}:${map.join(":")}`), REST));
  }

  /** Request nothing more. */
  end() {
    clearTimeout(this.#timer);
  }
}

/** Whether the numbers of a map are few enough to be requested for pointing at it. @param {import("../run.js").ViewerRun} run */
const mayRequest = (run) => run.whole && !run.absent;

/**
 * @param {Scene} scene
 * @param {import("../grid/maps.js").Maps} maps
 * @param {{numbers: number[], scores: Float32Array} | null} order
 */
function fieldsOf(scene, { isPooled }, order) {
  const { run, attn, choice, colors } = scene;
  const sheet = isPooled ? wholeSheet(scene) : scene.sheet;
  const { measure, sort } = choice;
  const columns = sheet.keys.length;
  /** @type {GridData["exact"]} */
  const exact = ([layer, head], rows, [first, end]) => {
    const known = !isPooled || run.hasHead(attn, layer, head);
    const values = known && sheet.values(isPooled ? "weights" : measure, layer, head);
    if (!values) return null;
    let most = -Infinity;
    for (let row = rows[0]; row < rows[1]; row++)
      for (let column = first; column < end; column++) most = Math.max(most, values[row * columns + column]);
    return most;
  };
  return {
    colors,
    title: `${attn.label} of every layer and head`,
    layers: Array.from({ length: attn.layers }, (_, layer) => `layer ${layer}`),
    heads: Array.from({ length: attn.heads }, (_, head) => `head ${head}`),
    queries: sheet.queries,
    keys: sheet.keys,
    roles: sheet.roles,
    order: order?.numbers ?? null,
    captions: order && captionsOf(order, attn.heads, sort),
    score: order ? SCORES[sort].score : "",
    exact,
    pending: mayRequest(run) ? PENDING : "",
    note: noteOf(scene, isPooled, order !== null),
    /** @type {[number, number]} */
    selected: [choice.layer, choice.head],
  };
}
/**
 * The maps' colour scale and label; pooled maps show weights whatever is chosen.
 * @param {Scene} scene
 * @param {import("../grid/maps.js").Maps} maps
 * @param {boolean} instead
 * @returns {Pick<GridData, "label" | "kind" | "range" | "hasLegend">}
 */
function scaleOf({ choice, label, kind, range }, maps, instead) {
  const isAlone = choice.view === "map";
  if (!maps.isPooled && !instead) return { label, kind, range, hasLegend: isAlone };
  const own = rangeFor("weights", 0, extremes(maps.high)[1]);
  const hasLegend = isAlone || choice.measure !== "weights" || String(own) !== String(range);
  return { label: "attention weight", kind: "weights", range: own, hasLegend };
}

/** A sheet of all tokens, as pooled maps have it. @param {Scene} scene */
const wholeSheet = ({ run, attn, choice }) =>
  new Sheet(run, attn, { ...choice, by: "token", special: "keep" });

/** The maps in the chosen order; null if by layer, and until the scores are here. @param {Scene} scene */
function orderOf({ run, attn, choice }) {
  if (choice.sort === "layer") return null;
  /** @type {Float32Array | null} */
  const scores = run.array(`${choice.sort === "cost" ? "costs" : "ranking"}:${attn.name}`, choice.sort);
  return scores && { numbers: ranked(scores, SCORES[choice.sort].rising), scores };
}

/**
 * @param {{numbers: number[], scores: Float32Array}} order
 * @param {number} heads
 * @param {string} sort
 */
function captionsOf({ numbers, scores }, heads, sort) {
  /** @type {import("../grid/grid.js").Caption[]} */
  const captions = [];
  for (const [rank, map] of numbers.entries()) {
    const [layer, head] = [Math.floor(map / heads), map % heads];
    captions[map] = {
      name: `layer ${layer}, head ${head}`,
      brief: `${layer}·${head}`,
      rank: `#${rank + 1}`,
      score: SCORES[sort].write(scores[map]),
      exact: scores[map],
    };
  }
  return captions;
}

/** @param {Scene} scene @param {boolean} isPooled @param {boolean} isOrdered */
function noteOf({ run, attn, sheet, choice }, isPooled, isOrdered) {
  const notes = [AXES];
  const [rows, columns] = run.size(attn);
  const [down, across] = [rows, columns].map((length) => Math.ceil(length / run.pooledSide));
  const hidesAny = !sheet.isPlain;
  if (isPooled) {
    if (down * across > 1) {
      notes.push(`A pixel shows the largest of up to ${down} × ${across} weights: no sharp peak is lost.`);
    }
    if (hidesAny) notes.push("These small heads show every token.");
  }
  if (isOrdered) {
    notes.unshift(SCORES[choice.sort].explanation);
    if (hidesAny) notes.push("The scores include every token.");
  }
  return notes.join(" ");
}

/** @param {GridData} data @returns {import("../table/table.js").Numbers} */
function headNumbers(data) {
  const { heads, queries, keys, strongest_query, strongest_key, high, captions, score, label } = data;
  const order = data.order ?? Array.from(high, (_, map) => map);
  const text = (/** @type {number} */ row, /** @type {(value: number) => string | number} */ write) => {
    const map = order[row];
    const [query, key] = [strongest_query[map], strongest_key[map]];
    const pair = query < 0 ? ["every cell is closed", "", ""] : [queries[query], keys[key], write(high[map])];
    const caption = captions?.[map];
    return [...pair, ...(caption ? [caption.rank.slice(1), write(caption.exact)] : [])];
  };
  return {
    caption: data.title,
    corner: "head",
    columns: ["strongest: query", "key", label, ...(captions ? ["rank", score] : [])].map((name) => [
      "",
      name,
    ]),
    rows: order.map((map) => ["", `layer ${Math.floor(map / heads.length)}, head ${map % heads.length}`]),
    cells: (row) => text(row, fourDecimals).map(String),
    exact: (row) => text(row, (value) => value),
  };
}
