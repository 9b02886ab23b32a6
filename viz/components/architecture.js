// A model as in the paper's figure 1. Blocks are buttons that lay themselves out; the lines between them are
// drawn over them, from where they came to stand.

const KINDS = { embedding: 0, attention: 1, "feed-forward": 2, norm: 3, generator: 6 };
const SVG = "http://www.w3.org/2000/svg";

class Architecture {
  constructor(root) {
    this.root = root;
    this.picture = element("div", "picture", root);
    this.picture.setAttribute("role", "group");
    this.stacks = element("div", "stacks", this.picture);
    this.lines = document.createElementNS(SVG, "svg");
    this.lines.setAttribute("aria-hidden", "true");
    this.picture.append(this.lines);
    this.panel = element("div", "panel", root);
    this.panel.setAttribute("aria-live", "polite");
    this.tip = tooltipOf(root);
    root.onmouseleave = () => this.tip.hide();
  }

  update() {
    const { stacks, title } = this.data;
    this.picture.setAttribute("aria-label", title);
    this.blocks = [];
    this.columns = stacks.map((stack) => this.column(stack));
    this.stacks.replaceChildren(...this.columns.map(({ box }) => box));
    const known = this.blocks.findIndex(({ block }) => block.path === this.chosen);
    this.choose(this.blocks[Math.max(0, known)]);
    this.layout();
  }

  // All of a stack from the bottom up; `stream` is what its vectors run through, `loops` what they go around.
  column(stack) {
    const box = element("div", "stack");
    const column = { box, stream: [], loops: [], reader: null, layers: element("div", "layers") };
    const add = (node, parent = box) => {
      parent.append(node);
      column.stream.push(node);
      return node;
    };
    const addBlock = (block, times, parent) => {
      const node = add(this.block(block, stack, times), parent);
      if (block.reads) column.reader = node;
      return node;
    };
    add(element("div", "end", null, stack.reads));
    for (const block of stack.below) addBlock(block, 1);
    const { layers } = column;
    box.append(layers);
    for (const { inside, behind } of stack.layer) {
      const sub = element("div", "sub", layers);
      const nodes = inside.map((block) => addBlock(block, stack.n_layers, sub));
      const plus = add(element("div", "plus", null, "+"), sub);
      column.loops.push([nodes[0], plus]);
      for (const block of behind) addBlock(block, stack.n_layers, sub);
    }
    element("div", "times", layers, `${stack.n_layers} ×`);
    for (const block of stack.above) addBlock(block, 1);
    column.top = column.stream.at(-1);
    if (stack.writes) add(element("div", "end", null, stack.writes));
    element("div", "title", box, stack.title);
    return column;
  }

  block(block, stack, times) {
    const node = element("button", "block " + block.kind);
    const { categorical } = this.data.colors;
    node.style.setProperty("--kind", categorical[KINDS[block.kind] % categorical.length]);
    element("span", "label", node, block.label);
    if (block.detail) element("span", "detail", node, block.detail);
    const entry = { block, stack, times, node };
    this.blocks.push(entry);
    node.onclick = () => this.choose(entry);
    node.onmousemove = ({ clientX, clientY }) => this.point(entry, clientX, clientY);
    node.onmouseleave = () => this.tip.hide();
    return node;
  }

  point({ block, stack, times }, x, y) {
    const { left, top } = this.root.getBoundingClientRect();
    const lines = [
      ["title", `${block.label} of the ${stack.title}`],
      ["", this.count(block, times)],
    ];
    for (const [name, shape] of block.weights.slice(0, 4)) lines.push(["quiet", `${name}: ${shape}`]);
    if (block.weights.length > 4) lines.push(["quiet", `and ${block.weights.length - 4} more: click`]);
    this.tip.show(x - left, y - top, lines);
  }

  count({ parameters, weights }, times) {
    const number = (n) => n.toLocaleString("en");
    if (!parameters) return weights.length ? "no parameters of its own: it shares them" : "no parameters";
    if (times === 1) return `${number(parameters)} parameters`;
    return `${number(parameters)} parameters in each layer, ${number(parameters * times)} in all ${times}`;
  }

  choose(entry) {
    const { block, stack, times } = entry;
    this.chosen = block.path;
    for (const { node } of this.blocks) node.setAttribute("aria-pressed", node === entry.node);
    const parts = [
      element("div", "head", null, `${block.label} of the ${stack.title}`),
      element("div", "path", null, times > 1 ? block.path.replace("layers.0", `layers.0 … ${times - 1}`) : block.path),
      element("p", "", null, block.about),
      element("p", "", null, this.count(block, times) + "."),
    ];
    if (block.weights.length) parts.push(this.table(block.weights));
    this.panel.replaceChildren(...parts);
  }

  table(weights) {
    const scroll = element("div", "scroll");
    const table = element("table", "", scroll);
    const head = element("tr", "", table);
    for (const name of ["weight", "shape"]) element("th", "", head, name);
    for (const weight of weights) {
      const row = element("tr", "", table);
      for (const cell of weight) element("td", "", row, cell);
    }
    return scroll;
  }

  layout() {
    this.width = this.root.clientWidth;
    const { left, top } = this.picture.getBoundingClientRect();
    const rect = (node) => {
      const box = node.getBoundingClientRect();
      return { x: box.left + box.width / 2 - left, left: box.left - left, right: box.right - left,
        top: box.top - top, bottom: box.bottom - top };
    };
    this.lines.replaceChildren();
    this.columns.forEach((column, number) => this.wire(column, rect, number === 0 ? -1 : 1));
    const [encoder, decoder] = this.columns;
    if (decoder?.reader) this.lead(encoder, decoder, rect);
  }

  wire({ stream, loops }, rect, side) {
    const { text, muted } = this.data.colors;
    for (let i = 1; i < stream.length; i++) {
      const [from, to] = [rect(stream[i - 1]), rect(stream[i])];
      this.line([[to.x, from.top], [to.x, to.bottom + 1]], text);
    }
    for (const [first, plus] of loops) {
      const [start, end] = [rect(first), rect(plus)];
      const out = side < 0 ? start.left - 11 : start.right + 11;
      const y = start.bottom + 8;
      this.line([[start.x, y], [out, y], [out, (end.top + end.bottom) / 2],
        [side < 0 ? end.left - 1 : end.right + 1, (end.top + end.bottom) / 2]], muted);
    }
  }

  // The encoder's output, from its top into the decoder's cross-attention.
  lead(encoder, decoder, rect) {
    const [from, to] = [rect(encoder.top), rect(decoder.reader)];
    const middle = (rect(encoder.box).right + rect(decoder.box).left) / 2;
    const up = Math.min(from.top, rect(encoder.layers).top) - 9;
    const y = (to.top + to.bottom) / 2;
    this.line([[from.x, from.top], [from.x, up], [middle, up], [middle, y], [to.left - 2, y]],
      this.data.colors.accent, 2.5);
  }

  line(points, color, width = 1.6) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", "M" + points.map((point) => point.join(" ")).join("L"));
    Object.assign(path.style, { fill: "none", stroke: color, strokeWidth: width });
    const [[x0, y0], [x, y]] = points.slice(-2);
    const angle = (Math.atan2(y - y0, x - x0) * 180) / Math.PI;
    const head = document.createElementNS(SVG, "path");
    head.setAttribute("d", "M0 0L-8 -4.5L-8 4.5Z");
    head.setAttribute("transform", `translate(${x} ${y}) rotate(${angle})`);
    head.style.fill = color;
    this.lines.append(path, head);
  }
}

export default (component) => mountView(component, "architecture", (root) => new Architecture(root));
