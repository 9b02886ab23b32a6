// @ts-check
// Paints a moment of the path: vectors and matrices as coloured cells, scores and weights as bars, words as chips.

import { clipped, fillBox, fontOf, hatching, raster, strokeBox, write } from "../shared/canvas.js";
import { css, pixel, ramp, shade } from "../shared/color.js";
import { fixed, grouped, percent } from "../shared/numbers.js";
import { BAR_NUMBER, SIZE } from "./layout.js";
import { ARRIVAL, within } from "./motion.js";

/** @typedef {import("./layout.js").Step} Step */
/** @typedef {import("./layout.js").Part} Part */
/** @typedef {import("./layout.js").Scene} Scene */
/** @typedef {import("./layout.js").Role} Role */
/** @typedef {import("./motion.js").Shown} Shown */
/** @typedef {import("../shared/canvas.js").Box} Box */
/** @typedef {import("../shared/canvas.js").Pen} Pen */
/** @typedef {import("../shared/color.js").Colors} Colors */
/** @typedef {{step: Step, scene: Scene}} Drawn */

/** Line patterns of the roles, so that they differ without colour. @type {Record<Role, number[]>} */
const DASHES = { in: [], with: [5, 4], out: [], kept: [] };
const WIDTHS = { in: 2, with: 2, out: 3, kept: 0 };
/** Categorical colours of the roles. @type {Record<Role, number>} */
const PLACES = { in: 0, with: 2, out: 1, kept: 0 };

/** The colour of a role. @param {Colors} colors @param {Role} role */
export const colorOf = ({ categorical }, role) => categorical[PLACES[role]];

/** The number of a bar, with as many decimals as the others. @param {Part} part @param {number} value */
export function written({ is_share, name }, value) {
  if (name === "probabilities") return percent(value);
  return is_share && value > 0 && value < 0.005 ? "< 0.01" : fixed(value, 2);
}

export class Painter {
  /** Images of cells, by the name of their numbers and their scale. @type {Map<string, HTMLCanvasElement>} */
  images = new Map();

  /** @param {Colors} colors @param {(name: string) => Float32Array | Uint8Array} numbers */
  constructor(colors, numbers) {
    this.colors = colors;
    this.numbers = numbers;
    this.shades = { signed: ramp(colors.diverging).map(pixel), share: ramp(colors.sequential).map(pixel) };
    this.ink = { low: css(ramp(colors.diverging)[40]), high: css(ramp(colors.diverging)[215]) };
  }

  /**
   * @param {Pen} pen
   * @param {Drawn} now
   * @param {Drawn | null} before
   * @param {Shown[]} shown
   * @param {number} t
   */
  paint(pen, now, before, shown, t) {
    for (const one of shown) {
      const { step } = one.isPast && before ? before : now;
      pen.globalAlpha = one.alpha;
      if (one.alpha > 0) this.actor(pen, step, one);
    }
    pen.globalAlpha = 1;
    this.outlines(pen, now.step, shown);
    this.texts(pen, now, before, shown, t);
    pen.globalAlpha = 1;
  }

  /** @param {Pen} pen @param {Step} step @param {Shown} one */
  actor(pen, step, one) {
    const part = step.parts[one.actor.part];
    const { box } = one;
    switch (part.form) {
      case "bars":
        return this.bars(pen, step, part, one);
      case "words":
        return this.word(pen, part, one);
      case "number":
        return this.number(pen, part, box);
      default:
        return this.cells(pen, step, part, one);
    }
  }

  /** @param {Pen} pen @param {Step} step @param {Part} part @param {Shown} one */
  cells(pen, step, part, { actor, box, grown, alpha, isGhost }) {
    const isSum = step.motion === "average" && part.role === "out" && grown;
    if (step.motion === "average" && isGhost) pen.globalAlpha = alpha * this.shareOf(step, actor.row);
    const image = isSum ? this.partialSum(step, part, grown) : this.imageOf(part, actor.row);
    const share = grown && !isSum ? grown[0] : 1;
    // Cells narrower than a pixel are averaged, so that none is left out.
    pen.imageSmoothingEnabled = image.width > box[2] || image.height > box[3];
    clipped(pen, [box[0], box[1], box[2] * share, box[3]], () => pen.drawImage(image, ...box));
    pen.imageSmoothingEnabled = false;
    if (!isGhost) strokeBox(pen, this.colors.muted, 0.5, box);
  }

  /** A weight relative to the largest. @param {Step} step @param {number} row */
  shareOf(step, row) {
    const weights = this.numbers(step.parts[0].array);
    return weights[row] / Math.max(...weights);
  }

