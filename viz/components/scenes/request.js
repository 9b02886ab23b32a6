// @ts-check
// The document event by which the list of scenes opens one of them: each script is a bundle of its own.

export const REQUEST = "headlight-scene";

/**
 * @typedef {object} Request
 * @property {import("./scenes.js").ListedScene[]} scenes
 * @property {number} index of the requested scene
 * @property {boolean} inShow whether to start the show there
 * @property {HTMLElement} from gets the focus when the show ends
 */
