// What every view uses: reading its data, mounting once, colours, crisp canvases, tooltips and legends.
// A view's own file follows this one in the same module. No token ever goes through innerHTML.

const TYPES = { uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, float32: Float32Array };

// The inverse of frame.py: the header's data with each array put in under its name.
function readFrame(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
  const { data, arrays } = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const body = Math.ceil((4 + length) / 8) * 8;
  for (const [name, { dtype, shape, offset }] of Object.entries(arrays)) {
    const size = shape.reduce((a, b) => a * b, 1) * TYPES[dtype].BYTES_PER_ELEMENT;
    // A copy, because a typed array has to begin at a multiple of its element's size.
    data[name] = new TYPES[dtype](bytes.slice(body + offset, body + offset + size).buffer);
  }
  return data;
}

const sameBytes = (a, b) => a && a.length === b.length && a.every((x, i) => x === b[i]);

// Streamlit runs the script again at every update, on the same elements: a view is made once, then updated.
function mountView({ parentElement, data, setTriggerValue }, name, create) {
  const root = parentElement.querySelector(".hl-" + name);
  if (!root.view) tellBeforeLeaving(root);
  const view = (root.view ??= create(root));
  view.emit = (selection) => setTriggerValue("select", selection);
  if (sameBytes(view.bytes, data)) return view.dispose;
  view.bytes = data;
  view.data = readFrame(data);
  for (const [key, value] of Object.entries(view.data.colors)) {
    if (typeof value === "string") root.style.setProperty("--hl-" + key, value);
  }
  view.update();
  if (view.layout && !view.observer) {
    view.observer = new ResizeObserver(() => root.clientWidth !== view.width && view.layout());
    view.observer.observe(root);
    document.fonts.ready.then(() => view.layout());
  }
  view.dispose = () => view.observer?.disconnect();
  return view.dispose;
}

// Tell Python what was selected. A key held down repeats faster than pages run: a delay keeps only the last.
function report(view, selection, delay = 0) {
  clearTimeout(view.timer);
  view.tell = () => {
    clearTimeout(view.timer);
    view.timer = null;
    view.emit(selection);
  };
  if (delay) view.timer = setTimeout(view.tell, delay);
  else view.tell();
}

// Tell it before the user does something elsewhere: a view that reports while the page is being drawn again makes
// Streamlit lose what stands after it.
function tellBeforeLeaving(root) {
  root.addEventListener("focusout", ({ relatedTarget }) => {
    if (root.view.timer && !root.contains(relatedTarget)) root.view.tell();
  });
}

// Whether Python moved the selection since the last update, and the person has not moved it further.
function movedByPython(view, selected) {
  const moved = String(selected) !== view.told && !view.timer;
  view.told = String(selected);
  return moved;
}

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const KEY_DELAY = 150;

const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
const sum = (values) => values.reduce((a, b) => a + b, 0);

function element(tag, className, parent, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}

// A token in quotation marks, kept apart from the direction of the text around it.
const quoted = (token) => "“\u2068" + token + "\u2069”";

// Decimals with a minus sign, and none before a zero.
const fixed = (value, digits) => value.toFixed(digits).replace(/^-(?=[0.]*$)/, "").replace("-", "−");

function format(value, digits = 2) {
  if (Number.isNaN(value)) return "not a number";
  if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
  const size = Math.abs(value);
  const tiny = size > 0 && size < 0.5 * 10 ** -digits;
  if (tiny) return value.toExponential(1).replaceAll("-", "−");
  return fixed(value, size >= 100 ? Math.min(digits, 1) : digits);
}

// Colours: n evenly spaced [r, g, b] along the stops.
function ramp(stops, n) {
  const rgb = stops.map((stop) => [1, 3, 5].map((i) => parseInt(stop.slice(i, i + 2), 16)));
  return Array.from({ length: n }, (_, i) => {
    const at = (i / (n - 1)) * (rgb.length - 1);
    const low = Math.min(Math.floor(at), rgb.length - 2);
    return rgb[low].map((c, k) => Math.round(c + (at - low) * (rgb[low + 1][k] - c)));
  });
}

const css = ([r, g, b]) => `rgb(${r},${g},${b})`;

// Black or white, whichever contrasts more with the colour (WCAG relative luminance).
function inkOn(rgb) {
  const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}

// Size a canvas in CSS pixels, sharp on any screen; returns its context, cleared and scaled to CSS pixels.
function prepare(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== w || canvas.height !== h) {
    Object.assign(canvas, { width: w, height: h });
    Object.assign(canvas.style, { width: width + "px", height: height + "px" });
  }
  const context = canvas.getContext("2d");
  context.reset();
  context.scale(scale, scale);
  context.imageSmoothingEnabled = false;
  return context;
}

// Stripes for closed cells, seen without colour: / for the first reason, \ for the second, both for the third.
const STRIPES = [["/"], ["\\"], ["/", "\\"]];
const ANGLES = { "/": 135, "\\": 45 };
const stripesOf = (reason) => STRIPES[(reason - 1) % 3];

