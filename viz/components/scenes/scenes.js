// @ts-check
// Scenes in the sidebar: a caption and a button keep the moment that is seen, another shows all that were kept.

import { Panel } from "./panel.js";
import { theShow } from "./show.js";

/**
 * A scene as Python tells it.
 * @typedef {object} Told
 * @property {Scene} scene
 * @property {string} title the page and the sentence
 * @property {string} lack the model that it needs and that is not here; "" for none
 */
/**
 * @typedef {object} Scene
 * @property {string} page the path of its page
 * @property {Record<string, string | string[]>} choices what its address says
 * @property {string} [caption]
 * @property {string} [checkpoint]
 * @property {[landmark: string, offset: number]} [place]
 */
/**
 * @typedef {object} Data
 * @property {Told[]} scenes
 * @property {string} here the path of the page that is shown
 * @property {boolean} canKeep whether there is something to keep on it
 * @property {number} revision 0 until this session has kept something
 * @property {number} steps counts the runs in which the address decided on everything
 * @property {string} note
 * @property {import("../shared/color.js").Colors} colors
 */

/** @type {WeakMap<Node, Panel>} */
const panels = new WeakMap();

/** @param {import("../mount.js").Component<Data>} component */
export default function (component) {
  const { parentElement: root, data } = component;
  const panel = panels.get(root) ?? new Panel(root);
  panels.set(root, panel);
  panel.update(component);
  theShow().update(data, (large) => panel.tell("large", large));
}
