// One head large: a row is a query, a column is a key. Hovering previews, a click locks.

const NOTHING = null;
const sameCell = (a, b) => a === b || (a && b && a[0] === b[0] && a[1] === b[1]);

class AttentionMatrix {
  constructor(root) {
    this.root = root;
    this.axes = new MatrixAxes(root);
    this.hovered = this.locked = NOTHING;
    const bar = element("div", "hl-bar", root);
    this.legend = element("div", "hl-legend", bar);
    const zoom = element("div", "hl-zoom", bar);
    const zooms = [["−", "smaller cells", 1 / 1.35], ["+", "larger cells", 1.35], ["fit", "whole matrix", 0]];
    for (const [text, label, factor] of zooms) {
      const button = element("button", "", zoom, text);
      button.setAttribute("aria-label", label);
      button.onclick = () => this.zoomBy(factor);
    }
    this.box = element("div", "hl-box", root);
    this.box.tabIndex = 0;
    this.box.setAttribute("role", "application");
    this.fade = fadeWhereMore(this.box);
    this.space = element("div", "hl-space", this.box);
    this.window = element("div", "hl-window", this.space);
    this.canvas = element("canvas", "", this.window);
    this.overlay = element("canvas", "hl-overlay", this.window);
    this.note = element("div", "hl-note", root);
    this.say = announcerOf(root);
    this.tip = tooltipOf(root);
    this.listen();
  }

  listen() {
    this.box.onscroll = () => this.paint();
    this.box.onpointermove = (event) => this.point(this.cellAt(event), event);
    this.box.onpointerleave = this.box.onblur = () => this.point(NOTHING);
    this.box.onclick = (event) => {
      const cell = this.cellAt(event);
      if (cell) this.lock(cell);
    };
    this.box.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.box.onkeydown = (event) => this.press(event);
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoomBy(event.deltaY < 0 ? 1.15 : 1 / 1.15, this.cellAt(event), event);
  }

  press(event) {
    const step = ARROWS[event.key];
    if (step) {
      const [query, key] = this.hovered ?? this.locked ?? [-step[0], -step[1]];
      const { queries, keys } = this.cells;
      const cell = [clamp(query + step[0], 0, queries - 1), clamp(key + step[1], 0, keys - 1)];
      this.reveal(cell);
      this.point(cell);
      this.say(this.describe(cell).map(([, text]) => text).join(". "));
    } else if (event.key === "Enter" || event.key === " ") {
      if (this.hovered) this.lock(this.hovered);
    } else if (event.key === "Escape") {
      this.point(NOTHING);
      if (this.locked) this.lock(NOTHING);
    } else return;
    event.preventDefault();
  }

  lock(cell) {
    if (sameCell(cell, this.locked)) return;
    this.locked = cell;
    this.mark();
    report(this, cell ? { query: cell[0], key: cell[1] } : "cleared");
  }

  update() {
    const { data } = this;
    const shape = [data.queries.length, data.keys.length].join();
    if (shape !== this.shape) {
      this.size = null;
      this.hovered = this.locked = NOTHING;
      this.tip.hide();
      this.box.scrollTo(0, 0);
    }
    this.shape = shape;
    if (movedByPython(this, data.selected)) this.locked = data.selected;
    this.cells = new MatrixCells(data);
    this.raster = this.cells.raster();
    this.box.setAttribute("aria-label", data.title + ": arrow keys move, Enter selects, Escape clears");
    this.drawLegend();
    this.layout();
    if (this.hovered) this.point(this.hovered, this.pointer);
  }

  drawLegend() {
    const { data, cells } = this;
    const { colors, label, kind } = data;
    const used = data.reasons.map((reason, i) => [reason, i + 1]).filter(([, n]) => cells.closed.includes(n));
    const closed = used.map(([reason, number]) => [reason, hatchSwatch(colors, number)]);
    if (kind === "mask") {
      const open = [["open: may be looked at", css(cells.color(1))]];
      drawLegend(this.legend, colors, { label, swatches: [...open, ...closed] });
      return;
    }
    const [low, high] = cells.range;
    const ticks = [low, (low + high) / 2, high].map((value) => format(value));
    const stops = kind === "scores" ? colors.diverging : colors.sequential;
    drawLegend(this.legend, colors, { stops, ticks, label: scaleLabel(data, ticks[2]), swatches: closed });
  }

