// @ts-check
// Paints a stage's pictures: each one's cells as an image, with names, labels and scales around them.

import { clipped, fillBox, fontOf, hatching, raster, strokeBox, write } from "../shared/canvas.js";
import { css, inkOn, pixel, ramp, rgbOf, shade } from "../shared/color.js";
import { format, grouped } from "../shared/numbers.js";
import { every, isNamed, LINE, OVERHANG, SIZE } from "./layout.js";

/** @typedef {import("./layout.js").Picture & {values: Float32Array, closed?: Uint8Array}} Filled */
/** @typedef {import("./layout.js").Place} Place */
/** @typedef {import("./layout.js").Axis} Axis */
/** @typedef {import("../shared/canvas.js").Pen} Pen */
/** @typedef {import("../shared/canvas.js").Box} Box */
/** @typedef {{pen: Pen, colors: import("../shared/color.js").Colors}} Brush */

const SCALE = 70;

/** The colours of a picture's numbers. @param {Filled} picture @param {import("../shared/color.js").Colors} colors */
const stops = ({ kind }, colors) => (kind === "signed" ? colors.diverging : colors.sequential);

/** Whether its colours carry information: not for a single number. @param {Filled} picture */
const isColored = ({ kind, values }) => (kind === "signed" || kind === "share") && values.length > 1;

/**
 * An image with one pixel per cell; null if cells have no colour.
 * @param {Filled} picture
 * @param {import("../shared/color.js").Colors} colors
 */
export function image(picture, colors) {
  const { values, closed, range, columns } = picture;
  if (!isColored(picture)) return null;
  const shades = ramp(stops(picture, colors)).map(pixel);
  const [low, high] = range;
  const [masked, broken] = [colors.masked, colors.grid].map((color) => pixel(rgbOf(color)));
  const pixels = Uint32Array.from(values, (value, i) =>
    closed?.[i] ? masked : Number.isNaN(value) ? broken : shades[shade((value - low) / (high - low))],
  );
  return raster(pixels, columns.labels.length);
}

/**
 * Paint the cells of a picture.
 * @param {Brush} brush
 * @param {Filled} picture
 * @param {HTMLCanvasElement | null} cells
 * @param {Box} box
 */
export function paintCells({ pen, colors }, picture, cells, box) {
  // Cells narrower than a pixel are averaged, so that none is left out.
  pen.imageSmoothingEnabled = cells !== null && (cells.width > box[2] || cells.height > box[3]);
  pen.imageSmoothingQuality = "high";
  if (cells) pen.drawImage(cells, ...box);
  else fillBox(pen, colors.surface, box);
  pen.imageSmoothingEnabled = false;
  if (picture.closed) hatch({ pen, colors }, picture, box);
  const [x, y, width, height] = box;
  strokeBox(pen, colors.muted, 1, [x - 0.5, y - 0.5, width + 1, height + 1]);
}

/** @param {Brush} brush @param {Filled} picture @param {Box} box */
function hatch({ pen, colors }, { closed, columns, rows }, [x, y, width, height]) {
  const [wide, tall] = [width / columns.labels.length, height / rows.labels.length];
  if (wide < 4 || tall < 4) return;
  const stripes = hatching(pen, colors.hatch);
  for (const [i, is] of (closed ?? []).entries()) {
    const [row, column] = [Math.floor(i / columns.labels.length), i % columns.labels.length];
    if (is) fillBox(pen, stripes, [x + column * wide, y + row * tall, wide, tall]);
  }
}

/**
 * Paint everything on and around the cells of a picture at rest.
 * @param {Brush} brush
 * @param {Filled} picture
 * @param {Place} place
 */
export function paintWords(brush, picture, place) {
  const { pen, colors } = brush;
  const [x, y] = [place.x, place.y];
  const bold = { font: fontOf(pen.canvas, SIZE + 1, 650), color: colors.text };
  if (picture.sign) {
    const font = fontOf(pen.canvas, SIZE + 4, 600);
    write(pen, picture.sign, [place.left + 8, place.middle], {
      font,
      color: colors.text,
      limit: place.x - place.labels - place.left,
    });
  }
  write(pen, picture.name, [x, y - place.head + 10], { ...bold, limit: place.full - place.labels });
  rowLabels(brush, picture, place);
  columnLabels(brush, picture, place);
  numbers(brush, picture, place);
  foot(brush, picture, place);
  if (picture.marked !== null)
    strokeBox(pen, colors.accent, 2, [x, y + picture.marked * place.tall, place.width, place.tall]);
}

/** @param {Brush} brush @param {Filled} picture @param {Place} place */
function rowLabels({ pen, colors }, { rows, marked }, place) {
  if (!isNamed(rows) || !place.labels) return;
  const step = every(place.tall, SIZE + 2);
  for (let row = 0; row < rows.labels.length; row += step) {
    const isMarked = row === marked;
    write(pen, rows.labels[row], [place.x - 6, place.y + (row + 0.5) * place.tall], {
      font: fontOf(pen.canvas, SIZE, isMarked ? 650 : 400),
      color: isMarked ? colors.accent : rows.has_words ? colors.text : colors.muted,
      align: "right",
      limit: place.labels - 8,
    });
  }
}

