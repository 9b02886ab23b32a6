"""Scenes as values and as a file: what was written is read back, and anything else is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.scenes import scene_file
from viz.page_titles import TITLES
from viz.saved_data import SavedDataError
from viz.scenes import (
    FILE_KIND,
    LONGEST_CAPTION,
    LONGEST_CHOICES,
    MOST_CHOICES,
    MOST_SCENES,
    Scene,
    SceneError,
    read_scenes,
    scene_of,
    scenes_of,
)

NAMES = st.from_regex(r"[a-z][a-z_]{0,9}", fullmatch=True).filter(lambda name: not name.startswith("embed"))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
SCENES = st.builds(
    Scene,
    page=st.sampled_from(list(TITLES)),
    choices=st.dictionaries(NAMES, st.lists(TEXTS, min_size=1, max_size=3).map(tuple), max_size=5),
    caption=TEXTS,
    checkpoint=TEXTS,
    place=st.sampled_from(["", "beam_tree", "#output"]),
)
MARKUP = "<script>alert(1)</script> **bold** :red[x] ![](http://example.com/x.png) $x$"


def file(scenes: Any = (), **changes: Any) -> bytes:
    return json.dumps(FILE_KIND.head | {"scenes": scenes} | changes).encode()


@given(st.lists(SCENES, max_size=4))
def test_what_was_written_is_read(scenes: list[Scene]) -> None:
    assert read_scenes(scene_file(scenes)) == scenes


def test_a_file_of_the_first_version_keeps_the_names_of_its_places() -> None:
    [scene] = read_scenes(file([{"page": "decode", "place": ["forcing_scores", -1.5]}], version=1))
    assert scene.pictures == ("forcing_scores", "beam_tree")
    with pytest.raises(SavedDataError, match="another version"):
        read_scenes(file(version=FILE_KIND.version + 1))


def test_the_most_and_largest_scenes_fit_into_a_file() -> None:
    scene = Scene("explore", {"text": ("a" * LONGEST_CHOICES,)}, "a" * LONGEST_CAPTION)
    assert len(scene_file([scene] * MOST_SCENES)) < FILE_KIND.largest


def test_any_text_stays_as_it_is() -> None:
    scene = scene_of({"page": "explore", "choices": {"text": MARKUP}, "caption": MARKUP})
    assert (scene.caption, scene.choices["text"]) == (MARKUP, (MARKUP,))


def test_half_a_character_becomes_a_whole_one() -> None:
    assert read_scenes(b'{"kind": "headlight scenes", "version": 1, "scenes": [{"page": "masks", '
                       b'"caption": "\\ud800"}]}')[0].caption == "\ufffd"  # fmt: skip


@pytest.mark.parametrize(
    "content, reason",
    [
        (b"", "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"{", "not JSON"),
        (b"[" * 200_000, "not JSON"),
        (b'{"kind": ' + b"9" * 10_000 + b"}", "not JSON"),
        (b" " * (FILE_KIND.largest + 1), "4,000,001 bytes"),
        (b"null", "holds no scenes"),
        (b"[]", "holds no scenes"),
        (b'{"scenes": []}', "holds no scenes"),
        (file(version=FILE_KIND.version + 1), "another version"),
        (file(version=[]), "another version"),
        (file(scenes=None), "not a list"),
        (file(scenes={"0": {}}), "not a list"),
        (file([{"page": "masks"}] * (MOST_SCENES + 1)), "101 scenes"),
        (
            file([{"page": "masks"}, {"page": "masks", "url": "javascript:alert(1)"}]),
            "Scene 2: 'url' is not a property",
        ),
    ],
)
def test_what_is_no_file_of_scenes_is_refused_with_its_reason(content: bytes, reason: str) -> None:
    with pytest.raises(SavedDataError, match=reason):
        read_scenes(content)


@pytest.mark.parametrize(
    "scene, reason",
    [
        (None, "not an object"),
        ([], "not an object"),
        ({}, "no page 'NoneType'"),
        ({"page": ["masks"]}, "no page 'list'"),
        ({"page": "javascript:alert(1)"}, "no page 'javascript:alert"),
        ({"page": "//example.com"}, "no page"),
        ({"page": "scenes"}, "no page"),
        ({"page": "x" * 1000}, "no page 'x{60}…'"),
        ({"page": "masks", "choices": []}, "choices are not an object"),
        ({"page": "masks", "choices": {str(n): "" for n in range(MOST_CHOICES + 1)}}, "at most 80"),
        ({"page": "masks", "choices": {"layer": 3}}, "'layer' is not text"),
        ({"page": "masks", "choices": {"layer": None}}, "'layer' is not text"),
        ({"page": "masks", "choices": {"layer": []}}, "'layer' is not text"),
        ({"page": "masks", "choices": {"layer": [["3"]]}}, "'layer' is not text"),
        ({"page": "masks", "choices": {"": "3"}}, "'' is not text"),
        ({"page": "masks", "choices": {"a&b=c": "3"}}, "is not text"),
        ({"page": "masks", "choices": {"embed": "true"}}, "'embed' is not text"),
        ({"page": "masks", "choices": {"text": "a" * 20_001}}, "20,001 characters"),
        ({"page": "masks", "caption": {"a": 1}}, "caption is not text"),
        ({"page": "masks", "caption": "a" * 501}, "caption has 501"),
        ({"page": "masks", "checkpoint": 1}, "checkpoint is not text"),
        ({"page": "masks", "place": "a" * 121}, "place"),
        ({"page": "masks", "place": ["#top"]}, "place"),
        ({"page": "masks", "place": "<b>"}, "place"),
        ({"page": "masks", "place": ["<b>", 0]}, "place"),
    ],
)
def test_what_is_no_scene_is_refused_with_its_reason(scene: object, reason: str) -> None:
    with pytest.raises(SceneError, match=reason):
        scene_of(scene)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)


@given(
    JSON
    | st.lists(st.fixed_dictionaries({"page": st.just("masks")}, optional={"choices": JSON, "place": JSON}))
)
def test_anything_else_is_refused_or_read(value: object) -> None:
    try:
        scenes = scenes_of(value)
    except SceneError:
        return
    assert read_scenes(scene_file(scenes)) == scenes


@pytest.mark.parametrize(
    "scene, title",
    [
        (Scene("explore", {"text": ("A cat.",)}), "Explore: A cat."),
        (Scene("decode", {"text": ("",), "numbers": ("5 6",)}), "Decode: 5 6"),
        (Scene("masks", {"text": ("A cat.",), "batch": ("One.\nTwo.",)}), "Masks: One. / Two."),
        (Scene("training", {"text": ("A cat.",)}), "Training"),
        (Scene("layer-norm"), "Layer norm"),
    ],
)
def test_a_scene_is_called_by_its_page_and_its_sentence(scene: Scene, title: str) -> None:
    assert scene.title == title
