// @ts-check
// The SVG shapes of the tree; their classes give their look after a step.

import { shorten } from "../shared/canvas.js";
import { svg } from "../shared/dom.js";
import { format, grouped, percent } from "../shared/numbers.js";
import { ROW } from "./layout.js";

/** @typedef {import("./layout.js").TreeLayout} TreeLayout */

/**
 * The label of the line between a column's kept and pruned candidates.
 * @param {number | null} cut
 */
export const cutLabel = (cut) => (cut === null ? "out" : `score below ${format(cut)}: out`);

/** @param {number} depth */
export const stepName = (depth) => `step ${depth - 1}`;

/**
 * The name of a column, and the line in it.
 * @param {TreeLayout} at
 * @param {import("./beam_tree.js").TreeData} data
 * @param {number} depth
 */
export function head(at, data, depth) {
  const { x, y, width, cuts } = at.cuts[depth];
  const text = (/** @type {number} */ from, /** @type {string} */ words, className = "") =>
    svg("text", { x: x + width / 2, y: from, "text-anchor": "middle", class: className }, words);
  const name = depth === 0 ? "start" : depth < data.given ? "given" : stepName(depth);
  const group = svg("g", { class: "head" }, text(20, name));
  if (!cuts) return group;
  const line = svg("line", { x1: x - 10, x2: x + width + 10, y1: y + 16, y2: y + 16 });
  group.append(line, text(y + 11, cutLabel(data.cuts[depth]), "cut"));
  const more = data.more[depth];
  const bottom = Math.max(...at.columns[depth].map((i) => at.boxes[i].y)) + ROW.height + 16;
  if (more) group.append(text(bottom, `+ ${grouped(more)} more`));
  return group;
}

/**
 * The line from a node to a child.
 * @param {TreeLayout} at
 * @param {number} parent
 * @param {number} i
 */
export function edge(at, parent, i) {
  const [from, to] = [at.boxes[parent], at.boxes[i]];
  const [x1, y1] = [from.x + from.width, from.y + from.height / 2];
  const [x2, y2] = [to.x, to.y + to.height / 2];
  const bend = (x2 - x1) / 2;
  return svg("path", { d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` });
}

/**
 * A node: its token, and its probability as number and bar.
 * @param {TreeLayout} at
 * @param {import("../shared/canvas.js").Pen} pen in the font of tokens
 * @param {number} i
 * @param {{onclick: () => void, ondblclick: () => void}} actions
 */
export function mark(at, pen, i, actions) {
  const { token, probability, kind } = at.nodes[i];
  const { x, y, width, height } = at.boxes[i];
  const rx = kind === "ended" ? height / 2 : 6;
  const bar = { x: x + 8, y: y + height - 6, width: (width - 16) * probability, height: 3, class: "bar" };
  const chance = { x: x + width - 9, y: y + 20, "text-anchor": "end", class: "chance" };
  return svg(
    "g",
    { "data-node": i, ...actions },
    svg("title", {}, token),
    svg("rect", { x, y, width, height, rx, class: "box" }),
    svg("rect", bar),
    svg("text", { x: x + 10, y: y + 20, class: "token" }, shorten(pen, token, width - 84)),
    svg("text", chance, percent(probability)),
  );
}
