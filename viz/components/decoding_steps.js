// What comes out: the tokens in a row, and for the chosen step the best next ones with their probabilities.

// Rounded, but nothing possible is shown as 0 and nothing uncertain as 100.
function percent(p) {
  if (p > 0 && p < 0.0005) return "< 0.1 %";
  if (p < 1 && p >= 0.9995) return "> 99.9 %";
  return (100 * p).toFixed(1) + " %";
}

class DecodingSteps {
  constructor(root) {
    this.chosen = 0;
    this.list = element("div", "hl-steps", root);
    this.list.tabIndex = 0;
    this.list.setAttribute("role", "listbox");
    this.fade = fadeWhereMore(this.list);
    this.list.setAttribute("aria-orientation", "horizontal");
    this.list.onkeydown = (event) => this.press(event);
    this.sofar = element("div", "hl-sofar", root);
    this.bars = element("div", "hl-bars", root);
    this.bars.setAttribute("role", "list");
    this.say = announcerOf(root);
  }

  press(event) {
    const last = this.data.steps.length - 1;
    const to = { Home: 0, End: last, ArrowLeft: this.chosen - 1, ArrowRight: this.chosen + 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.choose(clamp(to, 0, last), KEY_DELAY);
    this.list.children[this.chosen].scrollIntoView({ block: "nearest" });
  }

  choose(step, delay) {
    if (step === this.chosen) return;
    this.chosen = step;
    this.draw();
    const { steps, taken } = this.data;
    const place = this.data.positions ? `position ${this.data.positions[step]}` : `step ${step}`;
    this.say(`${place}: ${taken} ${steps[step].word}, ${percent(steps[step].probability)}`);
    report(this, { step }, delay);
  }

  update() {
    const { steps, selected, title } = this.data;
    if (movedByPython(this, selected)) this.chosen = selected;
    this.chosen = clamp(this.chosen, 0, steps.length - 1);
    this.list.setAttribute("aria-label", title + ": arrow keys go from step to step");
    this.list.replaceChildren(...steps.map((step, i) => this.chip(step, i)));
    this.fade();
    this.draw();
  }

  chip({ word, probability }, i) {
    const chip = element("div", "hl-step");
    chip.setAttribute("role", "option");
    chip.id = "step" + i;
    chip.onclick = () => this.choose(i);
    element("span", "place", chip, this.data.positions ? this.data.positions[i] : i);
    element("span", "word", chip, word);
    this.bar(chip, probability);
    element("span", "chance", chip, percent(probability));
    return chip;
  }

  bar(parent, probability) {
    const track = element("div", "track", parent);
    element("div", "", track).style.width = 100 * probability + "%";
  }

  draw() {
    const { steps, taken, start, unit, positions } = this.data;
    [...this.list.children].forEach((chip, i) => chip.setAttribute("aria-selected", i === this.chosen));
    this.list.setAttribute("aria-activedescendant", "step" + this.chosen);
    const step = steps[this.chosen];
    const before = [...start, ...steps.slice(0, this.chosen).map(({ word }) => word)].slice(-8);
    const left = start.length + this.chosen > before.length ? "… " : "";
    const words = before.flatMap((word) => [element("span", "word", null, word), " "]);
    this.sofar.replaceChildren(
      ...(positions
        ? [`Position ${positions[this.chosen]}. The most probable ${unit}s here:`]
        : [`Step ${this.chosen}. After ${left}`, ...words, `the most probable next ${unit}s:`]),
    );
    const rows = step.best.map(([word, probability], i) => {
      return { rank: i + 1, word, probability, tag: i + 1 === step.rank ? taken : "" };
    });
    if (rows.length < step.rank) rows.push({ ...step, tag: taken });
    const rest = 1 - sum(rows.map(({ probability }) => probability));
    rows.push({ rank: "", word: "all others", probability: Math.max(0, rest), tag: "", rest: true });
    this.bars.replaceChildren(...rows.map((row) => this.row(row)));
  }

  row({ rank, word, probability, tag, rest }) {
    const row = element("div", rest ? "rest" : tag && "taken");
    row.setAttribute("role", "listitem");
    element("span", "rank", row, rank && rank + ".");
    element("span", "word", row, word);
    this.bar(row, probability);
    element("span", "percent", row, percent(probability));
    element("span", "tag", row, tag);
    return row;
  }
}

export default (component) => mountView(component, "decoding_steps", (root) => new DecodingSteps(root));
