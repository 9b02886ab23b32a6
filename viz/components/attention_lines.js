// All heads of a layer as lines from the tokens that look (left) to the tokens looked at (right).

const FONT = 15;
const TITLE = 26;
const QUERY = 0;
const KEY = 1;
const FULL = 65535;
// A line fainter than this changes no pixel by a visible step.
const FAINTEST = 0.006;

class AttentionLines {
  constructor(root) {
    this.root = root;
    this.mass = 90;
    this.hovered = this.locked = null;
    const bar = element("div", "hl-bar", root);
    this.heads = element("div", "hl-heads", bar);
    this.slider(bar);
    this.stage = element("div", "hl-stage", root);
    this.stage.tabIndex = 0;
    this.stage.setAttribute("role", "application");
    this.lines = element("canvas", "", this.stage);
    this.front = element("canvas", "hl-overlay", this.stage);
    this.note = element("div", "hl-note", root);
    this.say = announcerOf(root);
    this.listen();
  }

  slider(bar) {
    const label = element("label", "hl-mass", bar, "Show the strongest");
    const range = { type: "range", min: 5, max: 100, step: 5, value: this.mass };
    const input = Object.assign(element("input", "", label), range);
    const output = element("output", "", label, this.mass + " %");
    element("span", "", label, "of each token’s attention");
    input.oninput = () => {
      this.mass = Number(input.value);
      output.textContent = this.mass + " %";
      this.choose();
      this.paint();
    };
  }

  listen() {
    this.stage.onpointermove = (event) => this.focus(this.tokenAt(event));
    this.stage.onpointerleave = () => this.focus(null);
    this.stage.onclick = (event) => {
      const token = this.tokenAt(event);
      this.locked = String(token) === String(this.locked) ? null : token;
      this.mark();
    };
    this.stage.onkeydown = (event) => this.press(event);
  }

  press(event) {
    const step = ARROWS[event.key];
    if (!step && event.key !== "Escape") return;
    event.preventDefault();
    this.hovered = null;
    if (step) {
      const [side, position] = this.locked ?? [QUERY, -1];
      const to = clamp(side + step[1], QUERY, KEY);
      this.locked = [to, clamp(position + step[0], 0, this.tokens[to].length - 1)];
      this.say(this.describe(this.locked));
    } else this.locked = null;
    this.mark();
  }

  focus(token) {
    if (String(token) === String(this.hovered)) return;
    this.hovered = token;
    this.mark();
  }

  update() {
    const { heads, queries, keys, title, note } = this.data;
    this.tokens = [queries, keys];
    const shape = [heads.length, queries.length, keys.length].join();
    if (shape !== this.shape) this.hovered = this.locked = null;
    if (this.on?.length !== heads.length) this.on = heads.map(() => true);
    this.shape = shape;
    this.stage.setAttribute("aria-label", title + ": arrow keys move from token to token, Escape clears");
    this.note.textContent = note;
    this.drawHeads();
    this.choose();
    this.layout();
  }

  color(head) {
    const { categorical } = this.data.colors;
    return categorical[head % categorical.length];
  }

  // Beyond as many heads as there are colours, the same colours come again with dashes.
  dashed(head) {
    return Math.floor(head / this.data.colors.categorical.length) % 2 === 1;
  }

  drawHeads() {
    const buttons = this.data.heads.map((label, head) => {
      const button = element("button");
      button.style.borderColor = this.on[head] ? this.color(head) : "";
      const stroke = element("span", this.dashed(head) ? "stroke dashed" : "stroke", button);
      stroke.style.borderColor = this.color(head);
      element("span", "", button, label);
      button.setAttribute("aria-pressed", this.on[head]);
      button.onclick = () => this.show(this.on.map((on, i) => (i === head ? !on : on)));
      button.ondblclick = () => this.show(this.on.map((_, i) => i === head));
      return button;
    });
    const all = element("button", "", null, "all");
    all.onclick = () => this.show(this.on.map(() => true));
    // Unchanged buttons stay in place: a double click needs the same element twice.
    const look = JSON.stringify([this.data.heads, this.data.colors]);
    if (look !== this.look) this.heads.replaceChildren(...buttons, all);
    this.look = look;
    [...this.heads.children].slice(0, -1).forEach((button, head) => {
      button.setAttribute("aria-pressed", this.on[head]);
      button.style.borderColor = this.on[head] ? this.color(head) : "";
    });
  }

