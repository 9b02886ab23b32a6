// @ts-check
// The chosen token: every picture of the viewer follows it, as a query or as a key.

/** @typedef {import("./choice.js").Choice} Choice */
/** @typedef {import("./run.js").ViewerRun} ViewerRun */
/** @typedef {import("./run.js").AttentionView} AttentionView */
/** @typedef {{stack: import("./run.js").Stack, position: number}} ChosenToken a decoder's position stands for the token written there */

/**
 * The choice of a token: its row, or its column where it is only looked at, in an attention that has it.
 * @param {ViewerRun} run
 * @param {Choice} choice
 * @param {ChosenToken} token
 * @returns {Partial<Choice>}
 */
export function choosing(run, choice, { stack, position }) {
  const now = run.attn(choice.attention);
  const asQueries = run.attentions.filter(({ queries }) => queries === stack);
  const attn = [now.queries, now.keys].includes(stack) ? now : (asQueries.at(-1) ?? now);
  const isQuery = attn.queries === stack;
  const other = strongestOther(run, attn, choice, position, isQuery);
  return {
    attention: attn.name,
    cell: isQuery ? [position, other] : [other, position],
    locked: [columnOf(run, choice, attn, stack), position],
  };
}

/**
 * The chosen token; null if none is.
 * @param {ViewerRun} run
 * @param {Choice} choice
 * @param {import("./run.js").Stack} stack
 * @returns {number | null} its position in this stack
 */
export function chosenIn(run, { attention, cell }, stack) {
  const { queries, keys } = run.attn(attention);
  if (!cell || ![queries, keys].includes(stack)) return null;
  return queries === stack ? cell[0] : cell[1];
}

/**
 * The cell of another head, layer or attention: the chosen query keeps its row, if it has one there.
 * @param {ViewerRun} run
 * @param {Choice} before
 * @param {Choice} after
 * @returns {Choice["cell"]}
 */
export function keptCell(run, before, after) {
  const [from, to] = [run.attn(before.attention), run.attn(after.attention)];
  if (!before.cell || from.queries !== to.queries) return null;
  const [query] = before.cell;
  return from.keys === to.keys ? before.cell : [query, strongestOther(run, to, after, query, true)];
}

/**
 * The position with the largest weight in a row, or in a column; 0 while the weights are missing.
 * @param {ViewerRun} run
 * @param {AttentionView} attn
 * @param {{layer: number, head: number}} choice
 * @param {number} position
 * @param {boolean} isRow
 */
export function strongestOther(run, attn, { layer, head }, position, isRow) {
  const [queries, keys] = run.size(attn);
  const weights = run.weights(attn, Math.min(layer, attn.layers - 1), Math.min(head, attn.heads - 1));
  let best = 0;
  const at = (/** @type {number} */ other) =>
    weights?.[isRow ? position * keys + other : other * keys + position] ?? 0;
  for (let other = 1; other < (isRow ? keys : queries); other++) if (at(other) > at(best)) best = other;
  return best;
}

/** The token's column among the lines; see `parts/map.js`. @param {ViewerRun} run @param {Choice} choice @param {AttentionView} attn @param {string} stack */
function columnOf(run, { families }, attn, stack) {
  const hasAll = families === "all" && run.attentions.length > 1;
  return (hasAll ? stack === "encoder" : stack === attn.queries) ? 0 : 1;
}
