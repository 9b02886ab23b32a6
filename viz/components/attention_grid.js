// Every layer x head at a glance, on one canvas: rows are layers, columns are heads.

const CLOSED = 255;
const TOP = 254;
const GAP = 8;
const HEADER = 26;
const NO_MAP = [-1, -1];
const OWN_NOTE =
  "Each head has a colour scale of its own here: the same colour is another number in another head, and in the large picture.";

class AttentionGrid {
  constructor(root) {
    this.root = root;
    this.selected = NO_MAP;
    this.hovered = NO_MAP;
    this.scaling = "shared";
    const bar = element("div", "hl-bar", root);
    this.legend = element("div", "hl-legend", bar);
    const scalings = [["shared", "same for all"], ["own", "each head its own"]];
    this.showScaling = choiceOf(bar, "Colour scale", scalings, (scaling) => {
      this.scaling = scaling;
      this.update();
    });
    this.stage = element("div", "hl-stage", root);
    this.stage.tabIndex = 0;
    this.stage.setAttribute("role", "application");
    this.canvas = element("canvas", "", this.stage);
    this.overlay = element("canvas", "hl-overlay", this.stage);
    this.note = element("div", "hl-note", root);
    this.say = announcerOf(root);
    this.tip = tooltipOf(root);
    this.raster = document.createElement("canvas");
    this.listen();
  }

  listen() {
    this.stage.onpointermove = (event) => this.hover(event);
    this.stage.onpointerleave = () => this.leave();
    this.stage.onclick = (event) => {
      const [layer, head] = this.mapAt(event);
      if (layer >= 0) this.select(layer, head, 0);
    };
    this.stage.onkeydown = (event) => {
      const step = ARROWS[event.key];
      if (!step) return;
      event.preventDefault();
      const { layers, heads } = this.data;
      const [layer, head] = this.selected;
      const to = [clamp(layer + step[0], 0, layers.length - 1), clamp(head + step[1], 0, heads.length - 1)];
      this.select(...to, KEY_DELAY);
    };
  }

  select(layer, head, delay) {
    if (layer === this.selected[0] && head === this.selected[1]) return;
    this.selected = [layer, head];
    this.mark();
    this.say(this.describe(layer, head).join(". "));
    report(this, { layer, head }, delay);
  }

  update() {
    if (movedByPython(this, this.data.selected)) this.selected = this.data.selected ?? NO_MAP;
    this.stage.setAttribute("aria-label", this.data.title + ": arrow keys choose a layer and a head");
    this.measureScale();
    this.layout();
    if (this.pointer) this.hover(this.pointer);
  }

  // The colour of every level of every map: by one range for all maps, or by each map's own.
  measureScale() {
    const { low, high, colors, kind, label, levels, note } = this.data;
    const known = (values) => Array.from(values).filter(Number.isFinite);
    const [lowest, highest] = [Math.min(...known(low), Infinity), Math.max(...known(high), -Infinity)];
    const reach = Math.max(Math.abs(lowest), Math.abs(highest));
    this.range = this.data.range ?? (kind === "scores" ? [-reach, reach] : [0, highest]);
    const stops = kind === "scores" ? colors.diverging : colors.sequential;
    this.ramp = ramp(stops, 256);
    const own = this.scaling === "own";
    const ends = kind === "scores" ? ["−largest", "0", "largest"] : ["0", "the head’s largest"];
    const [from, to] = this.range.map((value) => format(value));
    const ticks = own ? ends : kind === "scores" ? [from, "0", to] : [from, to];
    const swatches = levels.includes(CLOSED) ? [["closed by a mask", hatchSwatch(colors)]] : [];
    drawLegend(this.legend, colors, { stops, ticks, label: own ? label : scaleLabel(this.data, to), swatches });
    this.showScaling(this.scaling);
    this.note.textContent = own ? note + " " + OWN_NOTE : note;
  }