/** @param {Brush} brush @param {Filled} picture @param {Place} place */
function columnLabels({ pen, colors }, { columns }, place) {
  if (!isNamed(columns)) return;
  const font = fontOf(pen.canvas, SIZE);
  if (!columns.has_words) {
    const step = every(place.wide, 34);
    for (let column = 0; column < columns.labels.length; column += step) {
      const at = /** @type {[number, number]} */ ([place.x + (column + 0.5) * place.wide, place.y - 9]);
      // In a narrow column the first number is left-aligned.
      const align = column === 0 && place.wide < 20 ? "left" : "center";
      if (align === "left") at[0] = place.x;
      write(pen, columns.labels[column], at, { font, color: colors.muted, align });
    }
    return;
  }
  const step = every(place.wide, SIZE + 2);
  for (let column = 0; column < columns.labels.length; column += step) {
    pen.save();
    pen.translate(place.x + (column + 0.5) * place.wide, place.y - 5);
    pen.rotate(-Math.PI / 2);
    write(pen, columns.labels[column], [0, 0], { font, color: colors.text, limit: place.head - 28 });
    pen.restore();
  }
}

/** @param {Brush} brush @param {Filled} picture @param {Place} place */
function numbers({ pen, colors }, picture, place) {
  const { kind, values, words, closed, range, columns } = picture;
  const n = columns.labels.length;
  const font = fontOf(pen.canvas, place.wide < 44 ? SIZE - 1 : SIZE);
  if (kind === "words") {
    for (const [row, word] of words.entries())
      write(pen, word, [place.x + 8, place.y + (row + 0.5) * place.tall], {
        font,
        color: colors.text,
        limit: place.wide - 12,
      });
    return;
  }
  if (!areLegible(place)) return;
  const shades = ramp(stops(picture, colors));
  const [low, high] = range;
  for (const [i, value] of values.entries()) {
    if (closed?.[i]) continue;
    const at = /** @type {[number, number]} */ ([
      place.x + ((i % n) + 0.5) * place.wide,
      place.y + (Math.floor(i / n) + 0.5) * place.tall,
    ]);
    const color =
      !isColored(picture) || Number.isNaN(value)
        ? colors.text
        : inkOn(shades[shade((value - low) / (high - low))]);
    write(pen, kind === "ids" ? grouped(value) : format(value), at, { font, color, align: "center" });
  }
}

/** Whether cells have room for their numbers. @param {Place} place */
const areLegible = ({ wide, tall }) => wide >= 38 && tall >= LINE;

/**
 * Paint the axes' titles and the scale.
 * @param {Brush} brush
 * @param {Filled} picture
 * @param {Place} place
 */
function foot({ pen, colors }, picture, place) {
  const { rows, columns, range } = picture;
  const [x, y] = [place.x, place.y + place.height];
  const quiet = { font: fontOf(pen.canvas, SIZE - 1), color: colors.muted };
  const limit = place.full - place.labels + OVERHANG;
  pen.font = quiet.font;
  const said = sizes(rows, columns);
  write(pen, pen.measureText(said).width <= limit ? said : brief(rows, columns), [x, y + 12], quiet);
  if (!isColored(picture)) return;
  const [low, high] = range.map((end) => format(end));
  const room = place.full - place.labels;
  const start = x + pen.measureText(low).width + 6;
  const width = Math.min(SCALE, room - (start - x) - pen.measureText(high).width - 6);
  // Where the scale has no room, legible numbers need none.
  if (width < 12 && areLegible(place)) return;
  write(pen, low, [x, y + 30], quiet);
  if (width < 12) {
    clipped(pen, [x, y + 22, room + 30, 18], () => write(pen, `to ${high}`, [start, y + 30], quiet));
    return;
  }
  const shades = ramp(stops(picture, colors), Math.ceil(width));
  for (const [i, color] of shades.entries()) fillBox(pen, css(color), [start + i, y + 25, 1, 10]);
  strokeBox(pen, colors.muted, 1, [start - 0.5, y + 24.5, width + 1, 11]);
  write(pen, high, [start + width + 6, y + 30], quiet);
}

/**
 * The sizes of a picture, such as "7 queries × 64 dimensions", and how much of them is shown.
 * @param {Axis} rows
 * @param {Axis} columns
 */
export function sizes(rows, columns) {
  const said = [rows, columns]
    .filter(isNamed)
    .map((axis) => `${shown(axis)} ${axis.count === 1 ? axis.title : plural(axis.title)}`);
  return said.join(" × ");
}

/** The same without the names. @param {Axis} rows @param {Axis} columns */
const brief = (rows, columns) => [rows, columns].filter(isNamed).map(shown).join(" × ");

/** @param {Axis} axis */
const shown = ({ labels, count }) =>
  labels.length < count ? `${labels.length} of ${grouped(count)}` : grouped(count);

/** @param {string} title */
const plural = (title) => (/[^aeiou]y$/.test(title) ? `${title.slice(0, -1)}ies` : `${title}s`);
