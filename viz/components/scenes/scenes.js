// @ts-check
// Scenes in the sidebar: a caption and a button keep the current view, another button shows all kept scenes.

import { Panel } from "./panel.js";
import { theShow } from "./show.js";

/**
 * A scene with what Python says about it.
 * @typedef {object} ListedScene
 * @property {Scene} scene
 * @property {string} title the page and the sentence
 * @property {string} sentence
 * @property {string[]} pictures names of the picture that it shows, in order of preference
 * @property {boolean} isStill whether a saved page shows a still of it, and not the viewer with its run
 * @property {string} lack the missing model that it needs, or ""
 */
/**
 * @typedef {object} Scene
 * @property {string} page its page's path
 * @property {Record<string, string | string[]>} choices the parameters of its address
 * @property {string} [caption]
 * @property {string} [checkpoint]
 * @property {string} [place] the name of a picture that isn't the page's own
 */
/**
 * @typedef {object} Data
 * @property {ListedScene[]} scenes
 * @property {string} here the path of the current page
 * @property {boolean} canKeep whether the page has something to keep
 * @property {string[]} pictures names of the current page's own picture
 * @property {number} revision 0 until this session has kept a scene
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
  theShow().update(data, (name, value) => panel.send(name, value));
}