  /** The image of a vector, or of a matrix. @param {Part} part @param {number} row */
  imageOf(part, row) {
    const name = `${part.array} ${row} ${part.form} ${part.scale}`;
    const known = this.images.get(name);
    if (known) return known;
    const all = this.numbers(part.array);
    const isMatrix = part.form === "weights";
    const n = part.form === "strip" ? all.length : all.length / this.rowsOf(part, all);
    const image = this.draw(part, isMatrix ? all : all.subarray(row * n, (row + 1) * n), n);
    this.images.set(name, image);
    return image;
  }

  /** The rows of a matrix as it was sent. @param {Part} part @param {ArrayLike<number>} all */
  rowsOf({ form, ids, sizes }, all) {
    if (form === "rows") return ids.length;
    // Reduced in blocks to at most 64 rows.
    return all.length ? Math.min(sizes[0], 64) : 1;
  }

  /** @param {Part} part @param {ArrayLike<number>} values @param {number} width */
  draw({ scale: [low, high], is_share }, values, width) {
    const shades = this.shades[is_share ? "share" : "signed"];
    return raster(
      Uint32Array.from(values, (value) => shades[shade((value - low) / (high - low))]),
      width,
    );
  }

  /** The average of the values so far. @param {Step} step @param {Part} part @param {number[]} grown */
  partialSum(step, part, grown) {
    const [weights, values] = [this.numbers(step.parts[0].array), this.numbers(step.parts[1].array)];
    const n = part.sizes[0];
    const sum = new Float32Array(n);
    for (const [row, share] of grown.entries())
      for (let i = 0; i < n; i++) sum[i] += share * weights[row] * values[row * n + i];
    return this.draw(part, sum, n);
  }

  /** @param {Pen} pen @param {Step} step @param {Part} part @param {Shown} one */
  bars(pen, step, part, { box, grown }) {
    const values = this.numbers(part.array);
    const closed = part.is_closed ? this.numbers(`${part.array}closed`) : null;
    const from = step.motion === "column" && grown ? step.parts[0] : null;
    const start = from && this.numbers(from.array);
    const [x, y, width, height] = box;
    const n = values.length;
    const tall = height / n;
    const bounds = [Math.min(0, part.scale[0]), Math.max(0, part.scale[1])];
    const room = Math.max(20, width - BAR_NUMBER);
    const place = (/** @type {number} */ value, /** @type {number[]} */ [low, high]) =>
      ((value - low) / (high - low)) * room;
    fillBox(pen, this.colors.surface, [x, y, room, height]);
    const stripes = closed && hatching(pen, this.colors.hatch);
    for (let row = 0; row < n; row++) {
      const share = grown ? (grown[row] ?? grown[0]) : 1;
      const line = /** @type {Box} */ ([x, y + row * tall + 2, room, tall - 4]);
      if (closed?.[row]) {
        pen.save();
        pen.globalAlpha *= share;
        fillBox(pen, this.colors.masked, line);
        if (stripes) fillBox(pen, stripes, line);
        pen.restore();
        this.figure(pen, part.is_share ? "0" : "−∞", box, row, tall);
        continue;
      }
      let [zero, end] = [place(0, bounds), place(values[row], bounds)];
      if (from && start && Number.isFinite(start[row])) {
        const old = [Math.min(0, from.scale[0]), Math.max(0, from.scale[1])];
        [zero, end] = [
          place(0, old) + share * (zero - place(0, old)),
          place(start[row], old) + share * (end - place(start[row], old)),
        ];
      } else end = zero + share * (end - zero);
      const color = part.is_share ? this.colors.accent : values[row] < 0 ? this.ink.low : this.ink.high;
      fillBox(pen, color, [x + Math.min(zero, end), line[1], Math.max(1, Math.abs(end - zero)), line[3]]);
      if (share > 0.9) this.figure(pen, written(part, values[row]), box, row, tall);
    }
    if (bounds[0] < 0) fillBox(pen, this.colors.muted, [x + place(0, bounds), y, 1, height]);
  }

  /** The number next to a bar. @param {Pen} pen @param {string} text @param {Box} box @param {number} row @param {number} tall */
  figure(pen, text, [x, y, width], row, tall) {
    write(pen, text, [x + width, y + (row + 0.5) * tall], {
      font: fontOf(pen.canvas, SIZE),
      color: this.colors.text,
      align: "right",
    });
  }