  // Where everything is, in CSS pixels.
  layout() {
    const { layers, heads, size, queries, keys } = this.data;
    const width = (this.width = this.root.clientWidth);
    if (!width) return;
    const pen = this.canvas.getContext("2d");
    pen.font = fontOf(this.root, 15);
    this.gutter = Math.ceil(Math.max(...layers.map((label) => pen.measureText(label).width))) + 14;
    const gap = heads.length > 8 && width < 700 ? 4 : GAP;
    const aspect = clamp(queries.length / keys.length, 1 / 3, 3);
    const across = (width - this.gutter - 4) / heads.length - gap;
    const down = Math.max(56, 680 / layers.length - gap);
    const side = Math.floor(clamp(Math.min(across, down / aspect, 280), 18 / Math.min(aspect, 1), 280));
    this.box = [side, Math.max(12, Math.round(side * aspect))];
    this.pitch = [this.box[0] + gap, this.box[1] + gap];
    const [right, bottom] = this.corner(layers.length, heads.length);
    this.extent = [right + 4, bottom + 4];
    const scale = window.devicePixelRatio || 1;
    this.cells = [0, 1].map((axis) => Math.min(size[1 - axis], Math.round(this.box[axis] * scale)));
    this.rasterize();
    this.paint();
  }

  // One image of all maps, a pixel a block. Shown smaller, a pixel is the maximum of its blocks.
  rasterize() {
    const { levels, low, high, size, layers, heads } = this.data;
    const [rows, columns] = size;
    const [across, down] = this.cells;
    const [from, to] = this.range;
    const image = new ImageData(heads.length * across, layers.length * down);
    const pixels = new Uint32Array(image.data.buffer);
    const colors = this.ramp.map(([r, g, b]) => (255 << 24) | (b << 16) | (g << 8) | r);
    const tops = new Int16Array(across * down);
    for (let map = 0; map < layers.length * heads.length; map++) {
      tops.fill(-1);
      for (let i = 0, at = map * rows * columns; i < rows; i++) {
        const line = Math.floor((i * down) / rows) * across;
        for (let j = 0; j < columns; j++, at++) {
          const cell = line + Math.floor((j * across) / columns);
          if (levels[at] !== CLOSED && levels[at] > tops[cell]) tops[cell] = levels[at];
        }
      }
      const palette = this.palette(low[map], high[map], from, to, colors);
      const corner = Math.floor(map / heads.length) * down * image.width + (map % heads.length) * across;
      for (let i = 0, cell = 0; i < down; i++) {
        for (let j = 0; j < across; j++, cell++) {
          if (tops[cell] >= 0) pixels[corner + i * image.width + j] = palette[tops[cell]];
        }
      }
    }
    Object.assign(this.raster, { width: image.width, height: image.height });
    this.raster.getContext("2d").putImageData(image, 0, 0);
  }

  palette(low, high, from, to, colors) {
    if (this.scaling === "own") {
      const reach = Math.max(Math.abs(low), Math.abs(high));
      [from, to] = this.data.kind === "scores" ? [-reach, reach] : [0, high];
    }
    const span = to - from || 1;
    return Array.from({ length: TOP + 1 }, (_, level) => {
      const value = low + (level / TOP) * (high - low);
      return colors[Math.round(clamp((value - from) / span, 0, 1) * 255)];
    });
  }

  corner(layer, head) {
    return [this.gutter + head * this.pitch[0], HEADER + layer * this.pitch[1]];
  }

  paint() {
    const { layers, heads, colors } = this.data;
    const [w, h] = this.box;
    const pen = prepare(this.canvas, ...this.extent);
    const stripes = hatching(pen, colors.hatch);
    pen.font = fontOf(this.root, 15);
    pen.fillStyle = colors.text;
    pen.textBaseline = "middle";
    layers.forEach((label, layer) => pen.fillText(label, 0, this.corner(layer, 0)[1] + h / 2));
    pen.textAlign = "center";
    const fits = heads.every((label) => pen.measureText(label).width <= this.pitch[0]);
    heads.forEach((label, head) => {
      pen.fillText(fits ? label : label.split(" ").pop(), this.corner(0, head)[0] + w / 2, HEADER / 2 - 1);
    });
    const [across, down] = this.cells;
    for (let layer = 0; layer < layers.length; layer++) {
      for (let head = 0; head < heads.length; head++) {
        const [x, y] = this.corner(layer, head);
        for (const fill of [colors.masked, stripes]) {
          pen.fillStyle = fill;
          pen.fillRect(x, y, w, h);
        }
        pen.drawImage(this.raster, head * across, layer * down, across, down, x, y, w, h);
        pen.strokeStyle = colors.grid;
        pen.strokeRect(x - 0.5, y - 0.5, w + 1, h + 1);
      }
    }
    this.mark();
  }

