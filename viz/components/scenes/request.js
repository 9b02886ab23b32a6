// @ts-check
// How the list of scenes asks for one of them: by an event of the document, since each script is a bundle of its own.

export const REQUEST = "headlight-scene";

/**
 * @typedef {object} Request
 * @property {import("./scenes.js").Told[]} scenes
 * @property {number} index of the scene to go to
 * @property {boolean} inShow whether it begins the show
 * @property {HTMLElement} from what is to have the focus when that ends
 */