  /** @param {Pen} pen @param {Part} part @param {Shown} one */
  word(pen, { labels, marked }, { actor, box: [x, y, width, height] }) {
    const isMarked = actor.row === marked;
    fillBox(pen, this.colors.surface, [x, y, width, height]);
    strokeBox(pen, isMarked ? this.colors.accent : this.colors.grid, isMarked ? 3 : 1, [x, y, width, height]);
    write(pen, labels[actor.row], [x + width / 2, y + height / 2], {
      font: fontOf(pen.canvas, SIZE, isMarked ? 650 : 400),
      color: this.colors.text,
      align: "center",
      limit: width - 8,
    });
  }

  /** @param {Pen} pen @param {Part} part @param {Box} box */
  number(pen, { sign, name, array, role }, [x, y, width, height]) {
    const value = this.numbers(array)[0];
    const written = Number.isInteger(value) ? grouped(value) : fixed(value, 3);
    const text = `${sign ? `${sign} ` : ""}${name} = ${written}`;
    write(pen, text, [x, y + height / 2], {
      font: fontOf(pen.canvas, SIZE, role === "out" ? 650 : 400),
      color: this.colors.text,
      limit: width,
    });
  }

  /** Frame each part in the pattern and colour of its role. @param {Pen} pen @param {Step} step @param {Shown[]} shown */
  outlines(pen, step, shown) {
    for (const [i, { role, form, marked }] of step.parts.entries()) {
      if (form === "words" || form === "number" || role === "kept") continue;
      const own = shown.filter(({ actor, isGhost, isPast }) => actor.part === i && !isGhost && !isPast);
      if (!own.length || own.some(({ alpha }) => alpha < 0.5)) continue;
      // Rows arrive one by one: their frame waits for them in its place.
      const boxes = own.map(({ actor, box }) => (form === "rows" && role === "out" ? actor.box : box));
      const [x, y] = [0, 1].map((axis) => Math.min(...boxes.map((box) => box[axis])));
      const [right, bottom] = [0, 1].map((axis) =>
        Math.max(...boxes.map((box) => box[axis] + box[axis + 2])),
      );
      const inset = form === "bars" ? BAR_NUMBER : 0;
      pen.setLineDash(DASHES[role]);
      strokeBox(pen, colorOf(this.colors, role), WIDTHS[role], [
        x - 2,
        y - 2,
        right - x + 4 - inset,
        bottom - y + 4,
      ]);
      pen.setLineDash([]);
      const one =
        marked === null || form !== "rows" ? undefined : own.find(({ actor }) => actor.row === marked);
      if (one) strokeBox(pen, this.colors.text, 1.5, one.box);
    }
    for (const { actor, box, alpha, isGhost, isPast } of shown) {
      if (!isGhost || isPast || alpha < 0.2) continue;
      pen.globalAlpha = alpha;
      strokeBox(pen, colorOf(this.colors, step.parts[actor.part].role), 1.5, box);
    }
    pen.globalAlpha = 1;
  }

  /** @param {Pen} pen @param {Drawn} now @param {Drawn | null} before @param {Shown[]} shown @param {number} t */
  texts(pen, { step, scene }, before, shown, t) {
    const arrival = within(t, 0, ARRIVAL);
    for (const text of scene.texts) {
      const mover = shown.find(
        ({ actor, isGhost, isPast }) => actor.part === text.part && !isGhost && !isPast,
      );
      const place = scene.actors.find(({ part }) => part === text.part);
      const isOut = text.part >= 0 && step.parts[text.part].role === "out";
      let at = text.at;
      let alpha = isOut ? within(t, ARRIVAL, ARRIVAL + 0.15) : arrival;
      if (mover && place && !isOut) {
        at = [at[0] + mover.box[0] - place.box[0], at[1] + mover.box[1] - place.box[1]];
        alpha = mover.alpha;
      }
      const old =
        text.part < 0
          ? before?.scene.texts.find(
              (one) => one.part < 0 && one.text === text.text && Math.abs(one.at[1] - text.at[1]) < 400,
            )
          : null;
      if (old) {
        at = [old.at[0] + (at[0] - old.at[0]) * arrival, old.at[1] + (at[1] - old.at[1]) * arrival];
        alpha = 1;
      }
      pen.globalAlpha = alpha;
      write(pen, text.text, at, {
        font: fontOf(pen.canvas, SIZE, text.isMarked || text.part >= 0 ? 650 : 400),
        color: text.isMarked ? this.colors.accent : this.colors.text,
        align: text.isRight ? "right" : "left",
        limit: text.limit,
      });
    }
  }
}