  // The outlines of what is selected and hovered, on their own canvas: maps are not drawn again for them.
  mark() {
    const pen = prepare(this.overlay, ...this.extent);
    const outline = ([layer, head], color, width) => {
      if (layer < 0 || layer >= this.data.layers.length || head >= this.data.heads.length) return;
      const [x, y] = this.corner(layer, head);
      pen.strokeStyle = color;
      pen.lineWidth = width;
      pen.beginPath();
      pen.roundRect(x - 2, y - 2, this.box[0] + 4, this.box[1] + 4, 3);
      pen.stroke();
    };
    outline(this.hovered, this.data.colors.text, 1.5);
    outline(this.selected, this.data.colors.accent, 4);
  }

  mapAt(event) {
    const { left, top } = this.canvas.getBoundingClientRect();
    const head = Math.floor((event.clientX - left - this.gutter) / this.pitch[0]);
    const layer = Math.floor((event.clientY - top - HEADER) / this.pitch[1]);
    const { layers, heads } = this.data;
    const inside = layer >= 0 && head >= 0 && layer < layers.length && head < heads.length;
    return inside ? [layer, head] : NO_MAP;
  }

  hover(event) {
    this.pointer = event;
    const map = this.mapAt(event);
    const [layer, head] = map;
    if (String(this.hovered) !== String(map)) {
      this.hovered = map;
      this.mark();
    }
    if (layer < 0) return this.tip.hide();
    const frame = this.root.getBoundingClientRect();
    const [title, strongest] = this.describe(layer, head);
    const lines = [["title", title], ["", strongest], ["quiet", this.here(event, layer, head)]];
    this.tip.show(event.clientX - frame.left, event.clientY - frame.top, lines);
  }

  leave() {
    this.pointer = null;
    this.hovered = NO_MAP;
    this.mark();
    this.tip.hide();
  }

  describe(layer, head) {
    const { layers, heads, strongest_query, strongest_key, high, queries, keys } = this.data;
    const map = layer * heads.length + head;
    const title = layers[layer] + ", " + heads[head];
    if (strongest_query[map] < 0) return [title, "every cell is closed"];
    const [from, to] = [queries[strongest_query[map]], keys[strongest_key[map]]];
    return [title, `strongest: ${quoted(from)} → ${quoted(to)} ${format(high[map])}`];
  }

  // What the pixel under the pointer stands for.
  here(event, layer, head) {
    const { levels, low, high, size, queries, keys, heads } = this.data;
    const frame = this.canvas.getBoundingClientRect();
    const [x, y] = this.corner(layer, head);
    const row = Math.floor(((event.clientY - frame.top - y) / this.box[1]) * size[0]);
    const column = Math.floor(((event.clientX - frame.left - x) / this.box[0]) * size[1]);
    if (row >= size[0] || column >= size[1] || row < 0 || column < 0) return "";
    const map = layer * heads.length + head;
    const level = levels[(map * size[0] + row) * size[1] + column];
    const span = (tokens, n, i) => {
      const edge = (block) => Math.floor((block * tokens.length) / n);
      const [first, last] = [edge(i), edge(i + 1) - 1];
      return first === last ? quoted(tokens[first]) : `${quoted(tokens[first])} to ${quoted(tokens[last])}`;
    };
    const single = queries.length === size[0] && keys.length === size[1];
    const value = low[map] + (level / TOP) * (high[map] - low[map]);
    const amount = level === CLOSED ? "closed" : (single ? "" : "at most ") + format(value);
    return `here: ${span(queries, size[0], row)} → ${span(keys, size[1], column)} ${amount}`;
  }
}

export default (component) => mountView(component, "attention_grid", (root) => new AttentionGrid(root));
