// @ts-check
// The document event by which the list of scenes opens one of them, or saves all: each script is a bundle of its own.

export const REQUEST = "headlight-scene";

/**
 * @typedef {object} Request
 * @property {import("./scenes.js").ListedScene[]} scenes
 * @property {number} index of the requested scene
 * @property {boolean} inShow whether to start the show there
 * @property {boolean} [toSave] whether to save all scenes as a page instead
 * @property {HTMLElement} from gets the focus when the show ends
 */