  layout() {
    const width = (this.width = this.root.clientWidth);
    if (!width || !this.cells) return;
    this.axes.measure(this.data, width);
    this.axes.place(this.size ?? this.fit(width));
    Object.assign(this.space.style, { width: this.axes.width + "px", height: this.axes.height + "px" });
    this.box.style.maxHeight = TALLEST + "px";
    this.paint();
    this.fade();
    const size = `${this.cells.queries} queries × ${this.cells.keys} keys`;
    const advice = size + ": scroll to see the rest, or make the cells smaller.";
    this.note.textContent = this.cutsCells() ? advice : "";
  }

  // The size of a cell that suits this matrix and those it is compared with.
  fit(width) {
    const sizes = this.data.beside.map((tokens) => {
      const axes = new MatrixAxes(this.root);
      axes.measure({ ...this.data, ...tokens }, width);
      return axes.fit(width);
    });
    return Math.min(this.axes.fit(width), ...sizes);
  }

  // The box may also scroll for the end of a slanted label alone: then there is no cell to look for.
  cutsCells() {
    const { cell, left, top } = this.axes;
    const { clientWidth, clientHeight } = this.box;
    return left + this.cells.keys * cell > clientWidth || top + this.cells.queries * cell > clientHeight;
  }

  zoomBy(factor, cell, event) {
    const before = this.axes.cell;
    const [query, key] = cell ?? [this.cells.queries / 2, this.cells.keys / 2];
    const wanted = factor > 1 ? Math.ceil(before * factor) : Math.floor(before * factor);
    this.size = factor ? clamp(wanted, CELL.smallest, CELL.largest) : null;
    this.layout();
    const grown = this.axes.cell - before;
    this.box.scrollBy((key + 0.5) * grown, (query + 0.5) * grown);
    this.paint();
    if (event) this.point(this.cellAt(event), event);
  }

  reveal([query, key]) {
    const { cell, left, top } = this.axes;
    const keep = (position, scroll, room) => clamp(scroll, (position + 1) * cell - room, position * cell);
    this.box.scrollLeft = keep(key, this.box.scrollLeft, this.box.clientWidth - left);
    this.box.scrollTop = keep(query, this.box.scrollTop, this.box.clientHeight - top);
    this.paint();
  }

  paint() {
    const { axes, cells, data } = this;
    const view = [this.box.clientWidth, this.box.clientHeight];
    const scroll = [this.box.scrollLeft, this.box.scrollTop];
    Object.assign(this.window.style, { width: view[0] + "px", height: view[1] + "px" });
    const pen = prepare(this.canvas, ...view);
    const { cell, left, top } = axes;
    const [x, y] = [left - scroll[0], top - scroll[1]];
    const visible = [scroll[1], scroll[1] + view[1] - top, scroll[0], scroll[0] + view[0] - left]
      .map((edge, i) => clamp(Math.floor(edge / cell) + (i % 2), 0, i < 2 ? cells.queries : cells.keys));
    const painter = new MatrixPainter(pen, axes, cells, visible, x, y);
    painter.closedCells();
    pen.drawImage(this.raster, x, y, cells.keys * cell, cells.queries * cell);
    if (cell >= 12) painter.gridLines();
    if (data.kind !== "mask") painter.numbers();
    axes.paint(pen, scroll, view);
    this.mark();
  }

  // Row and column of what is hovered, else of what is locked; on their own canvas.
  mark() {
    const { axes, data } = this;
    const view = [this.box.clientWidth, this.box.clientHeight];
    const pen = prepare(this.overlay, ...view);
    const { cell, left, top } = axes;
    const [x, y] = [left - this.box.scrollLeft, top - this.box.scrollTop];
    const focused = this.hovered ?? this.locked;
    axes.clipped(pen, left - 3, top - 3, view[0] - left + 3, view[1] - top + 3, () => {
      if (focused) this.outline(pen, focused, x, y, data.colors.text, 1.5);
      if (this.locked) this.frame(pen, this.locked, x, y, data.colors.accent, 4);
      if (this.hovered) this.frame(pen, this.hovered, x, y, data.colors.text, 2);
    });
    if (focused) this.markLabels(pen, focused, x, y, view);
    this.showOnScale(focused);
  }

  outline(pen, [query, key], x, y, color, width) {
    const { cell } = this.axes;
    pen.strokeStyle = color;
    pen.lineWidth = width;
    pen.globalAlpha = 0.75;
    pen.strokeRect(x, y + query * cell, this.cells.keys * cell, cell);
    pen.strokeRect(x + key * cell, y, cell, this.cells.queries * cell);
    pen.globalAlpha = 1;
  }

