// Paints the visible cells of a matrix: closed ones, the lines between cells, the numbers.

class MatrixPainter {
  // visible: first and last row and column (ends excluded); x, y: where the matrix begins, in CSS pixels.
  constructor(pen, axes, cells, visible, x, y) {
    Object.assign(this, { pen, axes, cells, visible, x, y });
  }

  closedCells() {
    const { pen, x, y, cells } = this;
    const { cell } = this.axes;
    const { colors, reasons } = cells.data;
    const [first, last] = this.visible;
    const areas = reasons.map(() => new Path2D());
    for (let query = first; query < last; query++) {
      for (const [from, to, reason] of cells.runs[query]) {
        areas[reason - 1].rect(x + from * cell, y + query * cell, (to - from) * cell, cell);
      }
    }
    areas.forEach((area, i) => {
      for (const fill of [colors.masked, hatching(pen, colors.hatch, i + 1)]) {
        pen.fillStyle = fill;
        pen.fill(area);
      }
    });
  }

  gridLines() {
    const { pen, x, y } = this;
    const { cell } = this.axes;
    const [top, bottom, left, right] = this.visible;
    pen.beginPath();
    for (let query = top; query <= bottom; query++) {
      pen.moveTo(x + left * cell, y + query * cell);
      pen.lineTo(x + right * cell, y + query * cell);
    }
    for (let key = left; key <= right; key++) {
      pen.moveTo(x + key * cell, y + top * cell);
      pen.lineTo(x + key * cell, y + bottom * cell);
    }
    pen.strokeStyle = this.cells.data.colors.grid;
    pen.stroke();
  }

  // The largest size, and if need be the shorter writing, with which every number fits into its cell.
  numberStyle() {
    const { pen, cells } = this;
    const { cell, root } = this.axes;
    const short = cells.data.kind === "scores" ? (value) => fixed(value, 1) : shortWeight;
    const full = (value) => fixed(value, 2);
    for (const [size, write] of [[15, full], [14, full], [13, full], [13, short]]) {
      pen.font = fontOf(root, size);
      const widths = [...cells.range, 0].map((value) => pen.measureText(write(value)).width);
      if (Math.max(...widths) <= cell - 5 && cell >= size + 4) return write;
    }
    return null;
  }

  numbers() {
    const { pen, x, y, cells } = this;
    const { cell } = this.axes;
    const write = this.numberStyle();
    if (!write) return;
    const [top, bottom, left, right] = this.visible;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (let query = top; query < bottom; query++) {
      for (let key = left; key < right; key++) {
        const value = cells.at(query, key);
        const closed = cells.reason(query, key);
        if (closed && value === 0) continue;
        const text = Number.isFinite(value) ? write(value) : format(value);
        pen.fillStyle = closed ? cells.data.colors.text : inkOn(cells.color(value));
        pen.globalAlpha = /[1-9∞]/.test(text) ? 1 : 0.5;
        pen.fillText(text, x + (key + 0.5) * cell, y + (query + 0.5) * cell + 1);
      }
    }
    pen.globalAlpha = 1;
  }
}

// ".23" for 0.23, and "1" for what is 1.00.
const shortWeight = (value) => value.toFixed(2).replace(/^0/, "").replace(/^1.00$/, "1");