function hatching(context, color, reason = 1) {
  const scale = window.devicePixelRatio || 1;
  const size = Math.round(6 * scale);
  const tile = Object.assign(document.createElement("canvas"), { width: size, height: size });
  const brush = tile.getContext("2d");
  brush.strokeStyle = color;
  brush.lineWidth = scale;
  for (const shift of [-size, 0, size]) {
    for (const stripe of stripesOf(reason)) {
      const [left, right] = stripe === "/" ? [size + 1, -1] : [-1, size + 1];
      brush.moveTo(shift - 1, left);
      brush.lineTo(shift + size + 1, right);
    }
  }
  brush.stroke();
  const pattern = context.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(1 / scale));
  return pattern;
}

const fontOf = (root, size, weight = 400) => `${weight} ${size}px ${getComputedStyle(root).fontFamily}`;

// The longest beginning of the text that fits, with an ellipsis where something is left out.
function shorten(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  const letters = [...text];
  let [low, high] = [0, letters.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(letters.slice(0, middle).join("") + "…").width <= width) low = middle;
    else high = middle - 1;
  }
  return letters.slice(0, low).join("") + "…";
}

// A box that follows the pointer: lines of [class, text]; x and y in the root's CSS pixels.
function tooltipOf(root) {
  const box = element("div", "hl-tip", root);
  box.setAttribute("aria-hidden", "true");
  return {
    show(x, y, lines) {
      box.replaceChildren(...lines.map(([className, text]) => element("div", className, null, text)));
      box.style.display = "block";
      const { offsetWidth: w, offsetHeight: h } = box;
      const left = x + 16 + w > root.clientWidth ? x - 16 - w : x + 16;
      const top = y + 16 + h > root.clientHeight ? y - 12 - h : y + 16;
      box.style.left = clamp(left, 0, Math.max(0, root.clientWidth - w)) + "px";
      box.style.top = Math.max(top, -h) + "px";
    },
    hide: () => (box.style.display = "none"),
  };
}

// A box fades out at each edge beyond which there is more of it, because scrollbars hide on many screens.
function fadeWhereMore(box) {
  const show = () => {
    const { scrollLeft, scrollTop, scrollWidth, scrollHeight, clientWidth, clientHeight } = box;
    const more = {
      left: scrollLeft > 1,
      right: scrollLeft + clientWidth < scrollWidth - 1,
      up: scrollTop > 1,
      down: scrollTop + clientHeight < scrollHeight - 1,
    };
    for (const [edge, is] of Object.entries(more)) box.classList.toggle("hl-more-" + edge, is);
  };
  box.classList.add("hl-fades");
  box.addEventListener("scroll", show);
  new ResizeObserver(show).observe(box);
  return show;
}

// A line only screen readers read, spoken when it changes.
function announcerOf(root) {
  const line = element("div", "hl-say", root);
  line.setAttribute("aria-live", "polite");
  return (text) => (line.textContent = text);
}

// The CSS background that looks like hatching().
function hatchSwatch(colors, reason = 1) {
  const lines = `${colors.hatch} 0 1px,#0000 1px 5px`;
  const angles = stripesOf(reason).map((stripe) => ANGLES[stripe]);
  const stripes = angles.map((angle) => `repeating-linear-gradient(${angle}deg,${lines})`);
  return [...stripes, colors.masked].join();
}

// The words beside a colour bar; weights are coloured from 0 to 1, and it is said where they are not.
const scaleLabel = ({ label, kind, range }, top) =>
  kind === "weights" && range && range[1] < 1 ? `${label} (darkest: ${top})` : label;

// What the colours mean: a bar with numbers under it, and swatches of [text, CSS background].
function drawLegend(box, colors, { stops, ticks, label, swatches }) {
  const parts = [element("span", "hl-legend-label", null, label)];
  if (stops) {
    const scale = element("div", "hl-scale");
    element("div", "hl-scale-bar", scale).style.background = `linear-gradient(90deg,${stops.join()})`;
    element("div", "hl-scale-pointer", scale);
    const numbers = element("div", "hl-scale-ticks", scale);
    for (const tick of ticks) element("span", "", numbers, tick);
    parts.push(scale);
  }
  for (const [text, background] of swatches) {
    const entry = element("span", "hl-legend-entry");
    element("span", "hl-swatch", entry).style.background = background;
    element("span", "", entry, text);
    parts.push(entry);
  }
  box.replaceChildren(...parts);
}

// A row of buttons of which one is on; options are [value, label].
function choiceOf(parent, label, options, onChoose) {
  const group = element("div", "hl-choice", parent);
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", label);
  element("span", "hl-choice-label", group, label);
  const row = element("div", "hl-choice-row", group);
  const buttons = options.map(([value, text]) => {
    const button = element("button", "", row, text);
    button.onclick = () => onChoose(value);
    return [value, button];
  });
  return (chosen) => {
    for (const [value, button] of buttons) button.setAttribute("aria-pressed", value === chosen);
  };
}
