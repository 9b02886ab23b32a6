// Layout and axes of a matrix: the size and place of its cells, and the tokens beside rows and columns.

const FONT = 15;
const SMALL = 14;
const SLANT = -Math.PI / 4;
const COS = Math.cos(SLANT);
// The axis title, the positions and the space between them, without the tokens.
const HEADER = 64;
const MARGIN = 4;
const CELL = { smallest: 4, largest: 96, fitted: 48, labelled: 21 };
const LABEL_LIMIT = 150;
const TALLEST = 820;
const FEW = 48;

// How far a slanted label reaches to the right: the corner of its last letter too.
const slantedWidth = (label) => (label + FONT / 2) * COS;

class MatrixAxes {
  constructor(root) {
    this.root = root;
    this.pen = document.createElement("canvas").getContext("2d");
  }

  // The room that labels need, from the tokens and the width there is.
  measure(data, width) {
    this.data = data;
    this.pen.font = fontOf(this.root, FONT);
    this.limit = Math.min(LABEL_LIMIT, width * 0.28);
    const widths = (tokens) => tokens.map((token) => Math.min(this.limit, this.pen.measureText(token).width));
    const queries = Math.max(...widths(data.queries));
    const digits = this.pen.measureText(String(Math.max(data.queries.length, data.keys.length))).width;
    this.left = Math.ceil(24 + queries + 10 + digits + 8);
    this.keyWidths = widths(data.keys);
    this.keyWidth = Math.max(...this.keyWidths);
    this.digits = digits;
  }

  // The largest cell with which the whole matrix is seen, within limits; few tokens keep all labels.
  fit(width) {
    const { queries, keys } = this.data;
    const room = width - this.left - MARGIN;
    const labels = this.keyWidths.map((label, key) => (room - slantedWidth(label)) / (key + 0.5));
    const across = Math.min(room / keys.length, ...labels);
    const down = (TALLEST - HEADER - this.keyWidth * COS - MARGIN) / queries.length;
    const smallest = Math.max(queries.length, keys.length) > FEW ? CELL.smallest : CELL.labelled;
    return clamp(Math.floor(Math.min(across, down)), smallest, CELL.fitted);
  }

  // Everything that follows from the size of a cell.
  place(cell) {
    const { queries, keys } = this.data;
    this.cell = cell;
    this.upright = this.keyWidth <= cell - 6;
    this.top = Math.ceil(HEADER + (this.upright ? FONT - 8 : this.keyWidth * COS));
    const ends = this.keyWidths.map((label, key) => (key + 0.5) * cell + slantedWidth(label));
    const across = Math.max(keys.length * cell, ...(this.upright ? [] : ends));
    this.everyQuery = Math.ceil((FONT + 3) / cell);
    this.everyKey = Math.ceil(Math.max(FONT + 3, (this.digits * SMALL) / FONT + 3) / cell);
    this.width = Math.ceil(this.left + across + MARGIN);
    this.height = this.top + queries.length * cell + MARGIN;
  }

  paint(pen, scroll, view) {
    const { data, cell, left, top } = this;
    const { colors } = data;
    pen.fillStyle = colors.background;
    pen.fillRect(0, 0, view[0], top);
    pen.fillRect(0, 0, left, view[1]);
    this.titles(pen, view);
    this.clipped(pen, 0, top - SMALL / 2, left, view[1], () => {
      for (let query = 0; query < data.queries.length; query += this.everyQuery) {
        this.rowLabel(pen, query, top + (query + 0.5) * cell - scroll[1], colors.text, 400);
      }
    });
    this.clipped(pen, left - 8, 0, view[0] - left + 8, top, () => {
      for (let key = 0; key < data.keys.length; key += this.everyKey) {
        this.columnLabel(pen, key, left + (key + 0.5) * cell - scroll[0], colors.text, 400);
      }
    });
  }

  titles(pen, [width, height]) {
    const { data, left, top } = this;
    pen.font = fontOf(this.root, SMALL + 1, 600);
    pen.fillStyle = data.colors.muted;
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    pen.fillText(shorten(pen, data.key_axis + "  →", width - 12), Math.min(left, width * 0.3), 10);
    pen.save();
    const title = shorten(pen, "←  " + data.query_axis, height - 24);
    pen.translate(10, clamp(height - 4 - pen.measureText(title).width, 20, top));
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "right";
    pen.fillText(title, 0, 0);
    pen.restore();
  }

  clipped(pen, x, y, width, height, draw) {
    pen.save();
    pen.beginPath();
    pen.rect(x, y, width, height);
    pen.clip();
    draw();
    pen.restore();
  }

  rowLabel(pen, query, y, color, weight) {
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    pen.fillStyle = this.data.colors.muted;
    pen.font = fontOf(this.root, SMALL, weight);
    pen.fillText(query, this.left - 8, y);
    pen.fillStyle = color;
    pen.font = fontOf(this.root, FONT, weight);
    pen.fillText(shorten(pen, this.data.queries[query], this.limit), this.left - 18 - this.digits, y);
  }

  // How close to a column's label another one would run into it.
  reach() {
    return this.upright ? 0 : (FONT + 2) / Math.abs(Math.sin(SLANT));
  }

  // The ground under one column's label, where others may have been written.
  columnPatch(pen, key, x, width, tall = FONT + 4) {
    pen.save();
    pen.translate(x, this.top - SMALL - (this.upright ? 16 : 12));
    if (this.upright) pen.fillRect(-width / 2, -tall / 2, width, tall);
    else {
      pen.rotate(SLANT);
      // A bold label is a little wider than the plain one that was measured.
      pen.fillRect(-4, -tall / 2, this.keyWidths[key] * 1.1 + 8, tall);
    }
    pen.restore();
    pen.fillRect(x - width / 2, this.top - SMALL - 6, width, SMALL + 4);
  }

  columnLabel(pen, key, x, color, weight) {
    pen.textBaseline = "middle";
    pen.textAlign = "center";
    pen.fillStyle = this.data.colors.muted;
    pen.font = fontOf(this.root, SMALL, weight);
    pen.fillText(key, x, this.top - SMALL / 2 - 4);
    pen.save();
    pen.fillStyle = color;
    pen.font = fontOf(this.root, FONT, weight);
    pen.translate(x, this.top - SMALL - (this.upright ? 16 : 12));
    if (!this.upright) {
      pen.rotate(SLANT);
      pen.textAlign = "left";
    }
    pen.fillText(shorten(pen, this.data.keys[key], this.limit), 0, 0);
    pen.restore();
  }
}
