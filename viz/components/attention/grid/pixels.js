// @ts-check
// Turns the levels of all maps into pixels.

import { shade } from "../../shared/color.js";

/** The level of a block in which every cell is closed. */
export const CLOSED = 255;
/** The level of a map's largest value. */
export const TOP = 254;

/**
 * The value of a level in a map from `low` to `high`.
 * @param {number} level
 * @param {number} low
 * @param {number} high
 */
export const valueAt = (level, low, high) => low + (level / TOP) * (high - low);

/**
 * The pixel of each level of a map from `low` to `high`, on a scale.
 * @param {ArrayLike<number>} pixels of the scale's colours
 * @param {number} low
 * @param {number} high
 * @param {[number, number]} scale
 */
export function palette(pixels, low, high, [from, to]) {
  const span = to - from || 1;
  const own = new Uint32Array(TOP + 1);
  for (let level = 0; level <= TOP; level++)
    own[level] = pixels[shade((valueAt(level, low, high) - from) / span)];
  return own;
}

/**
 * The highest level in each pixel of a map shown at `across` x `down`; -1 where all is closed.
 * @param {Uint8Array} levels of the map, row by row
 * @param {[rows: number, columns: number]} size
 * @param {number} across
 * @param {number} down
 */
export function pool(levels, [rows, columns], across, down) {
  const tops = new Int16Array(across * down).fill(-1);
  for (let i = 0, at = 0; i < rows; i++) {
    const line = Math.floor((i * down) / rows) * across;
    for (let j = 0; j < columns; j++, at++) {
      const cell = line + Math.floor((j * across) / columns);
      if (levels[at] !== CLOSED && levels[at] > tops[cell]) tops[cell] = levels[at];
    }
  }
  return tops;
}

/**
 * One image of all maps; closed cells stay transparent.
 * @param {Uint8Array} levels of all maps, by layer, then by head
 * @param {[rows: number, columns: number]} size of each map
 * @param {number} heads maps per row
 * @param {[across: number, down: number]} shown pixels of each map
 * @param {(map: number) => ArrayLike<number>} paletteOf
 */
export function paintMaps(levels, size, heads, [across, down], paletteOf) {
  const [length, width] = [size[0] * size[1], heads * across];
  const count = levels.length / length;
  const pixels = new Uint32Array(count * across * down);
  const isWhole = across === size[1] && down === size[0];
  for (let map = 0; map < count; map++) {
    const own = levels.subarray(map * length, (map + 1) * length);
    // A level for which there is no colour is that of a closed cell, and -1.
    const tops = isWhole ? own : pool(own, size, across, down);
    const colors = paletteOf(map);
    const corner = Math.floor(map / heads) * down * width + (map % heads) * across;
    for (let row = 0, cell = 0; row < down; row++) {
      for (let at = corner + row * width, end = at + across; at < end; at++, cell++)
        pixels[at] = colors[tops[cell]] ?? 0;
    }
  }
  return pixels;
}
