// Where every head looks from one position: a row a head, a column a token; one block an attention.

const LABEL = { layer: 74, head: 60 };
const GAP = 10;
const FONT = 14;
const SLANT = -Math.PI / 4;

class HeadRows {
  constructor(root) {
    this.root = root;
    this.selected = null;
    this.legend = element("div", "hl-legend", root);
    this.stage = element("div", "hl-blocks", root);
    this.stage.tabIndex = 0;
    this.stage.setAttribute("role", "application");
    this.stage.onkeydown = (event) => this.press(event);
    this.say = announcerOf(root);
    this.tip = tooltipOf(root);
  }

  update() {
    const { data } = this;
    if (movedByPython(this, data.selected)) this.selected = data.selected;
    this.ramp = ramp(data.colors.sequential, 256);
    this.stage.setAttribute("aria-label", data.title + ": arrow keys choose a head");
    drawLegend(this.legend, data.colors, {
      stops: data.colors.sequential,
      ticks: ["0", "0.5", "1"],
      label: "attention weight",
      swatches: [],
    });
    const shape = data.blocks.map(({ name }) => name).join();
    if (shape !== this.shape) this.build();
    this.shape = shape;
    this.blocks.forEach((block, i) => (block.name.textContent = data.blocks[i].name));
    this.layout();
  }

  build() {
    this.blocks = this.data.blocks.map((_, i) => {
      const frame = element("div", "hl-block");
      const name = element("div", "name", frame);
      const box = element("div", "hl-scroll", frame);
      // The arrow keys scroll it while it has the focus, and choose no head.
      box.onkeydown = (event) => event.key in ARROWS && event.stopPropagation();
      const fade = fadeWhereMore(box);
      const canvas = element("canvas", "", box);
      canvas.onpointermove = (event) => this.hover(event, i);
      canvas.onpointerleave = () => this.tip.hide();
      canvas.onclick = (event) => {
        const at = this.cellAt(event, i);
        if (at) this.select(i, at.layer, at.head, 0);
      };
      return { frame, name, box, canvas, fade };
    });
    this.stage.replaceChildren(...this.blocks.map(({ frame }) => frame));
  }

  layout() {
    const width = (this.width = this.root.clientWidth);
    if (!width) return;
    const { heads, layers, blocks } = this.data;
    this.row = clamp(Math.floor(560 / (heads * layers)), 13, 26);
    const wide = width > 760;
    this.stage.classList.toggle("wide", wide);
    const most = Math.max(...blocks.map(({ tokens }) => tokens.length));
    const room = (wide ? (width - 24) / 2 : width) - LABEL.layer - LABEL.head - 50;
    this.column = clamp(Math.floor(room / most), 20, 44);
    this.blocks.forEach((_, i) => this.paint(i));
    this.blocks.forEach(({ fade }) => fade());
  }

  top(i) {
    const pen = this.blocks[i].canvas.getContext("2d");
    pen.font = fontOf(this.root, FONT);
    const longest = Math.max(...this.data.blocks[i].tokens.map((token) => pen.measureText(token).width));
    return Math.ceil(Math.min(longest, 130) * Math.SQRT1_2) + 18;
  }

  // The upper edge of a head's row.
  edge(i, layer, head) {
    return this.blocks[i].top + (layer * this.data.heads + head) * this.row + layer * GAP;
  }

  paint(i) {
    const { heads, layers, blocks, colors } = this.data;
    const { tokens, name } = blocks[i];
    const block = this.blocks[i];
    block.top = this.top(i);
    const left = LABEL.layer + LABEL.head;
    const width = left + tokens.length * this.column + 96;
    const pen = prepare(block.canvas, width, this.edge(i, layers - 1, heads - 1) + this.row + 6);
    block.canvas.setAttribute("aria-label", name);
    const { box } = block;
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
    this.labels(pen, i, left);
    for (let layer = 0; layer < layers; layer++) {
      for (let head = 0; head < heads; head++) this.cells(pen, i, layer, head, left);
    }
    if (this.selected?.[0] !== i) return;
    pen.strokeStyle = colors.accent;
    pen.lineWidth = 3;
    const y = this.edge(i, this.selected[1], this.selected[2]);
    pen.strokeRect(left - 1, y, tokens.length * this.column + 2, this.row - 1);
  }

