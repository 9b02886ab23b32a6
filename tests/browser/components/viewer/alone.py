"""The viewer on a page of its own, where the test plays Streamlit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from playwright.sync_api import Page

from scripts.browser import ROOT
from tests.browser.apps.synthetic import held_run
from viz.components.shared.client_view import JSON
from viz.components.shared.frame import pack_frame
from viz.theme import palette
from viz.viewer.choice import Choice
from viz.viewer.frames import MAX_SHORT, run_frame, update_frame
from viz.viewer.viewer_run import ViewerRun

BUILT = ROOT / "headlight" / "browser"
MOUNT = """
async ([scripts, shown]) => {
  const load = (text) => import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
  const [{ mount }, { default: bridge }] = await Promise.all(scripts.map(load));
  const [asked, told] = [[], []];
  let changed = () => {};
  const host = {
    get: () => Uint8Array.from(shown),
    onChange: (listener) => { changed = listener; },
    select: (choice) => told.push(choice),
  };
  const app = document.body.appendChild(document.createElement("div"));
  Object.assign(app.dataset, { testid: "stApp", testScriptState: "notRunning" });
  const root = document.body.appendChild(document.createElement("div")).attachShadow({ mode: "open" });
  const leave = mount(root, host);
  const setTriggerValue = (_, names) => asked.push(names);
  const answer = (bytes) => bridge({ parentElement: root, data: Uint8Array.from(bytes), setTriggerValue });
  const run = (state) => { app.dataset.testScriptState = state; };
  const show = (frame) => { shown = frame; changed(); };
  window.alone = { asked, told, answer, leave, run, show };
}
"""
"""Mounts the viewer in a host made for the test."""
FRAME = 17
"""Milliseconds until the next frame; the viewer's texts, and requests for what they need, follow it."""
AFTER_PAINT = """
() => new Promise((handled) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = handled;
  port2.postMessage(null);
})
"""
"""Resolves once the messages posted before have been handled."""
PATIENCE = 1500
"""Milliseconds after which the viewer repeats an unanswered request."""
LONG = held_run((2, 8), (MAX_SHORT + 1, MAX_SHORT + 2))


class Alone:
    """The viewer alone on a page where time stands still and the test answers its requests."""

    def __init__(self, page: Page, url: str, held: ViewerRun, choice: Choice) -> None:
        self.page, self.held, self.choice = page, held, choice
        page.goto(f"{url}/_stcore/health")
        page.clock.pause_at(3_600_000)
        scripts = [(BUILT / f"{name}.js").read_text(encoding="utf-8") for name in ("attention", "bridge")]
        page.evaluate(MOUNT, [scripts, _frame(held)])
        self.answer([])

    def show(self, held: ViewerRun) -> None:
        """Show another run, whose first update has not been sent yet."""
        self.held = held
        self.page.evaluate("(frame) => window.alone.show(frame)", _frame(held))

    def answer(self, pieces: Sequence[str]) -> None:
        content = np.frombuffer(update_frame(self.held, self.choice, pieces), np.uint8)
        message = pack_frame({"kind": "attention_update", "channel": "alone"}, {"content": content})
        self.page.evaluate("(message) => window.alone.answer(message)", list(message))

    def choose_head(self, head: int) -> None:
        self.page.get_by_role("combobox", name="Head").select_option(label=f"head {head}")

    def run(self, state: Literal["running", "notRunning"]) -> None:
        """Set whether Streamlit is running the page's script."""
        self.page.evaluate("(state) => window.alone.run(state)", state)

    def leave(self) -> None:
        """Remove the viewer from the page, as a host does."""
        self.page.evaluate("window.alone.leave()")

    @property
    def asked(self) -> list[list[str]]:
        """The names of the pieces, for each request so far."""
        self.page.clock.run_for(FRAME)
        self.page.evaluate(AFTER_PAINT)
        self.page.clock.run_for(1)
        asked: list[list[str]] = self.page.evaluate("window.alone.asked")
        return asked

    @property
    def told(self) -> list[dict[str, JSON]]:
        """Every choice that was reported, in order."""
        told: list[dict[str, JSON]] = self.page.evaluate("window.alone.told")
        return told


def _frame(held: ViewerRun) -> list[int]:
    return list(run_frame(held, palette("light"), channel="alone"))
