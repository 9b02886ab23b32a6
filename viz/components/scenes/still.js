// @ts-check
// A still of a picture: an SVG that looks like it and needs nothing else, so that a saved page can show it as an image.

const SVG = "http://www.w3.org/2000/svg";
const XHTML = document.documentElement.namespaceURI;
/** Not allowed in XML. */
const CONTROL = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;
const LEFT_OUT = "style, script, link, template, button[hidden]";
const INHERITED = [
  "color direction fill fill-opacity font-family font-feature-settings font-size font-style font-variant-numeric",
  "font-weight letter-spacing line-height list-style-type paint-order stroke stroke-dasharray stroke-linecap",
  "stroke-linejoin stroke-opacity stroke-width text-align text-anchor text-transform visibility white-space",
  "border-collapse border-spacing word-spacing writing-mode overflow-wrap word-break dominant-baseline",
].flatMap((names) => names.split(" "));
const OWN = [
  "opacity text-decoration-line text-decoration-color unicode-bidi clip-path mask vertical-align",
].flatMap((names) => names.split(" "));
/** Only boxes have these; the shapes of an SVG have their geometry as attributes. */
const BOX = [
  "display position top right bottom left z-index float box-sizing width height min-width min-height max-width",
  "margin-top margin-right margin-bottom margin-left padding-top padding-right padding-bottom padding-left",
  "border-top border-right border-bottom border-left border-top-left-radius border-top-right-radius",
  "border-bottom-left-radius border-bottom-right-radius box-shadow background-color background-image",
  "background-size background-position background-repeat overflow-x overflow-y flex-direction flex-wrap flex-grow",
  "flex-shrink flex-basis align-items align-self align-content justify-content justify-items justify-self order",
  "row-gap column-gap grid-template-columns grid-template-rows grid-template-areas grid-column-start",
  "grid-column-end grid-row-start grid-row-end grid-auto-flow transform transform-origin zoom table-layout",
  "text-overflow object-fit",
].flatMap((names) => names.split(" "));

/** The browser's own styles, by tag, away from the page's style sheets. */
class Plain {
  /** @type {Map<string, CSSStyleDeclaration>} */
  known = new Map();
  host = document.createElement("div");

  constructor() {
    this.host.style.cssText = "all: initial; position: absolute; visibility: visible; width: 0; height: 0;";
    this.root = this.host.attachShadow({ mode: "open" });
    document.body.append(this.host);
  }

  /** @param {Element} element */
  of({ namespaceURI, localName }) {
    const name = `${namespaceURI} ${localName}`;
    const known = this.known.get(name);
    if (known) return known;
    const plain = document.createElementNS(namespaceURI, localName);
    this.root.append(plain);
    const style = getComputedStyle(plain);
    this.known.set(name, style);
    return style;
  }
}

/** @param {HTMLElement} element */
export function stillOf(element) {
  const box = element.getBoundingClientRect();
  const width = (box.width * element.scrollWidth) / element.offsetWidth;
  const height = (box.height * element.scrollHeight) / element.offsetHeight;
  const plain = new Plain();
  try {
    const frame = document.createElement("div");
    const { backgroundColor } = getComputedStyle(
      /** @type {Element} */ (document.querySelector('[data-testid="stApp"]')),
    );
    frame.style.cssText = `position: relative; overflow: hidden; height: 100%; background: ${backgroundColor};`;
    const copy = copyOf(element, plain, plain.of(frame));
    if (copy) frame.append(copy);
    if (copy instanceof HTMLElement) copy.style.margin = "0";
    const svg = document.createElementNS(SVG, "svg");
    const inside = document.createElementNS(SVG, "foreignObject");
    for (const [name, value] of Object.entries({ width, height })) {
      svg.setAttribute(name, String(Math.ceil(value)));
      inside.setAttribute(name, "100%");
    }
    inside.append(frame);
    svg.append(inside);
    return new XMLSerializer().serializeToString(svg);
  } finally {
    plain.host.remove();
  }
}

/**
 * @param {Node} node
 * @param {Plain} plain
 * @param {CSSStyleDeclaration} around the style that the copy inherits
 * @returns {Node | null}
 */
function copyOf(node, plain, around) {
  if (node instanceof Text) return document.createTextNode(node.data.replace(CONTROL, ""));
  if (!(node instanceof Element) || node.matches(LEFT_OUT)) return null;
  const style = getComputedStyle(node);
  if (style.display === "none") return null;
  const copy = emptyCopyOf(node);
  const isBox =
    node.namespaceURI === XHTML || (node.localName === "svg" && !(node.parentNode instanceof SVGElement));
  const own = plain.of(copy);
  const usual = plain.of(document.createElement("span"));
  const written = [];
  for (const name of INHERITED) {
    const value = style.getPropertyValue(name);
    const isSet = own.getPropertyValue(name) !== usual.getPropertyValue(name);
    if (isSet || value !== around.getPropertyValue(name)) written.push(`${name}:${value}`);
  }
  for (const name of isBox ? [...OWN, ...BOX] : OWN) {
    const value = style.getPropertyValue(name);
    if (value !== own.getPropertyValue(name)) written.push(`${name}:${value}`);
  }
  copy.setAttribute("style", written.join(";"));
  for (const child of (node.shadowRoot ?? node).childNodes) {
    const own = copyOf(child, plain, style);
    if (own) copy.append(own);
  }
  return copy;
}

/** @param {Element} node */
function emptyCopyOf(node) {
  if (node instanceof HTMLCanvasElement) {
    const image = document.createElement("img");
    if (node.width && node.height) image.src = node.toDataURL();
    return image;
  }
  const isShape = node.namespaceURI === SVG;
  const copy = document.createElementNS(node.namespaceURI, node.localName);
  for (const { name, value, namespaceURI } of node.attributes) {
    const isKept = isShape
      ? !/^(class|style|on.*|aria-.*|data-.*|tabindex|role)$/.test(name)
      : /span$/.test(name);
    // XML does not allow "xmlns" or a prefix without a namespace, which attributes set as text have; nor the
    // namespace "", which Plotly gives some.
    const isNamed = namespaceURI || !/^xmlns$|:/.test(name);
    if (isKept && isNamed) copy.setAttributeNS(namespaceURI || null, name, value.replace(CONTROL, ""));
  }
  return copy;
}
