// @ts-check
// The heights of pictures.

/** Share of the window's height: the chosen picture and its texts should fit in the window. */
const SHARE = 0.5;
const LEAST = 360;
/** Share of that for an overview above the chosen picture. */
const ABOVE = 0.6;

/** A taller picture scrolls in a box of this height, in pixels. */
export const tallest = () => Math.max(LEAST, Math.round(SHARE * window.innerHeight));

/** The same for an overview above the picture. */
export const shallow = () => Math.round(ABOVE * tallest());
