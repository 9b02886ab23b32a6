// The cells of a matrix: their values, why they are closed, their colours. No layout in here.

// Where on the scale the one colour of a mask's open cells lies.
const OPEN = 0.6;

class MatrixCells {
  constructor(data) {
    this.queries = data.queries.length;
    this.keys = data.keys.length;
    this.data = data;
    this.values = data.values ?? this.restored(data);
    this.readClosed(data);
    this.range = data.range ?? this.measuredRange();
    this.ramp = ramp(data.kind === "scores" ? data.colors.diverging : data.colors.sequential, 256);
  }

  // More than 128 tokens come as 16-bit levels from low to high; the level above the top is minus infinity.
  restored({ levels, top, low, high }) {
    return Float32Array.from(levels, (level) => (level > top ? -Infinity : low + (level / top) * (high - low)));
  }

  // Closed cells come as runs along the rows: where each begins, and the reason's number (0 is open).
  readClosed({ run_starts, run_reasons }) {
    this.closed = new Uint8Array(this.values.length);
    run_starts.forEach((start, i) => this.closed.fill(run_reasons[i], start, run_starts[i + 1]));
    this.runs = Array.from({ length: this.queries }, () => []);
    for (let query = 0; query < this.queries; query++) {
      const row = this.closed.subarray(query * this.keys, (query + 1) * this.keys);
      for (let from = 0, to = 0; from < this.keys; from = to) {
        while (to < this.keys && row[to] === row[from]) to++;
        if (row[from]) this.runs[query].push([from, to, row[from]]);
      }
    }
  }

  // What the open cells span. Weights begin at 0; scores reach equally far to both sides of it.
  measuredRange() {
    let [low, high] = [Infinity, -Infinity];
    this.values.forEach((value, i) => {
      if (this.closed[i] || !Number.isFinite(value)) return;
      low = Math.min(low, value);
      high = Math.max(high, value);
    });
    if (low > high) return [0, 1];
    const reach = Math.max(Math.abs(low), Math.abs(high)) || 1;
    return this.data.kind === "scores" ? [-reach, reach] : [Math.min(0, low), high > 0 ? high : 1];
  }

  at(query, key) {
    return this.values[query * this.keys + key];
  }

  reason(query, key) {
    const number = this.closed[query * this.keys + key];
    return number ? this.data.reasons[number - 1] : "";
  }

  share(value) {
    if (this.data.kind === "mask") return OPEN;
    const [low, high] = this.range;
    return clamp((value - low) / (high - low || 1), 0, 1);
  }

  color(value) {
    return this.ramp[Math.round(this.share(value) * 255)];
  }

  // One pixel a cell; closed cells stay transparent, so that the stripes below them show.
  raster() {
    const image = new ImageData(this.keys, this.queries);
    const pixels = new Uint32Array(image.data.buffer);
    const packed = this.ramp.map(([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0);
    for (let i = 0; i < pixels.length; i++) {
      if (!this.closed[i]) pixels[i] = packed[Math.round(this.share(this.values[i]) * 255) || 0];
    }
    const size = { width: this.keys, height: this.queries };
    const canvas = Object.assign(document.createElement("canvas"), size);
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }
}
