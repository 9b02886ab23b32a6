"""The Decode page's views as Python sees them: the tree and the next tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.viz.mounted import Mounted
from viz.components.beam_tree import Chosen, GoOn, ReturnedHypothesis, TreeNode, beam_tree
from viz.components.next_tokens import (
    TEMPERATURES,
    TOP_KS,
    TOP_PS,
    Reshaping,
    TokenChoice,
    next_tokens,
)
from viz.theme import PALETTES

COLORS = PALETTES["light"]
HOSTILE = ["<script>alert(1)</script>", "\ud800", "</div>", "שלום"]
NODES = [
    TreeNode("<bos>", None, 0, 1.0, 0.0, 1, "given", "The start."),
    TreeNode(HOSTILE[0], 0, 1, 0.75, -0.25, 1, "kept", f"Kept: “{HOSTILE[0]}”.", [("score", "−0.250")]),
    TreeNode(HOSTILE[1], 0, 1, 0.125, -2.0, 2, "pruned", "Pruned."),
    TreeNode("<eos>", 1, 2, 0.5, -0.9, 1, "ended", "It ended.", is_open=False),
]
RETURNED = [ReturnedHypothesis(3, HOSTILE[0], -0.9)]


def draw_tree(**changes: Any) -> None:
    settings: dict[str, Any] = {
        "nodes": NODES,
        "hypotheses": RETURNED,
        "given": 1,
        "cuts": [None, -0.25, None],
        "more": [0, 5, 9],
        "selected": 1,
    }
    settings |= changes
    beam_tree(settings.pop("nodes"), settings.pop("hypotheses"), colors=COLORS, key="tree", **settings)


# The tree


def test_the_tree_travels_with_its_numbers_and_reasons(mounted: Mounted) -> None:
    draw_tree()
    sent = mounted.data["nodes"]
    assert [node["token"] for node in sent] == [node.token for node in NODES]
    assert [node["parent"] for node in sent] == [None, 0, 0, 1]
    assert [node["kind"] for node in sent] == ["given", "kept", "pruned", "ended"]
    assert [node["is_open"] for node in sent] == [True, True, True, False]
    assert sent[1]["why"] == NODES[1].why
    assert sent[1]["numbers"] == [["score", "−0.250"]]
    assert mounted.data["hypotheses"] == [{"node": 3, "text": HOSTILE[0], "score": -0.9}]
    assert mounted.data["cuts"] == [None, -0.25, None]
    assert mounted.data["selected"] == 1


def test_the_tree_tells_a_choice_from_a_wish_to_go_on(mounted: Mounted) -> None:
    draw_tree()
    assert mounted.parse({"node": 2}) == Chosen(2)
    assert mounted.parse({"go_on": 3}) == GoOn(3)


@pytest.mark.parametrize(
    "wrong",
    [{"node": 4}, {"go_on": 4}, {"go_on": "1"}, {"node": -1}],
)
def test_the_tree_takes_only_what_it_has(mounted: Mounted, wrong: dict[str, object]) -> None:
    draw_tree()
    with pytest.raises(ValueError, match="not a position"):
        mounted.parse(wrong)


def test_a_tree_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="before its children"):
        draw_tree(nodes=[NODES[0], replace(NODES[1], parent=2), *NODES[2:]])
    with pytest.raises(ValueError, match="3 depths, but 2 cuts"):
        draw_tree(cuts=[None, None])
    with pytest.raises(ValueError, match="not a position"):
        draw_tree(selected=4)


# The next tokens


def draw_next(logits: NDArray[np.float32], n_named: int = 4) -> None:
    next_tokens(
        logits,
        HOSTILE[:n_named],
        open_tokens=[True] * n_named,
        chosen=1,
        settings=Reshaping(0.5, 3, 0.9),
        colors=COLORS,
        key="next",
    )


def test_all_logits_travel_and_only_the_first_are_named(mounted: Mounted) -> None:
    logits = np.linspace(3, -3, 11, dtype=np.float32)
    draw_next(logits)
    np.testing.assert_array_equal(mounted.arrays["logits"], logits)
    assert mounted.data["tokens"] == HOSTILE
    assert mounted.data["settings"] == {"temperature": 0.5, "top_k": 3, "top_p": 0.9}
    assert mounted.data["stops"]["top_k"] == list(TOP_KS)


def test_settings_are_taken_at_the_sliders_stops_only(mounted: Mounted) -> None:
    draw_next(np.linspace(3, -3, 11, dtype=np.float32))
    assert mounted.parse({"token": 3}) == TokenChoice(3)
    settings = {"temperature": TEMPERATURES[4], "top_k": TOP_KS[2], "top_p": TOP_PS[-1]}
    assert mounted.parse(settings) == Reshaping(**settings)
    for wrong in ({"temperature": 0}, {"top_k": 10**9}, {"top_p": "1"}, {"top_k": True}):
        with pytest.raises(ValueError, match="not a stop"):
            mounted.parse(settings | wrong)
    with pytest.raises(ValueError, match="not a position"):
        mounted.parse({"token": 4})


def test_sliders_stop_where_nothing_is_changed() -> None:
    assert Reshaping().temperature in TEMPERATURES
    assert Reshaping().top_k in TOP_KS
    assert Reshaping().top_p in TOP_PS


def test_logits_in_disorder_are_refused() -> None:
    with pytest.raises(ValueError, match="not sorted"):
        draw_next(np.array([1, 3, 2, 0], np.float32))
    with pytest.raises(ValueError, match="4 names and 4 flags for 3 logits"):
        draw_next(np.array([3, 2, 1], np.float32))
