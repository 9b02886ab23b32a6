"""The first frame of a run: weights, tokens and masks; for a long run only what is needed first."""

from __future__ import annotations

import json
import struct
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.support.models import tiny_model
from tests.viz.mounted import unpack_frame
from tests.viz.viewer.runs import LIGHT, TARGET, TEXT, assert_same, long_run, update, viewed
from transformer.analysis.attention_maps import FUTURE, WINDOW, attention_record
from transformer.run import force, run_sentence
from viz.figures.labels import visible
from viz.pooling import CLOSED_LEVEL, TOP_LEVEL, pool_maps
from viz.viewer.choice import Choice, default_choice
from viz.viewer.frames import (
    MAX_SHORT,
    POOLED_SIDE,
    first_pieces,
    is_short,
    run_frame,
    run_id,
    update_frame,
)
from viz.viewer.viewer_run import view_run, view_weights


@pytest.mark.parametrize("kind", ["words", "rotary"])
def test_every_weight_of_every_head_is_the_trace_s(kind: str) -> None:
    _, run, own = viewed(kind)
    data, arrays = unpack_frame(run_frame(own, LIGHT, channel="here", grid=False))
    assert (data["channel"], data["whole"], data["grid"], data["detail"]) == ("here", True, False, True)
    assert [attn["name"] for attn in data["attentions"]] == list(own.attentions)
    assert set(arrays) == {f"weights:{n}/values" for n in own.attentions}, "no mask but causal ones"
    for attn in data["attentions"]:
        name, n_layers = attn["name"], attn["layers"]
        values = arrays[f"weights:{name}/values"]
        n_queries, n_keys = (len(data["sides"][attn[side]]["tokens"]) for side in ("queries", "keys"))
        assert values.shape == (n_layers, attn["heads"], n_queries, n_keys)
        for layer in range(n_layers):
            record = attention_record(run.trace, name, layer)
            assert attn["path"].replace("{layer}", str(layer)) == record.path
            assert_same(values[layer], record.weights[0])
            ones = np.ones((n_queries, n_keys), bool)
            allowed = np.tril(ones) if attn["causal"] else ones
            np.testing.assert_array_equal(allowed, record.mask[0, 0])
            assert not values[layer][:, ~allowed].any()


def test_sides_and_depths_are_unequal_here() -> None:
    """Otherwise a swapped axis or stack could go unnoticed in these tests."""
    own = viewed("words")[2]
    assert len(own.sides["encoder"].tokens) != len(own.sides["decoder"].tokens)
    assert own.attentions["encoder"].n_layers != own.attentions["decoder"].n_layers
    assert (
        len(
            {
                len(own.sides["encoder"].tokens),
                len(own.sides["decoder"].tokens),
                own.attentions["cross"].n_heads,
            }
        )
        == 3
    )


@pytest.mark.parametrize("kind", ["sub-words", "languages", "masked"])
def test_the_tokens_and_what_is_known_of_them_are_told(kind: str) -> None:
    own = viewed(kind)[2]
    data, _ = unpack_frame(run_frame(own, LIGHT))
    assert data["unit"] == own.unit
    for stack, side in own.sides.items():
        told = data["sides"][stack]
        assert told["tokens"] == [visible(token) for token in side.tokens]
        assert (told["special"], told["punctuation"]) == (list(side.special), list(side.punctuation))
        assert side.words is not None
        assert told["words"] == [visible(label) for label in side.words.labels]
        assert told["word_of"] == side.words.word_of.tolist()
        assert told["written"] == [None if token is None else visible(token) for token in side.written]


