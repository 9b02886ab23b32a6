"""Several scenes as one HTML file: what they share, what is exact, and what is seen first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import headlight
from tests.support.saved_page import SENTENCES, all_chosen, blocks, unpacked
from tests.viz.viewer.pages import HEADING, HOSTILE, Elements, random_weights, tiny
from viz.viewer import contents
from viz.viewer.choice import Choice, default_choice
from viz.viewer.packed import pack_run
from viz.viewer.page import Heading, PageScene, ShownRun, page_overhead, scenes_page
from viz.viewer.viewer_run import view_run, view_weights


def scenes_of(*packed: ShownRun | None, **texts: str) -> list[PageScene]:
    """One scene per run; None stands for a scene without a run."""
    return [
        PageScene(
            texts.get("title", f"Explore: {number}"),
            "Explore",
            HEADING,
            texts.get("caption", f"Caption {number}"),
            shown,
            (texts.get("note", "It needs the app."),) if shown is None else (),
            ((texts.get("name", "layer"), texts.get("value", "3")),) if shown is None else (),
            texts.get("address", "masks?layer=3") if shown is None else "",
        )
        for number, shown in enumerate(packed)
    ]


def test_three_scenes_of_one_run_are_little_more_than_one() -> None:
    loaded = headlight.open("en-it")
    run = headlight.run(loaded, *SENTENCES[16])
    viewed = view_run(run.computed, loaded)
    choices = [Choice("cross", 3, 1), Choice("encoder", 0, 2, cell=(1, 3)), Choice("decoder", 2, 3)]
    packed = pack_run(viewed, choices, overhead=page_overhead())
    made = scenes_page(scenes_of(*(ShownRun(packed, number) for number in range(3))))
    assert len(made) < 600_000
    assert [choice["attention"] for choice in all_chosen(made)] == ["cross", "encoder", "decoder"]
    _, arrays = unpacked(made)  # of the only run
    for choice in choices:
        attention = viewed.attentions[choice.attention]
        np.testing.assert_array_equal(
            arrays[f"weights:{choice.attention}/values"][choice.layer, choice.head],
            attention.weights(choice.layer)[choice.head],
        )
        assert attention.vectors is not None
        for name, vector in attention.vectors(choice.layer, choice.head).items():
            own = f"vectors:{choice.attention}:{choice.layer}:{choice.head}/{name}"
            np.testing.assert_array_equal(arrays[own], vector)


def test_what_each_scene_shows_is_exact_where_the_rest_is_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MEDIUM", 0)
    monkeypatch.setattr(contents, "LEVELS", contents.LEVELS[:1])
    viewed, choices = tiny(), [Choice("cross", 2, 1), Choice("encoder", 0, 2)]
    packed = pack_run(viewed, choices, overhead=0)
    data, arrays = unpacked(scenes_page(scenes_of(ShownRun(packed, 0), ShownRun(packed, 1))))
    for choice in choices:
        own = arrays[f"head:{choice.attention}:{choice.layer}:{choice.head}/weights"]
        exact = viewed.attentions[choice.attention].weights(choice.layer)[choice.head]
        np.testing.assert_array_equal(own, exact)
    assert "weights:encoder/values" in data["rounded"]
    assert "layer 2, head 1 of the cross-attention; layer 0, head 2 of the encoder" in packed.notes[0]


def test_a_long_run_has_the_row_and_the_layer_of_every_scene(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MAX_TRIED", 0)
    weights = random_weights(3, 2, 70)
    viewed = view_weights({"encoder": weights}, {"encoder": [f"w{i}" for i in range(70)]})
    packed = pack_run(
        viewed, [Choice("encoder", 0, 1, cell=(5, 7)), Choice("encoder", 2)], overhead=page_overhead()
    )
    data, arrays = unpacked(scenes_page(scenes_of(ShownRun(packed, 0), ShownRun(packed, 1))))
    assert not data["whole"]
    first, second = all_chosen(scenes_page(scenes_of(ShownRun(packed, 0), ShownRun(packed, 1))))
    assert first["cell"] == [5, 7]
    for choice in (first, second):
        row = arrays[f"row:encoder:{choice['cell'][0]}/values"]
        np.testing.assert_array_equal(row, np.stack(weights)[:, :, choice["cell"][0]])
        own = arrays[f"head:encoder:{choice['layer']}:{choice['head']}/weights"]
        np.testing.assert_array_equal(own, weights[choice["layer"]][choice["head"]])


def test_many_runs_share_the_room_of_some() -> None:
    viewed = tiny()
    alone, among_many = (
        pack_run(viewed, [default_choice(viewed)], overhead=0, runs=runs) for runs in (10, 1_000)
    )
    assert len(among_many.data) < len(alone.data)
    assert len(pack_run(viewed, [default_choice(viewed)], overhead=0).data) == len(alone.data)


def test_only_the_first_scene_is_seen_before_its_script_runs() -> None:
    viewed = tiny()
    packed = [pack_run(viewed, [default_choice(viewed)], overhead=page_overhead()) for _ in range(2)]
    made = scenes_page(scenes_of(ShownRun(packed[1]), None, ShownRun(packed[0]), ShownRun(packed[1])))
    elements = Elements(made.decode()).tags
    sections = [attributes for tag, attributes in elements if tag == "section"]
    assert ["hidden" in attributes for attributes in sections] == [False, True, True, True]
    assert [attributes["aria-label"] for attributes in sections] == [f"Explore: {i}" for i in range(4)]
    assert [attributes["data-run"] for _, attributes in elements if "data-run" in attributes] == [
        "0",
        "1",
        "0",
    ]
    assert len(blocks(made, "run")) == 2
    assert "<title>Caption 0 · Headlight</title>" in made.decode()


def test_what_a_user_typed_is_text_in_every_place_of_a_scene() -> None:
    viewed = tiny()
    packed = pack_run(viewed, [default_choice(viewed)], overhead=page_overhead())
    heading = Heading(HOSTILE, f"{HOSTILE}!", HOSTILE)
    names = ("title", "caption", "note", "name", "value", "address")
    texts = dict.fromkeys(names, f"{HOSTILE} \u2028 ${{script}} ' </section>")
    hostile = [replace(scene, heading=heading) for scene in scenes_of(ShownRun(packed), None, **texts)]
    made = scenes_page(hostile).decode()
    plain = scenes_page(scenes_of(ShownRun(packed), None)).decode()
    assert [tag for tag, _ in Elements(made).tags] == [tag for tag, _ in Elements(plain).tags]
    assert all(
        attributes.keys() == other.keys()
        for (_, attributes), (_, other) in zip(Elements(made).tags, Elements(plain).tags, strict=True)
    )
    assert not {"\u202e", "\u2028", "\x00"} & set(made)
