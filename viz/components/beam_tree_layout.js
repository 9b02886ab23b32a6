// Where the nodes of a search stand, and how each of them is doing after so many steps.
// A column is a step; in it the candidates stand by score, those that the search kept above the line.

const COLUMN = { least: 92, most: 200, gap: 40 };
const ROW = { height: 34, pitch: 42 };
const TOP = 34;
const MARGIN = 8;
const CUT = 26;
const APART = 14; // between the labels of two lines, which reach into the gap between their columns

class TreeLayout {
  // widthOf(node) is what its text needs, labels[depth] what the text at the column's line does, in CSS pixels.
  constructor(nodes, widthOf, labels) {
    this.nodes = nodes;
    this.columns = [];
    nodes.forEach((node, i) => (this.columns[node.depth] ??= []).push(i));
    this.children = nodes.map(() => []);
    nodes.forEach((node, i) => node.parent !== null && this.children[node.parent].push(i));
    const place = (i) => (nodes[i].kind === "pruned" ? 1e6 : 0) + nodes[i].rank;
    for (const column of this.columns) column.sort((a, b) => place(a) - place(b));
    this.last = this.columns.length - 1;
    this.measure(widthOf, labels);
  }

  measure(widthOf, labels) {
    let x = MARGIN;
    this.boxes = [];
    this.cuts = [];
    let bottom = 0;
    this.columns.forEach((column, depth) => {
      const kept = column.filter((i) => this.nodes[i].kind !== "pruned").length;
      const label = kept < column.length ? labels[depth] + APART - COLUMN.gap : 0;
      const tokens = clamp(Math.max(...column.map(widthOf)), COLUMN.least, COLUMN.most);
      const width = Math.ceil(Math.max(tokens, label));
      column.forEach((i, row) => {
        const y = TOP + row * ROW.pitch + (row >= kept ? CUT : 0);
        this.boxes[i] = { x, y, width, height: ROW.height };
        bottom = Math.max(bottom, y + ROW.height);
      });
      this.cuts.push({ x, y: TOP + kept * ROW.pitch + 4, width, cuts: kept < column.length });
      x += width + COLUMN.gap;
    });
    this.size = [x - COLUMN.gap + MARGIN, bottom + CUT];
  }

  // From the root to the node, both included.
  path(i) {
    const path = [];
    for (let at = i; at !== null; at = this.nodes[at].parent) path.unshift(at);
    return path;
  }

  // The best way on from a node, to its end: by score among the continuations that were kept.
  onward(i) {
    const next = this.columns[this.nodes[i].depth + 1]?.find((child) => {
      return this.nodes[child].parent === i && this.nodes[child].kind !== "pruned";
    });
    return next === undefined ? i : this.onward(next);
  }

  // The best hypothesis after a step: one that still runs, or one that has ended by then.
  best(step) {
    const { nodes } = this;
    const runs = (i) => (nodes[i].depth === step ? nodes[i].kind !== "pruned" : nodes[i].kind === "ended");
    const found = nodes.map((_, i) => i).filter((i) => nodes[i].depth <= step && runs(i));
    return found.reduce((a, b) => (nodes[b].score > nodes[a].score ? b : a), found[0] ?? 0);
  }

  // After a step: "future", "pruned", "ended", "alive", or "dead" for what was kept once and led nowhere.
  fates(step) {
    const alive = new Set();
    this.nodes.forEach(({ depth, kind }, i) => {
      const runs = kind === "ended" || (depth === step && kind !== "pruned");
      if (depth <= step && runs) for (const at of this.path(i)) alive.add(at);
    });
    return this.nodes.map(({ depth, kind }, i) => {
      if (depth > step) return "future";
      if (kind === "pruned" || kind === "ended") return kind;
      return alive.has(i) ? "alive" : "dead";
    });
  }
}
