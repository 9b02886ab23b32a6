// The next-token distribution, before and after temperature, top-k and top-p: the bars follow the sliders at once.

const FEW = 12;

// Rounded, but nothing possible is shown as 0 and nothing uncertain as 100.
function percent(p) {
  if (p > 0 && p < 0.0005) return "< 0.1 %";
  if (p < 1 && p >= 0.9995) return "> 99.9 %";
  return (100 * p).toFixed(1) + " %";
}

function softmax(logits) {
  const powers = logits.map((logit) => Math.exp(logit - logits[0]));
  const total = sum(powers);
  return powers.map((power) => power / total);
}

// What transformer.decoding.sampling.sampling_distribution does, for logits that are sorted already, the largest first.
function reshape(sorted, { temperature, top_k, top_p }) {
  const tempered = softmax(sorted.map((logit) => logit / temperature));
  const kept = top_k ? Math.min(top_k, tempered.length) : tempered.length;
  const inTopK = sum(tempered.slice(0, kept));
  let [nucleus, before] = [0, 0];
  // Sums are rounded: with all of the probability asked for, the smallest would be lost.
  while (nucleus < kept && (top_p === 1 || before < top_p)) before += tempered[nucleus++] / inTopK;
  const left = sum(tempered.slice(0, nucleus));
  const probabilities = tempered.map((p, i) => (i < nucleus ? p / left : 0));
  return { tempered, probabilities, kept, nucleus, cutByK: 1 - inTopK, cutByP: inTopK - left };
}

const entropy = (p) => -sum(p.map((x) => (x > 0 ? x * Math.log2(x) : 0)));

class NextTokens {
  constructor(root) {
    this.shown = FEW;
    this.settings = element("div", "hl-settings", root);
    this.summary = element("div", "hl-told", root);
    this.summary.setAttribute("aria-live", "polite");
    this.bars = element("div", "hl-bars", root);
    this.bars.setAttribute("role", "list");
    this.bars.tabIndex = 0;
    this.more = element("button", "more", root);
    this.more.onclick = () => {
      this.shown = this.shown === FEW ? this.data.tokens.length : FEW;
      this.draw();
    };
    this.note = element("div", "hl-note", root);
    this.sliders = this.makeSliders();
  }

  makeSliders() {
    return ["temperature", "top_k", "top_p"].map((name) => {
      const label = element("label", "hl-setting", this.settings);
      const title = element("span", "name", label);
      const input = Object.assign(element("input", "", label), { type: "range" });
      const output = element("output", "", label);
      const told = element("span", "told", label);
      input.oninput = () => {
        this.values[name] = this.data.stops[name][Number(input.value)];
        this.draw();
      };
      input.onchange = () => report(this, { ...this.values }, KEY_DELAY);
      return { name, title, input, output, told };
    });
  }

  update() {
    const { data } = this;
    if (movedByPython(this, JSON.stringify(data.settings)) || !this.values) this.values = { ...data.settings };
    this.sorted = Array.from(data.logits);
    this.raw = softmax(this.sorted);
    for (const { name, title, input } of this.sliders) {
      const { label, help } = data.labels[name];
      title.textContent = label;
      input.title = help;
      Object.assign(input, { min: 0, max: data.stops[name].length - 1, step: 1 });
      input.value = data.stops[name].indexOf(this.values[name]);
    }
    this.bars.setAttribute("aria-label", data.title);
    this.note.textContent = data.note;
    this.draw();
  }

  draw() {
    const { tokens } = this.data;
    this.result = reshape(this.sorted, this.values);
    this.tellSettings();
    this.tellCut();
    const shown = Math.min(this.shown, tokens.length);
    const rows = tokens.slice(0, shown).map((token, i) => this.row(token, i));
    if (shown < this.sorted.length) rows.push(this.rest(shown));
    this.bars.replaceChildren(this.header(), ...rows);
    this.more.hidden = tokens.length <= FEW;
    this.more.textContent = this.shown === FEW ? `Show ${tokens.length} tokens` : `Show ${FEW} tokens`;
  }

  tellSettings() {
    const { temperature, top_k, top_p } = this.values;
    const told = {
      temperature: temperature === 1 ? "as trained" : temperature < 1 ? "sharper" : "flatter",
      top_k: top_k ? "" : "off",
      top_p: top_p === 1 ? "off" : "",
    };
    for (const { name, input, output, told: line } of this.sliders) {
      const value = name === "top_k" ? this.values[name] || "all" : this.values[name].toFixed(2);
      output.textContent = value;
      line.textContent = told[name];
      input.setAttribute("aria-valuetext", `${value} ${told[name]}`);
    }
  }

  tellCut() {
    const { tempered, probabilities, kept, nucleus, cutByK, cutByP } = this.result;
    const n = this.sorted.length;
    const count = (many) => `${many.toLocaleString("en")} token${many === 1 ? "" : "s"}`;
    const cuts = [];
    if (kept < n) cuts.push(`top-k cuts off ${count(n - kept)} with ${percent(cutByK)} of the probability`);
    if (nucleus < kept) cuts.push(`top-p cuts off ${count(kept - nucleus)} with ${percent(cutByP)}`);
    const cut = cuts.length ? cuts.join("; ") + "." : "Nothing is cut off.";
    const left = `${count(nucleus)} can be drawn.`;
    const bits = [this.raw, tempered, probabilities].map((p) => entropy(p).toFixed(2));
    const told = `Entropy ${bits[0]} bits as trained, ${bits[1]} after the temperature, ${bits[2]} after the cut.`;
    const named = element("b", "", null, cut[0].toUpperCase() + cut.slice(1));
    this.summary.replaceChildren(named, ` ${left} `, element("span", "quiet", null, told));
  }

  header() {
    const row = element("div", "header");
    row.setAttribute("role", "listitem");
    for (const text of ["", "token", "probability now (outline: as trained)", "now", "as trained", ""]) {
      element("span", "", row, text);
    }
    return row;
  }

  row(token, i) {
    const { kept, nucleus, probabilities } = this.result;
    const cut = i >= kept ? "cut by top-k" : i >= nucleus ? "cut by top-p" : "";
    const row = element("div", cut ? "cut" : i === this.data.chosen ? "taken" : "");
    row.setAttribute("role", "listitem");
    element("span", "rank", row, `${i + 1}.`);
    const word = element("button", "word", row, token);
    word.disabled = !this.data.open[i];
    word.title = word.disabled ? "Nothing can come behind this token" : "Go on from this token";
    word.onclick = () => report(this, { token: i });
    this.bar(row, probabilities[i], this.raw[i]);
    element("span", "percent", row, cut ? "0 %" : percent(probabilities[i]));
    element("span", "percent quiet", row, percent(this.raw[i]));
    element("span", "tag", row, cut || (i === this.data.chosen ? "chosen above" : ""));
    return row;
  }

  rest(shown) {
    const row = element("div", "rest");
    row.setAttribute("role", "listitem");
    const many = this.sorted.length - shown;
    element("span", "rank", row);
    element("span", "word", row, `${many.toLocaleString("en")} others`);
    const [now, before] = [this.result.probabilities, this.raw].map((p) => sum(p.slice(shown)));
    this.bar(row, now, before);
    element("span", "percent", row, percent(now));
    element("span", "percent quiet", row, percent(before));
    element("span", "tag", row);
    return row;
  }

  bar(parent, now, before) {
    const track = element("div", "track", parent);
    element("div", "now", track).style.width = 100 * now + "%";
    element("div", "before", track).style.width = 100 * before + "%";
  }
}

export default (component) => mountView(component, "next_tokens", (root) => new NextTokens(root));
