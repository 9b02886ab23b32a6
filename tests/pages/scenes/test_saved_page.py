"""Scenes as a page: made on request, each with the run and choice that its address gives in the app."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from streamlit.testing.v1 import AppTest

import viz.pages.scenes.files as files
from tests.pages.app import open_app, press, texts
from tests.pages.checkpoint.page import PATH, open_path, start
from tests.pages.offered import offer
from tests.pages.scenes.panel import Panel
from tests.pages.views import Views
from tests.support.checkpoints import torch_file
from tests.support.crosses import full
from tests.support.models import tiny_model
from tests.support.saved_page import all_chosen, blocks, unpacked
from transformer.text.coder import SpecialTokens
from transformer.text.ids import IdCoder
from viz.pages.scenes.saved_page import Report, SavedPage, make_page
from viz.scenes import Scene
from viz.text_session import DEFAULT_SENTENCE

CAT, DOG = "Yesterday I saw a black cat.", "My dog sleeps."
STILL = "<svg xmlns='http://www.w3.org/2000/svg'/>"


class Made:
    """The pages that the app has made, and the progress that it reported."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pages: list[SavedPage] = []
        self.told: list[tuple[float, str]] = []

        def made(scenes: tuple[Scene, ...], report: Report, stills: tuple[str, ...]) -> SavedPage:
            def told(done: float, text: str) -> None:
                self.told.append((done, text))
                report(done, text)

            self.pages.append(make_page(scenes, told, stills))
            return self.pages[-1]

        monkeypatch.setattr(files, "make_page", made)

    def of(self, *scenes: Scene, stills: Sequence[str] = ()) -> SavedPage:
        """Keep these scenes and save them as a page."""
        save(scenes_app(*scenes), stills)
        return self.pages[-1]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    return Made(monkeypatch)


def save(app: AppTest, stills: Sequence[str] = ()) -> None:
    """Run the app as after the browser has sent the stills."""
    app.session_state["stills for the page"] = tuple(stills)
    app.run()
    assert not app.exception


def scenes_app(*scenes: Scene) -> AppTest:
    app = open_app("scenes")
    app.session_state["scenes"] = scenes
    app.run()
    assert not app.exception
    return app


def scene(caption: str = "", page: str = "explore", model: str = "toy-en-it", **said: str) -> Scene:
    choices = {"model": model} | said
    return Scene(page, {name: (value,) for name, value in choices.items()}, caption)


def chosen_weights(content: bytes) -> NDArray[Any]:
    """The weights of the chosen head on a page of one run, exactly as stored."""
    arrays, choice = unpacked(content)[1], all_chosen(content)[0]
    name, layer, head = choice["attention"], choice["layer"], choice["head"]
    own = arrays.get(f"head:{name}:{layer}:{head}/weights")
    found: NDArray[Any] = arrays[f"weights:{name}/values"][layer, head] if own is None else own
    return found


# Each the same as in the app


ADDRESSES = [
    {},
    {"text": DOG, "layer": "0", "head": "3", "cell": "2,1", "measure": "scores", "by": "word"},
    {"text": DOG, "attention": "encoder", "view": "map", "lines": "0,2", "mass": "50", "families": "one"},
    {"text": "the cat", "target": "il gatto", "attention": "decoder", "special": "spread"},
    {"text": DOG, "model": "random", "enc": "1", "dec": "3", "heads": "8", "d_model": "64", "seed": "7"},
]
TELLING = [
    {"text": "the cat", "attention": "nothing", "layer": "99", "head": "99", "cell": "9,9", "view": "x"},
    {"text": DOG, "target": "il gatto", "against": "random weights", "layer": "0", "head": "3"},
    {"text": DOG, "model": "random", "vocabulary": "toy-en-it", "enc": "99", "heads": "x", "seed": "-1"},
    {"text": DOG, "model": "unheard-of"},
]


@pytest.mark.parametrize("address", [*TELLING, *full(*ADDRESSES)])
def test_an_address_is_the_same_run_and_choice_as_on_explore(
    made: Made, panel: Panel, views: Views, address: dict[str, str]
) -> None:
    app = open_app(**{"model": "toy-en-it"} | address)
    assert not app.exception
    panel.keep(app)
    app.switch_page("viz/pages/scenes/page.py").run()
    save(app)
    content = made.pages[-1].content
    choice = views.choice("viewer")
    assert all_chosen(content) == [choice]
    data, arrays = unpacked(content)
    assert data["sides"] == views.data("viewer")["sides"]
    assert data["attentions"] == views.data("viewer")["attentions"]
    weights = views.array("viewer", f"weights:{choice['attention']}/values")
    np.testing.assert_array_equal(chosen_weights(content), weights[choice["layer"], choice["head"]])
    assert data["others"] == ([choice["against"]] if choice["against"] else [])
    assert any(name.startswith("other:") for name in arrays) == bool(choice["against"])


@pytest.fixture
def panel(monkeypatch: pytest.MonkeyPatch) -> Panel:
    return Panel(monkeypatch)


def test_what_a_scene_leaves_out_is_as_the_pickers_begin(views: Views, made: Made) -> None:
    content = made.of(Scene("explore")).content
    open_app(model=None)
    assert unpacked(content)[0]["sides"] == views.data("viewer")["sides"]
    assert f"<h1>{escape(DEFAULT_SENTENCE)}</h1>" in content.decode()


