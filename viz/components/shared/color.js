// @ts-check
// Colour scales, readable ink on them, and the stripes of closed cells.

import { clamp } from "./numbers.js";

/** @typedef {[number, number, number]} Rgb red, green and blue, from 0 to 255 */

/** @typedef {"masked" | "hatch" | "text" | "muted" | "background" | "surface" | "grid" | "accent"} ColorName */
/** @typedef {Record<"sequential" | "diverging" | "categorical", string[]>} Scales evenly spaced stops */
/** @typedef {Record<ColorName, string> & Scales} Colors of the theme, as frame.py sends them: each "#rrggbb" */

const SHADES = 256;
// Stripes tell the reasons of closed cells apart without colour: / for the first, \ for the second, both for the
// third.
const STRIPES = [["/"], ["\\"], ["/", "\\"]];

/** The colour scale: sequential for weights, diverging around 0 for scores. @param {{colors: Scales, kind: string}} data */
export const stopsOf = ({ colors, kind }) => (kind === "scores" ? colors.diverging : colors.sequential);

/** Set the colours of the theme as custom properties of an element. @param {HTMLElement} element @param {Colors} colors */
export function setColors(element, colors) {
  for (const [name, color] of Object.entries(colors)) {
    if (typeof color === "string") element.style.setProperty(`--hl-${name}`, color);
  }
}

/** @param {string} hex "#rrggbb" */
export const rgbOf = (hex) =>
  /** @type {Rgb} */ ([1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16)));

/**
 * Evenly spaced colours along the stops.
 * @param {readonly string[]} stops
 * @returns {Rgb[]}
 */
export function ramp(stops, n = SHADES) {
  const rgb = stops.map(rgbOf);
  return Array.from({ length: n }, (_, i) => {
    const at = (i / (n - 1)) * (rgb.length - 1);
    const low = Math.min(Math.floor(at), rgb.length - 2);
    const mixed = rgb[low].map((c, k) => Math.round(c + (at - low) * (rgb[low + 1][k] - c)));
    return /** @type {Rgb} */ (mixed);
  });
}

/**
 * The index in a ramp of a share of the scale, from 0 to 1; NaN maps to the first colour.
 * @param {number} share
 */
export const shade = (share) => Math.round(clamp(share, 0, 1) * (SHADES - 1)) || 0;

/** @param {Rgb} color */
export const css = ([r, g, b]) => `rgb(${r},${g},${b})`;

/** The opaque colour as an image's pixel. @param {Rgb} color */
export const pixel = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/** Relative luminance (WCAG 2.2), from 0 to 1. @param {Rgb} color */
function luminance(color) {
  const [r, g, b] = color.map((c) => (c / 255 <= 0.04045 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Contrast ratio (WCAG 2.2), from 1 to 21. @param {Rgb} a @param {Rgb} b */
export function contrast(a, b) {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

/** Black or white, whichever contrasts more with the colour. @param {Rgb} color */
export const inkOn = (color) => (luminance(color) > 0.179 ? "#000" : "#fff");

/**
 * The stripe directions of cells closed for this reason, counted from 1.
 * @param {number} reason
 */
export const stripesOf = (reason) => STRIPES[(reason - 1) % STRIPES.length];

/** A CSS background with the stripes of a closed cell. @param {{hatch: string, masked: string}} colors */
export function hatchSwatch(colors, reason = 1) {
  const lines = `${colors.hatch} 0 1px,#0000 1px 5px`;
  const angles = stripesOf(reason).map((stripe) => (stripe === "/" ? 135 : 45));
  const stripes = angles.map((angle) => `repeating-linear-gradient(${angle}deg,${lines})`);
  return [...stripes, colors.masked].join();
}
