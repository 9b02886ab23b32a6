// @ts-check
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { possible } from "../../viz/components/attention/choice.js";
import { ViewerRun } from "../../viz/components/attention/run.js";

// tests/viz/viewer/test_choice.py reads the same cases.
const CASES = new URL("../viz/viewer/choices.json", import.meta.url);
const { runs, cases } = JSON.parse(readFileSync(CASES, "utf8"));
const DEFAULTS = {
  ...{ head: 0, view: "head", cell: null, measure: "weights", by: "token", rows: "read", special: "keep" },
  ...{ against: "", mass: 90, heads: null, families: "all", locked: null, sort: "layer" },
};

for (const { name, run, chosen, becomes } of cases) {
  test(`the nearest possible choice, as Python has it: ${name}`, () => {
    const choice = { ...DEFAULTS, ...runs[run].first, ...chosen };
    assert.deepEqual(possible(choice, new ViewerRun(runs[run])), { ...choice, ...becomes });
  });
}