def test_ids_are_the_source_of_a_model_without_a_tokenizer(
    made: Made, views: Views, monkeypatch: pytest.MonkeyPatch
) -> None:
    coder = IdCoder(rows=13, special_tokens=SpecialTokens(pad=0, bos=1, eos=2, unk=None))
    loaded = replace(tiny_model(), source=coder, target=coder)
    offer(monkeypatch.setattr, {"of ids": lambda: loaded})
    for address in ({}, {"numbers": "9 10 11"}):
        open_app(model="of ids", **address)
        content = made.of(scene(model="of ids", **address)).content
        assert unpacked(content)[0]["sides"] == views.data("viewer")["sides"]


@pytest.mark.usefixtures("nothing_is_left_open")
def test_an_opened_checkpoint_runs_as_long_as_it_is_open(made: Made, panel: Panel, tmp_path: Path) -> None:
    app = start(PATH)
    open_path(app, torch_file(tmp_path / "mine.pt"))
    press(app, "Use it on all pages")
    app.switch_page("viz/pages/explore/page.py").run()
    panel.keep(app, "Mine")
    app.switch_page("viz/pages/scenes/page.py").run()
    save(app)
    assert made.pages[-1].n_shown == 1
    app.switch_page("viz/pages/checkpoint/page.py").run()
    app.button_group(key="checkpoint_from").set_value(PATH).run()
    press(app, "Close it")
    app.switch_page("viz/pages/scenes/page.py").run()
    save(app)
    assert made.pages[-1].n_shown == 0
    assert "It needs your checkpoint mine.pt. Open it" in made.pages[-1].content.decode()


# Several


def test_scenes_of_the_same_run_share_it_and_keep_their_order(made: Made) -> None:
    saved = made.of(
        scene("One", text=CAT, head="1"),
        scene("Two", text=DOG, head="0"),
        scene("Three", page="masks", batch="a cat\nthe dog"),
        scene("Four", text=CAT, attention="encoder", layer="0", head="2", view="layer"),
        scene("Five", text=CAT, target="ho visto un gatto .", head="0"),
    )
    assert (saved.n_scenes, saved.n_shown) == (5, 4)
    assert len(blocks(saved.content, "run")) == 3
    text = saved.content.decode()
    captions = [text.index(f">{caption}</p>") for caption in ("One", "Two", "Three", "Four", "Five")]
    assert captions == sorted(captions)
    assert [choice["head"] for choice in all_chosen(saved.content)] == [1, 0, 2, 0]
    assert text.count('data-run="0"') == 2


def test_progress_is_told_and_nothing_is_computed_before(made: Made) -> None:
    app = scenes_app(scene(text=CAT), scene(text=DOG))
    assert (made.pages, made.told) == ([], [])
    save(app)
    assert made.told[0] == (0, "Run 1 of 2 …")
    assert "Run 2 of 2 …" in dict.fromkeys(text for _, text in made.told)
    done = [share for share, _ in made.told]
    assert done == sorted(done)
    assert 0 <= done[0] <= done[-1] <= 1
    assert "Saved as headlight-scenes.html (0." in texts(app)
    assert "with the pictures of 2 of 2 scenes." in texts(app)


def test_a_still_is_an_image_and_belongs_to_its_own_scene(made: Made) -> None:
    tree, kept = scene("Tree", page="decode"), replace(scene("Steps"), place="steps")
    saved = made.of(scene("Head", text=CAT), tree, kept, stills=("<b>", STILL, STILL))
    assert saved.n_shown == 3
    text = saved.content.decode()
    data = base64.b64encode(STILL.encode()).decode()
    assert text.count(f"data:image/svg+xml;base64,{data}") == 2
    assert "<b>" not in text
    assert text.index('class="viewer"') < text.index(">Tree</p>")


# What can't be shown


def test_a_scene_that_can_t_be_run_says_why_and_the_others_are_there(made: Made) -> None:
    saved = made.of(
        scene("Too long", text="cat " * 700),
        scene("Empty", text=" "),
        scene("Nowhere", model="en-xx"),
        scene("Too many heads", model="random", heads="16", d_model="32", text="the cat"),
        scene("Fine", text=CAT),
    )
    assert saved.n_shown >= 1
    text = saved.content.decode()
    for caption in ("Too long", "Empty", "Nowhere"):
        section = text.partition(f">{caption}</p>")[2].partition("</section>")[0]
        assert "The picture is not in this file. " in section, caption
        assert 'class="viewer"' not in section, caption
    assert "It needs the model en-xx, which is not available here." in text
    assert 'class="viewer"' in text.partition(">Fine</p>")[2]


def test_a_scene_without_a_picture_says_so_and_how_to_get_there(made: Made) -> None:
    pages = ["decode", "training", "positions", "masks", "layer-norm", "checkpoint"]
    choices = {"model": ("toy-en-it",), "text": (CAT,), "beam_size": ("3",), "of": ("1", "2")}
    saved = made.of(*(Scene(page, choices, "Look") for page in pages))
    text = saved.content.decode()
    assert saved.n_shown == 0
    assert text.count("had no picture of it when this file was saved") == len(pages)
    assert text.count("<dt>beam size</dt><dd>3</dd>") == len(pages)
    assert text.count("<dt>of</dt><dd>1\n2</dd>") == len(pages)
    rest = "?model=toy-en-it&amp;text=Yesterday+I+saw+a+black+cat.&amp;beam_size=3&amp;of=1&amp;of=2"
    assert all(f"<code>{page}{rest}" in text for page in pages)
    assert blocks(saved.content, "run") == []


def test_an_address_that_no_server_takes_is_not_given(made: Made) -> None:
    text = made.of(scene(page="masks", batch="cat " * 4_000)).content.decode()
    assert "open it from the file of scenes." in text
    assert "<code>" not in text
