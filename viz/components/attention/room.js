// @ts-check
// How tall a picture may be.

/** Of the window's height: the chosen picture and what is said about it are to be seen at once. */
const SHARE = 0.5;
const LEAST = 360;
/** What an overview takes of that where it stands above the chosen picture. */
const ABOVE = 0.6;

/** The most pixels that a picture takes before it is scrolled in a box of its own. */
export const tallest = () => Math.max(LEAST, Math.round(SHARE * window.innerHeight));

/** The same for an overview above the picture. */
export const shallow = () => Math.round(ABOVE * tallest());
