// @ts-check
// The chosen layer as lines: the chosen attention, or all attentions of the run.

import { div } from "../../shared/dom.js";
import { clamp } from "../../shared/numbers.js";
import { hiddenMass, Kept } from "../map/kept.js";
import { MapView } from "../map/map.js";
import { rangeFor } from "../range.js";
import { Sheet } from "../sheet.js";
import { sayAbsent } from "./absent.js";

/** @typedef {import("../panels.js").Scene} Scene */
/** @typedef {import("../run.js").AttentionView} AttentionView */
/** @typedef {import("../map/links.js").Column} Column */
/** @typedef {import("../map/links.js").Link} Link */

/** Titles of the columns in a picture of all attentions. */
const TITLES = { encoder: "source", decoder: "target" };

export class MapPart {
  look = "";
  /** Cached sheets and heads, by attention, layer and head. @type {Map<string, any>} */
  #known = new Map();

  /** @param {HTMLElement} parent @param {(changed: any) => void} change */
  constructor(parent, change) {
    this.box = div("hl-part hl-map");
    parent.append(this.box);
    this.view = new MapView(this.box, change);
    this.view.build();
  }

  /** @param {Scene} scene */
  show(scene) {
    const { run, choice, attn, colors } = scene;
    const look = [run.id, choice.by, choice.special, choice.rows].join();
    if (look !== this.look) this.#known.clear();
    this.look = look;
    const hasAll = choice.families === "all" && run.attentions.length > 1;
    const attentions = hasAll ? run.attentions : [attn];
    const sheets = attentions.map((own) => this.#once(own.name, () => new Sheet(run, own, choice)));
    const columns = hasAll ? bothColumns(sheets, choice) : ownColumns(sheets[0]);
    const most = Math.max(...attentions.map(({ heads }) => heads));
    const shown = choice.heads ?? Array.from({ length: most }, (_, head) => head);
    const links = sheets.map((sheet) => this.#link(sheet, choice, shown, hasAll ? columns : null));
    const heads = links.flatMap((link) =>
      shown.filter((head) => head < link.heads.length).map((head) => link.heads[head]),
    );
    this.view.data = {
      colors,
      title: hasAll ? `All attention of layer ${choice.layer}` : `${attn.label} of layer ${choice.layer}`,
      run: run.id,
      columns,
      links,
      heads: most,
      shown,
      mass: choice.mass,
      locked: choice.locked,
      top: rangeFor("weights", 0, Math.max(0, ...heads.map((head) => head?.largest ?? 0)))[1],
      coming: heads.filter((head) => !head).length,
      special: choice.special,
      hidden: sheets.map((sheet, i) => this.#hidden(sheet, links[i].layer, choice, shown)),
      families: run.attentions.length > 1 ? choice.families : null,
    };
    sayAbsent(this.box, heads.includes(null) ? run.absent : "");
    this.view.update();
  }

  /**
   * @param {Sheet} sheet
   * @param {import("../choice.js").Choice} choice
   * @param {number[]} shown
   * @param {Column[] | null} columns one per stack; null if queries and keys have one each
   * @returns {Link}
   */
  #link(sheet, choice, shown, columns) {
    const { attn, keys } = sheet;
    const layer = clamp(choice.layer, 0, attn.layers - 1);
    const column = (/** @type {string} */ stack) => columns?.findIndex((own) => own.stack === stack) ?? 0;
    const heads = Array.from({ length: attn.heads }, (_, head) =>
      shown.includes(head) ? this.#head(sheet, layer, head, keys.length) : null,
    );
    const [from, to] = columns ? [column(attn.queries), column(attn.keys)] : [0, 1];
    return { label: attn.label, layer, from, to, heads };
  }

  /** @param {Sheet} sheet @param {number} layer @param {number} head @param {number} keys @returns {Kept | null} */
  #head(sheet, layer, head, keys) {
    return this.#once([sheet.attn.name, layer, head].join(), () => {
      const weights = sheet.values("weights", layer, head);
      return weights && new Kept(weights, keys);
    });
  }

  /** @param {Sheet} sheet @param {number} layer @param {import("../choice.js").Choice} choice @param {number[]} shown */
  #hidden(sheet, layer, { special }, shown) {
    if (special === "keep") return null;
    const heads = shown.filter((head) => head < sheet.attn.heads);
    const here = heads.filter((head) => this.#known.has([sheet.attn.name, layer, head].join()));
    return this.#once(["hidden", sheet.attn.name, layer, ...here].join(), () =>
      hiddenMass(sheet, layer, here),
    );
  }

  /** Get a value from the cache, or make it; a null is not cached. @param {string} name @param {() => any} make */
  #once(name, make) {
    const made = this.#known.get(name) ?? make();
    if (made !== null) this.#known.set(name, made);
    return made;
  }
}

/** Queries on the left, keys on the right. @param {Sheet} sheet @returns {Column[]} */
const ownColumns = ({ attn, queries, keys, groups }) => [
  { title: "queries", stack: attn.queries, labels: queries, groups: groups[0] },
  { title: "keys", stack: attn.keys, labels: keys, groups: groups[1] },
];

/**
 * The source on the left, the target on the right.
 * @param {Sheet[]} sheets
 * @param {import("../choice.js").Choice} choice
 * @returns {Column[]}
 */
function bothColumns(sheets, { rows }) {
  return /** @type {const} */ (["encoder", "decoder"]).map((stack) => {
    const asQueries = sheets.find(({ attn }) => attn.queries === stack);
    const asKeys = sheets.find(({ attn }) => attn.keys === stack);
    const read = asKeys?.keys ?? asQueries?.queries ?? [];
    // A query is named by the token written after it; the same token as a key, by the token read.
    const isWritten = rows === "written" && asQueries && stack === "decoder";
    const labels = isWritten ? read.map((token, i) => `${token} → ${asQueries.queries[i]}`) : read;
    const groups = asKeys?.groups[1] ?? asQueries?.groups[0] ?? [];
    return { title: TITLES[stack], stack, labels, groups };
  });
}