  frame(pen, [query, key], x, y, color, width) {
    const { cell } = this.axes;
    pen.strokeStyle = color;
    pen.lineWidth = width;
    pen.strokeRect(x + key * cell, y + query * cell, cell, cell);
  }

  // The two labels in bold, also where cells are too small for all labels.
  markLabels(pen, [query, key], x, y, view) {
    const { axes, data } = this;
    const { cell, left, top } = axes;
    const [middle, center] = [y + (query + 0.5) * cell, x + (key + 0.5) * cell];
    const tall = Math.max(cell, FONT + 6);
    if (middle > top) {
      this.hideRows(pen, query, y);
      pen.fillStyle = data.colors.surface;
      pen.fillRect(22, middle - tall / 2, left - 24, tall);
      axes.rowLabel(pen, query, middle, data.colors.accent, 700);
    }
    if (center < left || center > view[0]) return;
    this.hideColumns(pen, key, x);
    pen.fillStyle = data.colors.surface;
    axes.columnPatch(pen, key, center, tall);
    axes.columnLabel(pen, key, center, data.colors.accent, 700);
  }

  // Where labels stand closer than they are tall, those that the bold one would run into give way to it.
  hideRows(pen, query, y) {
    const { cell, everyQuery, left, top } = this.axes;
    pen.fillStyle = this.data.colors.background;
    for (let row = 0; row < this.cells.queries; row += everyQuery) {
      const apart = Math.abs(row - query) * cell;
      const middle = y + (row + 0.5) * cell;
      if (apart && apart < FONT + 5 && middle > top) pen.fillRect(22, middle - FONT / 2, left - 26, FONT);
    }
  }

  hideColumns(pen, key, x) {
    const { axes } = this;
    pen.fillStyle = this.data.colors.background;
    for (let column = 0; column < this.cells.keys; column += axes.everyKey) {
      const apart = Math.abs(column - key) * axes.cell;
      if (apart && apart < axes.reach()) {
        axes.columnPatch(pen, column, x + (column + 0.5) * axes.cell, axes.digits + 2, FONT + 2);
      }
    }
  }

  showOnScale(cell) {
    const pointer = this.legend.querySelector(".hl-scale-pointer");
    if (!pointer) return;
    const value = cell ? this.cells.at(...cell) : NaN;
    const shown = cell && !this.cells.reason(...cell) && Number.isFinite(value);
    pointer.style.display = shown ? "block" : "none";
    pointer.style.left = this.cells.share(value) * 100 + "%";
  }

  cellAt(event) {
    const frame = this.canvas.getBoundingClientRect();
    const { cell, left, top } = this.axes;
    const [x, y] = [event.clientX - frame.left - left, event.clientY - frame.top - top];
    const query = Math.floor((y + this.box.scrollTop) / cell);
    const key = Math.floor((x + this.box.scrollLeft) / cell);
    const inside = x >= 0 && y >= 0 && query < this.cells.queries && key < this.cells.keys;
    return inside ? [query, key] : NOTHING;
  }

  // The cell under the pointer, or the one that arrow keys have reached (there is no event then).
  point(cell, event) {
    this.pointer = event;
    if (!sameCell(cell, this.hovered)) {
      this.hovered = cell;
      this.mark();
    }
    if (!cell) return this.tip.hide();
    const frame = this.root.getBoundingClientRect();
    const corner = this.canvas.getBoundingClientRect();
    const { cell: size, left, top } = this.axes;
    const x = event?.clientX ?? corner.left + left + (cell[1] + 1) * size - this.box.scrollLeft;
    const y = event?.clientY ?? corner.top + top + (cell[0] + 1) * size - this.box.scrollTop;
    this.tip.show(x - frame.left, y - frame.top, this.describe(cell));
  }

  describe([query, key]) {
    const { data, cells } = this;
    const reason = cells.reason(query, key);
    const value = cells.at(query, key);
    const does = reason ? "may not look at" : data.kind === "mask" ? "may look at" : "looks at";
    const pair = `${quoted(data.queries[query])} ${does} ${quoted(data.keys[key])}`;
    const where = `query ${query}, key ${key}`;
    const lines = [["title", pair], ["quiet", where]];
    if (data.kind === "mask") return [...lines, ["value", reason || "open"]];
    if (reason) lines.push(["title", reason]);
    if (!reason || value !== 0) lines.push(["value", format(value, 4)]);
    return [...lines, ["quiet", data.label]];
  }
}

export default (component) => mountView(component, "attention_matrix", (root) => new AttentionMatrix(root));