def test_a_closed_cell_has_its_reason() -> None:
    """Padding among the tokens, as can be typed as ids for a model without a tokenizer."""
    loaded = tiny_model(2)
    pad, cat, dog = 0, *loaded.source.encode("cat dog").ids
    run = force(
        loaded, loaded.source.describe_ids([cat, pad, dog, pad]), loaded.target.describe_ids([5, pad, 6])
    )
    data, arrays = unpack_frame(run_frame(view_run(run, loaded), LIGHT))
    assert data["attentions"][1]["reasons"] == [f"masked: {why}" for why in (FUTURE, "padding", WINDOW)]
    assert arrays["closed:decoder"].tolist() == [[0, 1, 2, 1], [0, 0, 2, 1], [0, 0, 2, 1], [0, 0, 2, 0]]
    assert arrays["closed:cross"].tolist() == [[0, 2, 0, 2, 0]] * 4
    assert not any(attn["causal"] for attn in data["attentions"])


def test_each_layer_has_its_windows_cells() -> None:
    loaded, run, own = viewed("capped")
    data, arrays = unpack_frame(run_frame(own, LIGHT))
    assert data["attentions"][0]["causal"], "layer 1 has no window"
    assert loaded.model.config.attention_windows == (3, 0, 2)
    for layer, window in ((0, 3), (2, 2)):
        mask = run.trace.attention("decoder", layer, "self_attn").mask[0, 0].numpy()
        query, key = np.indices(mask.shape)
        codes = np.where(key > query, 1, np.where(query - key >= window, 3, 0))
        np.testing.assert_array_equal(arrays[f"closed:decoder:{layer}"], codes)
        np.testing.assert_array_equal(codes == 0, mask)
        assert (codes == 3).any()
    assert "closed:decoder:1" not in arrays


def test_an_update_tells_the_choice_and_to_which_run_it_belongs() -> None:
    own = viewed("words")[2]
    choice = Choice("decoder", 1, 2, cell=(3, 1), heads=(0, 2))
    data, arrays = unpack_frame(update_frame(own, choice))
    assert (data["run"], data["pieces"]) == (run_id(own), [])
    assert data["choice"] == json.loads(json.dumps(choice.data()))
    assert arrays == {}
    data, _ = unpack_frame(update_frame(own, None, ["nope"]))
    assert (data["choice"], data["pieces"], data["none"]) == (None, [], ["nope"])


# Long runs


@pytest.mark.parametrize("n_source, n_target", [(MAX_SHORT, 7), (7, MAX_SHORT)])
def test_few_weights_come_at_once(n_source: int, n_target: int) -> None:
    own = long_run(n_source, n_target)
    assert MAX_SHORT == 64
    data, arrays = unpack_frame(run_frame(own, LIGHT))
    assert data["whole"] is is_short(own) is True
    assert data["pooled"] == MAX_SHORT
    assert arrays["weights:cross/values"].shape == (3, 3, n_target, n_source)
    assert first_pieces(own, default_choice(own)) == []


def test_of_many_weights_come_a_byte_each_and_the_chosen_head() -> None:
    own = long_run(MAX_SHORT, MAX_SHORT)
    wide = {name: replace(view, n_heads=99) for name, view in own.attentions.items()}
    data, arrays = unpack_frame(run_frame(replace(own, attentions=wide), LIGHT))
    assert (data["whole"], data["pooled"], arrays) == (True, MAX_SHORT, {})
    choice = Choice("decoder", 1, 2)
    assert first_pieces(replace(own, attentions=wide), choice) == ["pooled:decoder", "head:decoder:1:2"]


def test_a_byte_is_within_half_a_level_of_its_weight() -> None:
    own = long_run(MAX_SHORT, 9)
    for name, attn in own.attentions.items():
        _, pieces = update(own, f"pooled:{name}")
        levels, low, high = (pieces[f"pooled:{name}/{array}"] for array in ("levels", "low", "high"))
        weights = np.stack([attn.weights(layer) for layer in range(attn.n_layers)])
        assert levels.shape == weights.shape
        assert levels.dtype == np.uint8
        span = (high - low)[..., None, None]
        rough = low[..., None, None] + levels / np.float32(TOP_LEVEL) * span
        is_open = np.broadcast_to(attn.allowed, weights.shape)
        assert np.all(levels[~is_open] == CLOSED_LEVEL)
        within = np.abs(rough - weights) <= 0.501 * span / TOP_LEVEL + 1e-7
        assert np.all(within[is_open])