  show(on) {
    this.on = on;
    this.drawHeads();
    this.paint();
  }

  weight(head, query, key) {
    const { weights } = this.data;
    return weights[(head * this.tokens[QUERY].length + query) * this.tokens[KEY].length + key] / FULL;
  }

  // For each head and query the fewest keys that together hold the chosen share of its attention.
  choose() {
    const [queries, keys] = this.tokens;
    this.chosen = this.data.heads.map((_, head) =>
      queries.map((_, query) => {
        const row = keys.map((_, key) => [key, this.weight(head, query, key)]).sort((a, b) => b[1] - a[1]);
        const enough = (this.mass / 100) * sum(row.map(([, weight]) => weight));
        let total = 0;
        return row.filter(([, weight]) => {
          const needed = total < enough && weight > 0;
          total += weight;
          return needed;
        });
      }),
    );
  }

  layout() {
    const width = (this.width = this.root.clientWidth);
    if (!width || !this.chosen) return;
    const most = Math.max(...this.tokens.map((tokens) => tokens.length));
    this.pitch = clamp(Math.floor(720 / most), 20, 34);
    this.extent = [Math.min(width, 980), TITLE + most * this.pitch + 6];
    const pen = this.front.getContext("2d");
    pen.font = fontOf(this.root, FONT, 700);
    const limit = this.extent[0] * 0.24;
    const widths = this.tokens.map((tokens) => {
      return Math.min(limit, Math.max(...tokens.map((token) => pen.measureText(token).width)));
    });
    this.limit = limit;
    this.numbers = 48;
    this.from = Math.ceil(this.numbers + widths[QUERY] + 16);
    this.to = Math.floor(Math.min(this.extent[0] - this.numbers - widths[KEY] - 16, this.from + 480));
    this.extent[0] = Math.ceil(this.to + widths[KEY] + this.numbers + 16);
    this.paint();
  }

  y(position) {
    return TITLE + (position + 0.5) * this.pitch;
  }

  paint() {
    const pen = prepare(this.lines, ...this.extent);
    const [queries] = this.tokens;
    queries.forEach((_, query) => this.lineSet(pen, query, () => true));
    this.mark();
  }

  // Each head has its own height at a token, so that lines between the same two do not hide each other.
  lineSet(pen, query, wanted) {
    const shown = this.on.flatMap((on, head) => (on ? [head] : []));
    const apart = Math.min(3, (this.pitch - 8) / Math.max(1, shown.length - 1));
    const middle = (this.from + this.to) / 2;
    shown.forEach((head, i) => {
      const shift = (i - (shown.length - 1) / 2) * apart;
      pen.strokeStyle = this.color(head);
      pen.setLineDash(this.dashed(head) ? [7, 4] : []);
      for (const [key, weight] of this.chosen[head][query]) {
        if (weight < FAINTEST || !wanted(key)) continue;
        const [start, end] = [this.y(query) + shift, this.y(key) + shift];
        pen.globalAlpha = weight;
        pen.lineWidth = 1.5 + 1.5 * weight;
        pen.beginPath();
        pen.moveTo(this.from, start);
        pen.bezierCurveTo(middle, start, middle, end, this.to, end);
        pen.stroke();
      }
    });
    pen.globalAlpha = 1;
    pen.setLineDash([]);
  }

