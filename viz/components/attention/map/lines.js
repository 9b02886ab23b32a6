// @ts-check
// Draws the lines and arcs of a link; their opacity is the weight.

/** @typedef {import("./layout.js").MapLayout} MapLayout */
/** @typedef {import("./links.js").Link} Link */
/** @typedef {import("../../shared/canvas.js").Pen} Pen */

/**
 * What lines are drawn with.
 * @typedef {object} Drawing
 * @property {MapLayout} at
 * @property {import("./strokes.js").Stroke[]} strokes of all heads
 * @property {number[]} shown heads
 * @property {number} share of each row's attention that has lines
 * @property {number} top the weight of a line that is opaque
 * @property {number} scrolled
 */

/** A fainter line changes no pixel visibly. */
const FAINTEST = 0.012;
/** A fainter line is one pixel wide, which takes a quarter of the time to draw. */
const FAINT = 0.15;
/** The shortest reach of an arc, as a share of the width for arcs. */
const SHORTEST = 0.3;

/**
 * Draw the lines of a query, or only the one to a key. Each head starts at a height of its own, so that lines between
 * the same two tokens do not hide each other.
 * @param {Pen} pen
 * @param {Drawing} drawing
 * @param {Link} link
 * @param {number} query
 * @param {number} [only] the key
 */
export function drawLines(pen, drawing, link, query, only) {
  const { at, strokes, shown, share, top, scrolled } = drawing;
  const own = shown.filter((head) => head < link.heads.length);
  const apart = Math.min(3, (at.row - 8) / Math.max(1, own.length - 1));
  const draw = link.from === link.to ? arc : line;
  for (const [i, head] of own.entries()) {
    const kept = link.heads[head];
    if (!kept) continue;
    const row = kept.row(query);
    if (only !== undefined && row[only] < FAINTEST * top) continue;
    const keys = kept.of(query, share);
    if (only !== undefined && !keys.includes(only)) continue;
    const shift = (i - (own.length - 1) / 2) * apart;
    const start = at.seenAt(link.from, query, scrolled) + shift;
    pen.strokeStyle = strokes[head].color;
    pen.setLineDash(strokes[head].dash);
    for (const key of only === undefined ? keys : [only]) {
      const strength = Math.min(1, row[key] / top);
      if (strength < FAINTEST) continue;
      const end = at.seenAt(link.to, key, scrolled) + shift;
      if (!isSeen(at, start) && !isSeen(at, end)) continue;
      pen.globalAlpha = strength;
      pen.lineWidth = strength < FAINT ? 1 : 1.5 + 1.5 * strength;
      pen.beginPath();
      draw(pen, at, link, start, end);
      pen.stroke();
    }
  }
  pen.globalAlpha = 1;
  pen.setLineDash([]);
}

/** Whether a token at this height is visible: a line between two invisible ones is not drawn. @param {MapLayout} at @param {number} y */
const isSeen = ({ title, view, row }, y) => y > title - row && y < view + row;

/**
 * A line between the columns.
 * @param {Pen} pen
 * @param {MapLayout} at
 * @param {Link} link
 * @param {number} start
 * @param {number} end
 */
function line(pen, { boxes }, link, start, end) {
  const [left, right] = [boxes[0][1], boxes[1][0]];
  const [from, to] = link.from === 0 ? [left, right] : [right, left];
  const middle = (left + right) / 2;
  pen.moveTo(from, start);
  pen.bezierCurveTo(middle, start, middle, end, to, end);
}

/**
 * An arc on the outer side of a column, which bulges at the token that looks. A token that looks at itself has a
 * stub.
 * @param {Pen} pen
 * @param {MapLayout} at
 * @param {Link} link
 * @param {number} start
 * @param {number} end
 */
function arc(pen, { boxes, zone, row, counts }, link, start, end) {
  const column = link.from;
  const [edge, outwards] = column === 0 ? [boxes[0][0], -1] : [boxes[1][1], 1];
  const distance = Math.abs(end - start) / row / Math.max(2, counts[column] - 1);
  const reach = outwards * (zone - 4) * (SHORTEST + (1 - SHORTEST) * Math.sqrt(distance));
  pen.moveTo(edge, start);
  if (start === end) pen.lineTo(edge + outwards * zone * SHORTEST * 0.8, end);
  else pen.bezierCurveTo(edge + 1.55 * reach, start, edge + 0.6 * reach, end, edge, end);
}
