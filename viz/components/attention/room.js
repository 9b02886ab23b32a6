// @ts-check
// The heights of pictures.

/** Share of the window's height: the chosen picture and its texts should fit in the window. */
const SHARE = 0.55;
/** The same in a scene, whose window has a caption and the picture alone. */
const SHARE_OF_SCENE = 0.68;
const LEAST = 360;
/** Share of that for an overview. */
const OVERVIEW = 0.6;

const isScene = () => "showing" in document.documentElement.dataset;

/** A taller picture scrolls in a box of this height, in pixels. */
export function tallest() {
  return Math.max(LEAST, Math.round((isScene() ? SHARE_OF_SCENE : SHARE) * window.innerHeight));
}

/** The same for an overview: above the picture, or beside it in a scene, where the sentence about it is below. */
export const overview = (/** @type {boolean} */ beside) =>
  beside && !isScene() ? tallest() : Math.round(OVERVIEW * tallest());
