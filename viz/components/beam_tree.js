// A beam search as a tree: step through it, choose a node, go on from any token of it.

const SVG = "http://www.w3.org/2000/svg";

function shape(tag, attributes, parent, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

// Rounded, but nothing possible is shown as 0 and nothing uncertain as 100.
function percent(p) {
  if (p > 0 && p < 0.0005) return "< 0.1 %";
  if (p < 1 && p >= 0.9995) return "> 99.9 %";
  return (100 * p).toFixed(1) + " %";
}

// What stands at the line between the kept candidates of a column and the pruned ones.
const cutLabel = (cut) => (cut === null ? "out" : `score below ${format(cut)}: out`);

class BeamTree {
  constructor(root) {
    this.root = root;
    this.pen = document.createElement("canvas").getContext("2d");
    this.controls(element("div", "hl-bar", root));
    this.stage = element("div", "hl-tree", root);
    this.stage.tabIndex = 0;
    this.stage.setAttribute("role", "application");
    this.stage.onkeydown = (event) => this.press(event);
    this.legend = element("div", "hl-legend", root);
    this.details = element("div", "hl-node", root);
    this.ranking = element("div", "hl-ranking", root);
    this.say = announcerOf(root);
  }

  controls(bar) {
    const button = (text, label, move) => {
      const made = element("button", "", bar, text);
      made.setAttribute("aria-label", label);
      made.onclick = () => this.goTo(move());
      return made;
    };
    this.back = button("◀", "one step back", () => this.step - 1);
    const label = element("label", "hl-step-slider", bar);
    this.slider = Object.assign(element("input", "", label), { type: "range", step: 1 });
    this.slider.setAttribute("aria-label", "step of the search");
    this.slider.oninput = () => this.goTo(Number(this.slider.value));
    this.forth = button("▶", "one step on", () => this.step + 1);
    this.summary = element("output", "", bar);
  }

  update() {
    const { nodes, cuts, selected, step, title } = this.data;
    this.pen.font = fontOf(this.root, 14);
    const labels = cuts.map((cut) => this.pen.measureText(cutLabel(cut)).width);
    this.pen.font = fontOf(this.root, 16, 600);
    this.tree = new TreeLayout(nodes, (i) => this.pen.measureText(nodes[i].token).width + 92, labels);
    const search = nodes.map(({ parent, token }) => `${parent} ${token}`).join();
    const another = search !== this.search;
    this.search = search;
    if (another) {
      clearTimeout(this.timer);
      this.timer = null;
    }
    const moved = movedByPython(this, [selected, step]) && (selected !== this.chosen || step !== this.step);
    if (another || moved) {
      this.chosen = selected;
      this.step = step;
      this.leaf = this.leafOf(selected);
      this.unseen = true;
    }
    Object.assign(this.slider, { min: this.data.given, max: this.tree.last });
    const keys = "arrow keys go from node to node, Page Up and Page Down from step to step, Enter goes on";
    this.stage.setAttribute("aria-label", `${title}: ${keys}`);
    this.draw();
    this.mark();
    this.layout();
  }

  // Called when the width changes too: the tree itself scrolls, so only what is seen of it is moved.
  layout() {
    this.width = this.root.clientWidth;
    if (!this.width || !this.unseen) return;
    this.unseen = false;
    this.reveal();
  }

  press(event) {
    const { nodes } = this.data;
    const column = this.tree.columns[nodes[this.chosen].depth];
    const row = column.indexOf(this.chosen);
    const children = this.tree.children[this.chosen];
    const moves = {
      ArrowLeft: () => this.choose(nodes[this.chosen].parent ?? this.chosen, KEY_DELAY),
      ArrowRight: () => this.choose(this.firstOf(children), KEY_DELAY),
      ArrowUp: () => this.choose(column[Math.max(row - 1, 0)], KEY_DELAY),
      ArrowDown: () => this.choose(column[Math.min(row + 1, column.length - 1)], KEY_DELAY),
      PageUp: () => this.goTo(this.step - 1),
      PageDown: () => this.goTo(this.step + 1),
      Home: () => this.goTo(this.data.given),
      End: () => this.goTo(this.tree.last),
      Enter: () => this.goOn(),
    };
    if (!moves[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    moves[event.key]();
  }

  // A step is counted like the decoder's positions: the first token is chosen at position 0, that of <bos>.
  stepName(depth) {
    return `step ${depth - 1}`;
  }

  // Where the path through a node ends: with a returned hypothesis, if one goes through it.
  leafOf(node) {
    const returned = this.data.hypotheses.find((hypothesis) => this.tree.path(hypothesis.node).includes(node));
    return returned ? returned.node : this.tree.onward(node);
  }

  // The child that the path to the chosen leaf takes, else the best.
  firstOf(children) {
    const path = new Set(this.tree.path(this.leaf));
    const column = this.tree.columns[this.data.nodes[this.chosen].depth + 1] ?? [];
    const standing = column.filter((i) => children.includes(i));
    return standing.find((i) => path.has(i)) ?? standing[0] ?? this.chosen;
  }

  choose(node, delay = 0) {
    const { nodes } = this.data;
    if (node === this.chosen || nodes[node].depth === 0) return;
    this.chosen = node;
    this.step = Math.max(this.step, nodes[node].depth);
    if (!this.tree.path(this.leaf).includes(node)) this.leaf = this.leafOf(node);
    this.moved(delay);
  }

  goTo(step) {
    const to = clamp(step, this.data.given, this.tree.last);
    if (to === this.step) return;
    this.step = to;
    if (this.data.nodes[this.leaf].depth < to) this.leaf = this.leafOf(this.tree.best(to));
    const path = this.tree.path(this.leaf);
    this.chosen = path[Math.min(to, path.length - 1)];
    this.moved(KEY_DELAY);
  }

  moved(delay) {
    this.mark();
    this.reveal();
    const node = this.data.nodes[this.chosen];
    this.say(`${this.stepName(node.depth)}: ${node.token}, ${percent(node.probability)}. ${node.why}`);
    report(this, { node: this.chosen, step: this.step }, delay);
  }

  goOn() {
    if (this.data.nodes[this.chosen].open) report(this, { go_on: this.chosen });
  }

  draw() {
    const { tree, data } = this;
    const [width, height] = tree.size;
    const svg = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, this.stage);
    this.stage.replaceChildren(svg);
    this.heads = tree.columns.map((_, depth) => this.head(svg, depth));
    this.edges = data.nodes.map((node, i) => node.parent !== null && this.edge(svg, node.parent, i));
    this.marks = data.nodes.map((node, i) => this.node(svg, node, i));
    this.drawLegend();
    this.rank();
  }

  head(svg, depth) {
    const { x, y, width, cuts } = this.tree.cuts[depth];
    const head = shape("g", { class: "head" }, svg);
    const name = depth === 0 ? "start" : depth < this.data.given ? "given" : this.stepName(depth);
    shape("text", { x: x + width / 2, y: 20, "text-anchor": "middle" }, head, name);
    if (!cuts) return head;
    shape("line", { x1: x - 10, x2: x + width + 10, y1: y + 16, y2: y + 16 }, head);
    const line = cutLabel(this.data.cuts[depth]);
    shape("text", { x: x + width / 2, y: y + 11, "text-anchor": "middle", class: "cut" }, head, line);
    const more = this.data.more[depth];
    const bottom = Math.max(...this.tree.columns[depth].map((i) => this.tree.boxes[i].y)) + ROW.height + 16;
    const left = `+ ${more.toLocaleString("en")} more`;
    if (more) shape("text", { x: x + width / 2, y: bottom, "text-anchor": "middle" }, head, left);
    return head;
  }

  edge(svg, parent, i) {
    const [from, to] = [this.tree.boxes[parent], this.tree.boxes[i]];
    const [x1, y1] = [from.x + from.width, from.y + from.height / 2];
    const [x2, y2] = [to.x, to.y + to.height / 2];
    const bend = (x2 - x1) / 2;
    return shape("path", { d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` }, svg);
  }

  node(svg, { token, probability, kind }, i) {
    const { x, y, width, height } = this.tree.boxes[i];
    const mark = shape("g", {}, svg);
    mark.onclick = () => this.choose(i);
    mark.ondblclick = () => this.goOn();
    shape("title", {}, mark, token);
    const round = kind === "ended" ? height / 2 : 6;
    shape("rect", { x, y, width, height, rx: round, class: "box" }, mark);
    shape("rect", { x: x + 8, y: y + height - 6, width: (width - 16) * probability, height: 3, class: "bar" }, mark);
    const text = shorten(this.pen, token, width - 84);
    shape("text", { x: x + 10, y: y + 20, class: "token" }, mark, text);
    shape("text", { x: x + width - 9, y: y + 20, "text-anchor": "end", class: "chance" }, mark, percent(probability));
    return mark;
  }

  // What changes from step to step and from node to node: classes only, the shapes stay.
  mark() {
    const { tree, data } = this;
    const path = new Set(tree.path(this.leaf).filter((i) => data.nodes[i].depth <= this.step));
    const strong = (i) => (path.has(i) ? " path" : "");
    tree.fates(this.step).forEach((fate, i) => {
      const chosen = i === this.chosen ? " chosen" : "";
      this.marks[i].setAttribute("class", `node ${fate}${strong(i)}${chosen}`);
      if (this.edges[i]) this.edges[i].setAttribute("class", `edge ${fate}${strong(i)}`);
    });
    this.heads.forEach((head, depth) => head.setAttribute("class", depth > this.step ? "head future" : "head"));
    this.slider.value = this.step;
    this.back.disabled = this.step <= data.given;
    this.forth.disabled = this.step >= tree.last;
    this.summary.textContent = `${this.stepName(this.step)} (the last is ${tree.last - 1})`;
    this.describe();
    [...this.ranking.querySelectorAll("button")].forEach((button, i) => {
      button.setAttribute("aria-pressed", data.hypotheses[i].node === this.leaf);
    });
  }

  describe() {
    const node = this.data.nodes[this.chosen];
    const title = element("div", "title");
    title.append(node.depth ? `Step ${node.depth - 1}: ` : "Start: ", element("span", "word", null, node.token));
    const numbers = element("div", "numbers");
    for (const [name, value] of node.numbers) {
      const entry = element("span", "", numbers);
      entry.append(name + " ", element("b", "", null, value));
    }
    const why = element("div", "why", null, node.why);
    const go = element("button", "go", null, "Go on from here");
    go.disabled = !node.open;
    go.title = node.open ? "The search begins again behind this token" : "Nothing can come behind this token";
    go.onclick = () => this.goOn();
    this.details.replaceChildren(title, numbers, why, go);
  }

  // The hypotheses that the search returned, best first.
  rank() {
    const { hypotheses } = this.data;
    const rows = hypotheses.map(({ node, text, score }, i) => {
      const row = element("button");
      element("span", "place", row, `${i + 1}.`);
      element("span", "word", row, text);
      element("span", "score", row, `score ${format(score)}`);
      row.onclick = () => this.follow(node);
      return row;
    });
    const heading = element("div", "hl-legend-label", null, "What the search returned, best first");
    this.ranking.replaceChildren(heading, ...rows);
  }

  follow(node) {
    this.leaf = this.chosen = node;
    this.step = this.tree.last;
    this.moved(0);
  }

  drawLegend() {
    const entries = [
      ["path", "the path of the chosen hypothesis"],
      ["alive", "kept"],
      ["dead", "kept, but led nowhere"],
      ["pruned", "pruned at once"],
      ["ended", "ended the sentence"],
    ].map(([kind, text]) => {
      const entry = element("span", "hl-legend-entry");
      element("span", "hl-swatch " + kind, entry);
      element("span", "", entry, text);
      return entry;
    });
    this.legend.replaceChildren(...entries);
  }

  reveal() {
    const { x, width } = this.tree.boxes[this.chosen];
    const room = this.stage.clientWidth;
    const ahead = this.step === this.tree.last ? 0 : COLUMN.least + COLUMN.gap;
    this.stage.scrollLeft = clamp(this.stage.scrollLeft, x + width + ahead + MARGIN - room, x - COLUMN.gap - ahead);
  }
}

export default (component) => mountView(component, "beam_tree", (root) => new BeamTree(root));
