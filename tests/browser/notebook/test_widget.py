"""The widget's script, in a page that stands in for the notebook with anywidget."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import headlight
from headlight import AttentionWidget
from headlight.widget import AT_ONCE
from tests.browser.components.views import at_map, grid

# anywidget's model; bytes arrive as views into a larger buffer.
NOTEBOOK = """
<body style="color: #111"><div id="first"></div><div id="second"></div><script type="module">
  const bytes = (text) => {
    const own = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const around = new Uint8Array(own.length + 6);
    around.set(own, 3);
    return new DataView(around.buffer, 3, own.length);
  };
  const listeners = {};
  const call = (event, ...told) => [...(listeners[event] ?? [])].forEach((listener) => listener(...told));
  const state = { choice: CHOICE, frame: bytes("FRAME") };
  window.sent = [];
  window.model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; call(`change:${name}`); },
    save_changes: () => window.sent.push({ choice: state.choice }),
    send: (content) => window.sent.push(content),
    on: (event, listener) => (listeners[event] ??= []).push(listener),
    off: (event, listener) => { listeners[event] = listeners[event].filter((one) => one !== listener); },
  };
  window.answer = (text) => call("msg:custom", {}, [bytes(text)]);
  const { render } = await (await import("data:text/javascript;base64,SCRIPT")).default();
  window.show = (id) => render({ model: window.model, el: document.getElementById(id) });
  window.leave = window.show("first");
</script>
"""


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def open_widget(page: Page, widget: AttentionWidget) -> Locator:
    """Show a widget in the page's first slot."""
    page.goto("about:blank")  # content that is set keeps the policy of the page before, perhaps a saved one
    page.set_content(
        NOTEBOOK.replace("CHOICE", json.dumps(widget.choice))
        .replace("FRAME", encoded(widget.frame))
        .replace("SCRIPT", encoded(widget._esm.encode()))
    )
    view = page.locator("#first .hl-attention")
    expect(view).to_be_visible()
    return view


def weights_of(n_tokens: int, n_layers: int = 2) -> np.ndarray[Any, Any]:
    """(L, H, Q, K)"""
    random = np.random.default_rng(0)
    return random.dirichlet(np.ones(n_tokens), (n_layers, 3, n_tokens)).astype(np.float32)


def widget_of(n_tokens: int, **options: Any) -> AttentionWidget:
    return headlight.show_attention(weights_of(n_tokens), [f"t{i}" for i in range(n_tokens)], **options)


def answer(page: Page, widget: AttentionWidget, names: list[str]) -> None:
    """Let Python answer the browser's request."""
    answers: list[bytes] = []
    widget.send = lambda content, buffers: answers.extend(buffers)
    widget._answer({"fetch": names}, [])
    page.evaluate("text => window.answer(text)", encoded(answers[0]))


def asked_for(page: Page) -> list[str]:
    """All pieces that the browser has requested."""
    return [name for names in sent(page, "fetch") for name in names]


def head_of(view: Locator) -> Locator:
    return view.get_by_label("Head", exact=True)


def sent(page: Page, name: str) -> list[Any]:
    """What the browser has sent to Python under this name."""
    return list(page.evaluate("name => window.sent.filter(one => name in one).map(one => one[name])", name))


def background(view: Locator) -> str:
    return str(view.evaluate("root => getComputedStyle(root.getRootNode().host).backgroundColor"))


def test_what_is_chosen_reaches_python_and_every_place_where_the_widget_is_shown(page: Page) -> None:
    widget = widget_of(5, layer=1, head=0)
    first = open_widget(page, widget)
    page.evaluate("() => { window.show('second') }")
    second = page.locator("#second .hl-attention")
    head_of(first).select_option("2")
    expect(head_of(second)).to_have_value("2")
    (told,) = sent(page, "choice")
    widget.choice = told
    assert (widget.choice["layer"], widget.choice["head"]) == (1, 2)

    widget.choose(layer=0, head=1)
    page.evaluate("choice => window.model.set('choice', choice)", widget.choice)
    for view in (first, second):
        expect(head_of(view)).to_have_value("1")
        expect(view.get_by_label("Layer", exact=True)).to_have_value("0")

    page.evaluate("window.leave()")
    expect(first).to_have_count(0)
    head_of(second).select_option("0")
    page.wait_for_function("window.sent.filter(one => one.choice).length === 2")


def test_pieces_of_a_long_run_are_asked_for_once(page: Page) -> None:
    widget = widget_of(70, layer=1, head=0)
    view = open_widget(page, widget)
    waiting = view.locator(".hl-main .hl-waiting").filter(visible=True)
    expect(grid(view).locator("canvas").first).to_be_visible()
    expect(waiting).to_have_count(0)
    near = asked_for(page)
    assert sorted(near) == ["head:encoder:0:0", "head:encoder:1:1"], "what is painted came with the frame"
    answer(page, widget, near)

    head_of(view).select_option("2")
    expect(waiting).to_have_count(1)
    page.wait_for_function("window.sent.filter(one => one.fetch).length === 2")
    asked = asked_for(page)
    assert "head:encoder:1:2" in asked
    assert len(asked) == len(set(asked))
    answer(page, widget, asked[len(near) :])
    expect(waiting).to_have_count(0)


@pytest.mark.slow
def test_all_weights_of_a_short_run_are_asked_for_when_the_grid_needs_them(page: Page) -> None:
    weights = weights_of(60, n_layers=7)
    assert AT_ONCE < weights.nbytes < 2 * AT_ONCE
    widget = headlight.show_attention(weights, ["<s>", *(f"t{i}" for i in range(59))], layer=0, head=0)
    view = open_widget(page, widget)
    note = grid(view).locator(".hl-note")
    expect(note).to_be_visible()
    expect(note).not_to_contain_text("A pixel shows")  # each cell has a byte of its own
    assert "weights:encoder" not in asked_for(page)
    answer(page, widget, asked_for(page))

    widget.choose(special="hide")
    page.evaluate("choice => window.model.set('choice', choice)", widget.choice)
    page.wait_for_function("window.sent.some(one => one.fetch?.includes('weights:encoder'))")
    answer(page, widget, ["weights:encoder"])
    at_map(page, view, 1, 2)
    row, column = np.unravel_index(weights[1, 2][1:, 1:].argmax(), (59, 59))
    tip = grid(view).locator(".hl-tip")
    expect(tip).to_contain_text(re.compile(rf"strongest: \W*t{row}\W+t{column}\W"))
    expect(tip).not_to_contain_text("at most")


@pytest.mark.slow
@pytest.mark.parametrize("look", ["auto", "light"])
def test_it_follows_the_notebook_s_colours_unless_told_otherwise(page: Page, look: Any) -> None:
    view = open_widget(page, widget_of(5, theme=look))
    light = background(view)
    assert light == "rgb(255, 255, 255)"
    page.evaluate("document.body.style.color = '#eee'")
    if look == "auto":
        expect(view).to_have_css("color", "rgb(242, 244, 248)")
        assert background(view) == "rgb(14, 17, 23)"
    else:
        page.evaluate("() => new Promise(requestAnimationFrame)")
        assert background(view) == light