  labels(pen, i, left) {
    const { heads, layers, colors, blocks } = this.data;
    pen.textBaseline = "middle";
    for (let layer = 0; layer < layers; layer++) {
      pen.font = fontOf(this.root, FONT, 600);
      pen.fillStyle = colors.text;
      pen.textAlign = "left";
      pen.fillText(`layer ${layer}`, 2, this.edge(i, layer, 0) + this.row / 2);
      for (let head = 0; head < heads; head++) {
        const chosen = String(this.selected) === String([i, layer, head]);
        pen.font = fontOf(this.root, FONT, chosen ? 700 : 400);
        pen.fillStyle = chosen ? colors.accent : colors.muted;
        pen.textAlign = "right";
        pen.fillText(`head ${head}`, left - 8, this.edge(i, layer, head) + this.row / 2);
      }
    }
    pen.fillStyle = colors.text;
    pen.textAlign = "left";
    pen.font = fontOf(this.root, FONT);
    blocks[i].tokens.forEach((token, key) => {
      pen.save();
      pen.translate(left + (key + 0.5) * this.column, this.blocks[i].top - 10);
      pen.rotate(SLANT);
      pen.fillText(shorten(pen, token, 130), 0, 0);
      pen.restore();
    });
  }

  cells(pen, i, layer, head, left) {
    const { tokens } = this.data.blocks[i];
    const y = this.edge(i, layer, head);
    pen.font = fontOf(this.root, 13);
    pen.textAlign = "center";
    for (let key = 0; key < tokens.length; key++) {
      const weight = this.weight(i, layer, head, key);
      const color = this.ramp[Math.round(clamp(weight, 0, 1) * 255)];
      const x = left + key * this.column;
      pen.fillStyle = css(color);
      pen.fillRect(x, y, this.column - 1, this.row - 1);
      if (weight < 0.1 || this.column < 30 || this.row < 15) continue;
      pen.fillStyle = inkOn(color);
      pen.fillText(weight.toFixed(2).replace("0.", "."), x + this.column / 2, y + this.row / 2);
    }
    pen.strokeStyle = this.data.colors.grid;
    pen.lineWidth = 1;
    pen.strokeRect(left - 0.5, y - 0.5, tokens.length * this.column, this.row);
  }

  weight(i, layer, head, key) {
    const n = this.data.blocks[i].tokens.length;
    return this.data["weights" + i][(layer * this.data.heads + head) * n + key];
  }

  cellAt(event, i) {
    const frame = this.blocks[i].canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top - this.blocks[i].top];
    const tall = this.data.heads * this.row + GAP;
    const layer = Math.floor(y / tall);
    const head = Math.floor((y - layer * tall) / this.row);
    if (y < 0 || layer >= this.data.layers || head >= this.data.heads) return null;
    const key = Math.floor((x - LABEL.layer - LABEL.head) / this.column);
    return { layer, head, key: key >= 0 && key < this.data.blocks[i].tokens.length ? key : null };
  }

  hover(event, i) {
    const at = this.cellAt(event, i);
    if (!at) return this.tip.hide();
    const frame = this.root.getBoundingClientRect();
    const lines = [["title", `layer ${at.layer}, head ${at.head}`], ["", this.strongest(i, at.layer, at.head)]];
    if (at.key !== null) {
      const here = quoted(this.data.blocks[i].tokens[at.key]);
      lines.push(["quiet", `here: ${here} ${format(this.weight(i, at.layer, at.head, at.key), 4)}`]);
    }
    this.tip.show(event.clientX - frame.left, event.clientY - frame.top, lines);
  }

  strongest(i, layer, head) {
    const { tokens } = this.data.blocks[i];
    const weights = tokens.map((_, key) => this.weight(i, layer, head, key));
    const key = weights.indexOf(Math.max(...weights));
    return `looks most at ${quoted(tokens[key])}: ${format(weights[key])}`;
  }

  press(event) {
    const step = ARROWS[event.key];
    if (!step) return;
    event.preventDefault();
    const { heads, layers, blocks } = this.data;
    const [block, layer, head] = this.selected ?? [0, 0, -step[0]];
    const row = clamp(layer * heads + head + step[0], 0, layers * heads - 1);
    this.select(clamp(block + step[1], 0, blocks.length - 1), Math.floor(row / heads), row % heads, KEY_DELAY);
  }

  select(block, layer, head, delay) {
    if (String(this.selected) === String([block, layer, head])) return;
    this.selected = [block, layer, head];
    this.blocks.forEach((_, i) => this.paint(i));
    this.say(`${this.data.blocks[block].name}, layer ${layer}, head ${head} ${this.strongest(block, layer, head)}`);
    report(this, { block, layer, head }, delay);
  }
}

export default (component) => mountView(component, "head_rows", (root) => new HeadRows(root));
