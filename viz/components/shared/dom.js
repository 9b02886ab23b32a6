// @ts-check
// Elements. No token ever passes through innerHTML: text is a child node.

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Node | string | number} Child */
/** @typedef {Record<string, unknown>} Attributes */

/**
 * An element with attributes, handlers (such as `onclick`) and children.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 */
export const h = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);

/** @param {string} className @param {...Child} children */
export const div = (className, ...children) => h("div", { class: className }, ...children);

/** @param {string} className @param {...Child} children */
export const span = (className, ...children) => h("span", { class: className }, ...children);

/**
 * An SVG element; see `h`.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 */
export const svg = (tag, attributes, ...children) =>
  filled(document.createElementNS(SVG, tag), attributes, children);

/**
 * @template {Element} Made
 * @param {Made} node
 * @param {Attributes | undefined} attributes
 * @param {Child[]} children
 */
function filled(node, attributes = {}, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") Object.assign(node, { [name]: value });
    else node.setAttribute(name, String(value));
  }
  node.append(...children.map((child) => (typeof child === "number" ? String(child) : child)));
  return node;
}

/** The magnification at which an element is drawn. @param {Element} element */
export const zoomOf = (element) => element.currentCSSZoom ?? 1;

/**
 * A pointer's position on an element, in the element's CSS pixels from its corner.
 * @param {Element} element
 * @param {{clientX: number, clientY: number}} event
 * @returns {[number, number]}
 */
export function positionOn(element, { clientX, clientY }) {
  const { left, top } = element.getBoundingClientRect();
  const zoom = zoomOf(element);
  return [(clientX - left) / zoom, (clientY - top) / zoom];
}

/**
 * The inverse of `positionOn`: where in the window a place on an element is.
 * @param {Element} element
 * @param {[x: number, y: number]} place in the element's CSS pixels from its corner
 */
export function positionInWindow(element, [x, y]) {
  const { left, top } = element.getBoundingClientRect();
  const zoom = zoomOf(element);
  return { clientX: left + x * zoom, clientY: top + y * zoom };
}