  // Tokens, and for the focused one its own lines and numbers, in front of all lines.
  mark() {
    if (!this.extent) return;
    const pen = prepare(this.front, ...this.extent);
    const focused = this.hovered ?? this.locked;
    this.lines.style.opacity = focused ? 0.06 : 1;
    this.titles(pen, focused);
    for (const side of [QUERY, KEY]) {
      this.tokens[side].forEach((_, position) => this.token(pen, side, position, focused));
    }
    if (!focused) return;
    const [side, position] = focused;
    if (side === QUERY) this.lineSet(pen, position, () => true);
    else this.tokens[QUERY].forEach((_, query) => this.lineSet(pen, query, (key) => key === position));
  }

  titles(pen, focused) {
    const { colors, query_axis, key_axis } = this.data;
    const shown = this.on.filter(Boolean).length;
    pen.font = fontOf(this.root, 14, 600);
    pen.fillStyle = colors.muted;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    pen.fillText(shorten(pen, query_axis, this.from - 8), this.from - 8, 10);
    pen.textAlign = "left";
    pen.fillText(shorten(pen, key_axis, this.extent[0] - this.to - 8), this.to + 8, 10);
    pen.textAlign = "center";
    if (!focused || !shown) return;
    const meanings = shown === 1 ? ["weight"] : [`mean weight of ${shown} heads`, "mean"];
    const fitting = meanings.find((text) => pen.measureText(text).width < this.to - this.from - 16);
    pen.fillText(fitting ?? "", (this.from + this.to) / 2, 10);
  }

  // How much the focused token and this one have to do with each other: the mean weight of the heads shown.
  mean(focused, side, position) {
    if (!focused || focused[0] === side) return 0;
    const [query, key] = side === KEY ? [focused[1], position] : [position, focused[1]];
    const weights = this.on.flatMap((on, head) => (on ? [this.weight(head, query, key)] : []));
    return weights.length ? sum(weights) / weights.length : 0;
  }

  token(pen, side, position, focused) {
    const { colors } = this.data;
    const chosen = focused && focused[0] === side && focused[1] === position;
    const mean = this.mean(focused, side, position);
    const right = side === KEY;
    const edge = right ? this.to : this.from;
    const outwards = right ? 1 : -1;
    const y = this.y(position);
    if (chosen || mean > 0.005) {
      pen.fillStyle = colors.accent;
      pen.globalAlpha = chosen ? 0.22 : 0.45 * mean;
      const [from, to] = right ? [edge, this.extent[0]] : [0, edge];
      pen.fillRect(from, y - this.pitch / 2 + 1, to - from, this.pitch - 2);
      pen.globalAlpha = 1;
    }
    pen.textBaseline = "middle";
    pen.textAlign = right ? "left" : "right";
    pen.fillStyle = focused && !chosen && mean <= 0.005 ? colors.muted : colors.text;
    pen.font = fontOf(this.root, FONT, chosen || mean > 0.2 ? 700 : 400);
    pen.fillText(shorten(pen, this.tokens[side][position], this.limit), edge + 8 * outwards, y);
    if (mean <= 0.005) return;
    pen.font = fontOf(this.root, 14, 600);
    pen.textAlign = right ? "right" : "left";
    pen.fillText(format(mean), right ? this.extent[0] - 4 : 4, y);
  }

  tokenAt(event) {
    const frame = this.front.getBoundingClientRect();
    const x = event.clientX - frame.left;
    const position = Math.floor((event.clientY - frame.top - TITLE) / this.pitch);
    const side = x < this.from ? QUERY : x > this.to ? KEY : null;
    return side !== null && position >= 0 && position < this.tokens[side].length ? [side, position] : null;
  }

  describe([side, position]) {
    const other = 1 - side;
    const ranked = this.tokens[other]
      .map((token, i) => [token, this.mean([side, position], other, i)])
      .sort((a, b) => b[1] - a[1])
      .slice(0, 3);
    const verb = side === QUERY ? "looks at" : "is looked at by";
    const means = ranked.map(([token, mean]) => token + " " + format(mean));
    return `${this.tokens[side][position]} ${verb} ${means.join(", ")}`;
  }
}

export default (component) => mountView(component, "attention_lines", (root) => new AttentionLines(root));
