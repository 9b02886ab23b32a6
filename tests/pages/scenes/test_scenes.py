"""Scenes: kept with everything in the address, reordered, saved, opened and restored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.app import buttons, open_app, press, texts
from tests.pages.checkpoint.page import OPENED, PATH, open_path, start
from tests.pages.scenes.panel import Panel
from tests.pages.views import Views
from tests.support.checkpoints import torch_file
from tests.support.scenes import scene_file
from viz.scenes import FILE, MOST_SCENES, Scene
from viz.session import MAGNIFICATIONS
from viz.text_session import DEFAULT_SENTENCE, first_sentence

PAGE = "viz/pages/scenes/page.py"
MARKUP = "<script>alert(1)</script> **bold** :red[x] $x$"


@pytest.fixture
def panel(monkeypatch: pytest.MonkeyPatch) -> Panel:
    return Panel(monkeypatch)


def upload(app: AppTest, content: bytes, name: str = FILE) -> None:
    uploader = next(box for box in app.file_uploader if box.label == "Open a file of scenes")
    uploader.set_value([(name, content, "application/json")]).run()
    assert not app.exception


def captions(panel: Panel) -> list[str]:
    return [scene.caption for scene in panel.scenes]


# Kept


def test_a_moment_is_its_address_with_a_caption(panel: Panel) -> None:
    app = open_app(text="I like the cats.", layer="1", head="2", cell="1,2", measure="scores")
    panel.keep(app, "Look here.", place="steps")
    [scene] = panel.scenes
    assert scene.page == "explore"
    assert scene.caption == "Look here."
    assert scene.place == "steps"
    said = {name: values[-1] for name, values in scene.choices.items()}
    chosen = {"layer": "1", "head": "2", "cell": "1,2", "measure": "scores"}
    assert said == {"text": "I like the cats.", "model": "toy-en-it", **chosen}


def test_what_is_the_default_today_is_kept_too(panel: Panel) -> None:
    app = open_app(model=None)
    panel.keep(app)
    assert panel.scenes[0].choices["text"] == (DEFAULT_SENTENCE,)
    assert panel.scenes[0].choices["model"] == ("en-it",)


def test_a_sentence_too_long_for_an_address_is_in_the_scene_unless_it_is_too_long_for_that(
    panel: Panel,
) -> None:
    text = "cat " * 500
    app = open_app()
    app.text_input(key="text").set_value(text).run()
    assert "text" not in app.query_params
    panel.keep(app)
    assert panel.scenes[0].choices["text"] == (text,)
    app.text_input(key="text").set_value("cat " * 10_000).run()
    panel.keep(app, "Second")
    assert captions(panel) == [""]
    assert "at most 20,000 are allowed" in panel.options["note"]


def test_large_type_belongs_to_the_room(panel: Panel) -> None:
    app = open_app(large="true")
    panel.keep(app)
    assert app.query_params["large"] == "true"
    assert "large" not in panel.scenes[0].choices


def test_what_no_panel_sends_keeps_nothing_nor_does_a_full_one(panel: Panel) -> None:
    app = open_app("scenes")
    assert not panel.options["can_keep"]
    panel.keep(app)
    assert panel.scenes == []
    app.switch_page("viz/pages/explore/page.py").run()
    junk: list[object] = [None, [], "x", {"caption": 1}, {"place": {}}, {"caption": "a" * 501}]
    for sent in junk:
        panel.tell(app, "on_keep", sent)
        assert panel.scenes == []
    app.session_state["scenes"] = (Scene("masks"),) * MOST_SCENES
    panel.keep(app)
    assert len(panel.scenes) == MOST_SCENES
    assert "There is room for 100 scenes" in panel.options["note"]


@pytest.mark.usefixtures("nothing_is_left_open")
def test_a_scene_says_which_checkpoint_it_needs(panel: Panel, tmp_path: Path) -> None:
    app = start(PATH)
    open_path(app, torch_file(tmp_path / "mine.pt"))
    press(app, "Use it on all pages")
    app.switch_page("viz/pages/explore/page.py").run()
    panel.keep(app)
    [scene] = panel.scenes
    assert (scene.checkpoint, scene.model) == ("mine.pt", OPENED)
    assert panel.options["scenes"][0]["lack"] == ""
    app.switch_page("viz/pages/checkpoint/page.py").run()
    app.button_group(key="checkpoint_from").set_value(PATH).run()
    press(app, "Close it")
    app.run()
    assert "It needs your checkpoint mine.pt" in panel.options["scenes"][0]["lack"]


# Restored


@pytest.mark.parametrize(
    "page, choices",
    [
        (
            "explore",
            {
                "model": "random",
                "enc": "1",
                "dec": "3",
                "heads": "8",
                "lines": "0,5",
                "seed": "7",
                "text": "My dog sleeps.",
                "target": "il gatto",
                "attention": "decoder",
                "layer": "0",
                "head": "3",
                "cell": "2,1",
                "view": "map",
                "special": "spread",
            },
        ),
        ("decode", {"text": "My dog sleeps.", "beam_size": "3"}),
        ("positions", {"pe_length": "80", "pe_width": "64", "pe_base": "1000", "section": "Map"}),
        ("masks", {"section": "One query", "batch": "a cat\nthe dog sleeps", "sentence": "2", "head": "2"}),
        ("layer-norm", {"text": "the cat", "norm_dimension": "5"}),
        ("layer-norm", {"section": "Before training", "norm_seed": "3"}),
        ("training", {"task": "sort", "train_layers": "1", "train_seed": "4"}),
        ("training", {"watch": "A finished training", "text": "the cat"}),
    ],
)
def test_a_scene_restores_all_that_its_moment_had(panel: Panel, page: str, choices: dict[str, str]) -> None:
    app = open_app(page, **{"model": "toy-en-it"} | choices)
    assert not app.exception
    assert all(name in app.session_state for name in choices), "the page knows all of these"
    panel.keep(app)
    kept = panel.scenes[0].choices
    again = open_app(page, **{name: values[-1] for name, values in kept.items()})
    assert dict(again.query_params) == dict(app.query_params)
    assert widgets(again) == widgets(app)


def widgets(app: AppTest) -> dict[str, object]:
    kinds = (
        "selectbox",
        "radio",
        "slider",
        "select_slider",
        "button_group",
        "toggle",
        "number_input",
        "text_input",
    )
    elements = (element for kind in kinds for element in app.get(kind))
    return {str(element.key): getattr(element, "value", None) for element in elements if element.key}


# Listed


def test_scenes_are_listed_and_changed(panel: Panel, views: Views) -> None:
    app = open_app()
    for caption in ("First", MARKUP, "Third"):
        panel.keep(app, caption)
    app.switch_page(PAGE).run()
    assert not app.exception
    listed = views.data("scene_list")["scenes"]
    assert [told["scene"]["caption"] for told in listed] == ["First", MARKUP, "Third"]
    assert {told["title"] for told in listed} == {f"Explore: {first_sentence('toy-en-it')}"}
    views.select(app, "scene_list", [listed[2]["scene"], listed[0]["scene"] | {"caption": "New"}])
    assert captions(panel) == ["Third", "New"]
    for sent in ("x", [1], [{"page": "nowhere"}], [{"page": "masks", "href": "javascript:"}]):
        views.select(app, "scene_list", sent)
        assert captions(panel) == ["Third", "New"]
        assert "Not changed" in panel.options["note"]


# Restored after a reload


def test_what_the_browser_remembers_comes_back_once(panel: Panel) -> None:
    app = open_app()
    assert panel.options["revision"] == 0
    panel.tell(app, "on_restore", [{"page": "explore", "caption": "Before", "choices": {"model": "en-xx"}}])
    assert captions(panel) == ["Before"]
    assert panel.options["scenes"][0]["lack"] == "It needs the model en-xx, which is not available here."
    panel.tell(app, "on_restore", [{"page": "masks", "caption": "Late"}])
    assert captions(panel) == ["Before"]


def test_what_the_browser_remembers_wrongly_is_forgotten(panel: Panel) -> None:
    app = open_app()
    panel.tell(app, "on_restore", [{"page": "javascript:alert(1)"}])
    assert panel.scenes == []
    assert panel.options["revision"] == 1


# Opened from a file


def test_a_file_is_opened_where_there_is_nothing(panel: Panel, views: Views) -> None:
    app = open_app("scenes")
    assert "keep it" in app.info[0].value
    assert "scene_list" not in views.frames
    scenes = [Scene("masks", caption="One"), Scene("decode", caption="Two")]
    upload(app, scene_file(scenes), "![x](http://example.com).json")
    assert "has 2 scenes" in texts(app)
    assert any(r"!\[x\]" in element.value for element in app.markdown), "the file's name is shown as it is"
    press(app, "Open them")
    assert captions(panel) == ["One", "Two"]
    assert "has 2 scenes" not in texts(app), "the box is empty again"


def test_a_file_is_added_or_takes_the_place_of_the_scenes_that_there_are(panel: Panel) -> None:
    app = open_app()
    panel.keep(app, "Mine")
    app.switch_page(PAGE).run()
    for button, expected in (
        ("Add them to your 1 scene", ["Mine", "Theirs"]),
        ("Replace your 2 scenes", ["Theirs"]),
    ):
        before = captions(panel)
        upload(app, scene_file([Scene("masks", caption="Theirs")]))
        assert captions(panel) == before, "until it has been answered"
        press(app, button)
        assert captions(panel) == expected
    upload(app, scene_file([Scene("masks")] * MOST_SCENES))
    add = next(button for button in app.button if button.label.startswith("Add them"))
    assert add.disabled, "there is no room for so many more"


def test_a_file_that_is_none_is_refused_and_the_scenes_stay(panel: Panel) -> None:
    app = open_app()
    panel.keep(app, "Mine")
    app.switch_page(PAGE).run()
    upload(app, b'{"kind": "headlight scenes", "version": 1, "scenes": [{"page": "javascript:alert(1)"}]}')
    assert [warning.value for warning in app.warning] == ["This can't be opened."]
    assert "Scene 1: Headlight has no page 'javascript:alert(1)'" in texts(app)
    assert not [label for label in buttons(app) if "them" in label]
    assert captions(panel) == ["Mine"]


# Large type


def test_large_type_is_in_the_address() -> None:
    usual, large = open_app(text="the cat", layer="0"), open_app(text="the cat", layer="0", large="true")
    assert dict(large.query_params) == {**usual.query_params, "large": "true"}
    assert ["--hl-zoom" in styles(app) for app in (usual, large)] == [False, True]


def styles(app: AppTest) -> str:
    return "".join(element.proto.body for element in app.get("html"))


def test_figures_have_large_type_too() -> None:
    usual, large = open_app("positions"), open_app("positions", large="true")
    heights = [[json_height(chart.proto.spec) for chart in app.get("plotly_chart")] for app in (usual, large)]
    assert heights[1] == [height * MAGNIFICATIONS[0] for height in heights[0]]


def json_height(spec: str) -> float:
    height: float = json.loads(spec)["layout"]["height"]
    return height
