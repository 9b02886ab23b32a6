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

  // The first of these sizes and precisions with which every number fits into its cell; -1 for none.
  numberStyle() {
    const { pen } = this;
    const { cell, root } = this.axes;
    for (const [size, digits] of [[15, 2], [14, 2], [13, 2], [13, 1]]) {
      pen.font = fontOf(root, size);
      const widths = this.cells.range.map((value) => pen.measureText(value.toFixed(digits)).width);
      if (Math.max(...widths) <= cell - 5 && cell >= size + 4) return digits;
    }
    return -1;
  }

  numbers() {
    const { pen, x, y, cells } = this;
    const { cell } = this.axes;
    const digits = this.numberStyle();
    if (digits < 0) return;
    const [top, bottom, left, right] = this.visible;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (let query = top; query < bottom; query++) {
      for (let key = left; key < right; key++) {
        const value = cells.at(query, key);
        const closed = cells.reason(query, key);
        if (closed && value === 0) continue;
        pen.fillStyle = closed ? cells.data.colors.text : inkOn(cells.color(value));
        pen.globalAlpha = Math.abs(value) < 0.5 * 10 ** -digits ? 0.5 : 1;
        const text = Number.isFinite(value) ? value.toFixed(digits).replace("-", "−") : format(value);
        pen.fillText(text, x + (key + 0.5) * cell, y + (query + 0.5) * cell + 1);
      }
    }
    pen.globalAlpha = 1;
  }
}