@pytest.mark.parametrize("n_source, n_target", [(MAX_SHORT + 1, 7), (7, MAX_SHORT + 1)])
def test_of_more_tokens_come_pooled_maps_and_the_chosen_head(n_source: int, n_target: int) -> None:
    own = long_run(n_source, n_target)
    data, arrays = unpack_frame(run_frame(own, LIGHT))
    assert data["whole"] is is_short(own) is False
    assert (data["pooled"], arrays) == (POOLED_SIDE, {})
    choice = Choice("cross", 1, 2)
    assert first_pieces(own, choice) == ["pooled:cross", "head:cross:1:2"]
    for name, attn in own.attentions.items():
        _, pieces = update(own, f"pooled:{name}", f"head:{name}:1:2")
        assert_same(pieces[f"head:{name}:1:2/weights"], attn.weights(1)[2])
        weights = np.stack([attn.weights(layer) for layer in range(attn.n_layers)])
        expected = pool_maps(weights, attn.allowed, POOLED_SIDE)
        for array in ("levels", "low", "high", "strongest_query", "strongest_key"):
            np.testing.assert_array_equal(pieces[f"pooled:{name}/{array}"], getattr(expected, array))
        assert max(pieces[f"pooled:{name}/levels"].shape) <= POOLED_SIDE
        highest = weights.max(axis=(2, 3))
        np.testing.assert_array_equal(pieces[f"pooled:{name}/high"], highest)
        at = (pieces[f"pooled:{name}/strongest_{axis}"].astype(int) for axis in ("query", "key"))
        layers, heads = np.indices(highest.shape)
        np.testing.assert_array_equal(weights[layers, heads, *at], highest)


# Hostile text, and weights that are not finite


HOSTILE = [
    *("<script>alert(1)</script>", "\ud800", "</div>", "שלום", '"]}', "\u2028", "\x00\x1b[31m", "\u202e"),
    *("", " ", "a" * 10_000, "![](http://example.com/x.png)", "__proto__", "{layer}", "\u200b", "👩‍👩‍👧‍👦"),
]


def test_hostile_tokens_travel_as_text() -> None:
    n = len(HOSTILE)
    weights = np.full((1, n, n), 1 / n, np.float32)
    own = view_weights({"encoder": [weights]}, {"encoder": HOSTILE})
    frame = run_frame(own, LIGHT)
    data, _ = unpack_frame(frame)
    tokens = data["sides"]["encoder"]["tokens"]
    assert tokens == [visible(token) for token in HOSTILE]
    for token in tokens:
        assert token.encode(), "no lone surrogate"
        assert token.strip()
        assert len(token) < 300
        assert not any(character in token for character in "\x00\x1b\u202e\u2028\u200b")
    (length,) = struct.unpack_from("<I", frame)
    frame[4 : 4 + length].decode("ascii")
    assert run_id(own) != run_id(view_weights({"encoder": [weights]}, {"encoder": HOSTILE[::-1]}))


def test_numbers_that_are_none_travel_and_break_nothing() -> None:
    """With broken parameters every attention weight is NaN."""
    loaded = tiny_model(2)
    state = dict(loaded.model.state_dict())
    state["encoder.layers.0.self_attn.w_q.weight"][:] = torch.nan
    own = view_run(run_sentence(loaded, TEXT, TARGET), loaded)
    _, arrays = unpack_frame(run_frame(own, LIGHT))
    assert np.isnan(arrays["weights:encoder/values"]).all()
    names = [f"{kind}:encoder" for kind in ("scores", "pooled", "lengths", "ranking")]
    assert update(own, *names, "head:encoder:0:0", "vectors:encoder:1:2")[0] == [
        *names,
        "head:encoder:0:0",
        "vectors:encoder:1:2",
    ]
