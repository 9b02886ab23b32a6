"""The heads and the row that align are found by knock-outs, in models of which they are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.support.aligning import HEAD, LAYER, swapped_pairs, swapping
from tests.support.kinds import KINDS
from tests.support.models import tiny_model, tiny_subword_model
from transformer.analysis.alignment.aligning import align
from transformer.analysis.alignment.attention import (
    CONVENTIONS,
    Convention,
    encode_pair,
    pair_trace,
    word_weights,
)
from transformer.analysis.alignment.choice import Part, losses
from transformer.errors import AlignmentError, SentenceError
from transformer.run import run_sentence


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_the_row_is_right_in_a_model_of_either_kind(convention: Convention) -> None:
    pairs = swapped_pairs(6, seed=1)
    found = align(swapping(convention), pairs)
    assert found.choice is not None
    assert found.choice.parts == (Part(convention, LAYER, HEAD),)
    assert found.choice.agreement == pytest.approx(1, abs=1e-3)
    assert found.choice.diagonal_agreement < 0.1
    for (source, _), links in zip(pairs, found.links, strict=True):
        assert links == tuple((place, place ^ 1) for place in range(len(source.split())))


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_hidden_and_unknown_words_are_missed_where_they_are_translated(convention: Convention) -> None:
    """Hiding a word hides what is stored at its place too; only the word itself is missed both ways."""
    loaded = swapping(convention)
    (given,) = swapped_pairs(1, seed=4)
    pair = encode_pair(loaded, *given)
    assert pair is not None
    lost = losses(loaded, pair)
    # In the reading model nothing tells the first row where to look.
    for target in range(1 if convention == "reading" else 0, len(lost)):
        assert lost[target].argmax() == target ^ 1
        assert np.delete(lost[target], target ^ 1).max() < 0.01 * lost[target].max()


def test_weights_between_words_are_sums_of_those_between_tokens() -> None:
    """Checked against the trace of the same text, token by token, in sub-words."""
    loaded = tiny_subword_model(max_len=90)
    pair = encode_pair(loaded, "The dogs do n't see you .", "L' amica dell' amico vede l' acqua .")
    assert pair is not None
    run = run_sentence(loaded, "The dogs don't see you.", "L'amica dell'amico vede l'acqua.")
    trace = pair_trace(loaded, pair)
    assert pair.decoder_input.ids == run.target_ids
    weights = run.trace["decoder.layers.2.cross_attn.weights"][0, 1].double().numpy()
    shifts: dict[Convention, int] = {"writing": -1, "reading": 0}
    for convention, shift in shifts.items():
        own = word_weights(trace, pair, convention)[2, 1]
        assert own.shape == (8, 7)
        for target, tokens in enumerate(pair.target_tokens):
            rows = np.flatnonzero(tokens) + shift
            for source, keys in enumerate(pair.source_tokens):
                expected = weights[rows][:, keys].sum(axis=1).mean()
                assert own[target, source] == pytest.approx(expected, abs=1e-6)
    assert pair.target_tokens.sum() == len(run.target.ids)


def test_empty_sides_have_no_links_and_keep_their_place() -> None:
    loaded = swapping("writing")
    (pair,) = swapped_pairs(1, seed=2)
    found = align(loaded, [("", "ape"), pair, ("ant", "  "), ("", "")])
    assert [bool(links) for links in found.links] == [False, True, False, False]
    assert align(loaded, [("", "")]).choice is None
    assert align(loaded, []).links == ()


def test_the_sample_has_a_seed_and_the_model_is_unchanged() -> None:
    loaded = tiny_model()
    before = {name: tensor.clone() for name, tensor in loaded.model.state_dict().items()}
    pairs = [("the cat saw a dog .", "il gatto vedo un cane .")] * 2
    assert align(loaded, pairs, seed=5) == align(loaded, pairs, seed=5)
    assert all(tensor.equal(before[name]) for name, tensor in loaded.model.state_dict().items())


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_aligns_or_says_why_not(kind: str) -> None:
    loaded = KINDS[kind]()
    pairs = [("the cat saw a dog .", "il gatto vedo un cane .")]
    if loaded.model.config.kind != "encoder-decoder":
        with pytest.raises(AlignmentError, match="no cross-attention"):
            align(loaded, pairs)
    elif not loaded.model.config.has_generator:
        with pytest.raises(AlignmentError, match="no generator"):
            align(loaded, pairs)
    else:
        found = align(loaded, pairs)
        assert found.choice is not None
        assert 0 <= found.choice.agreement <= 1
        assert all(0 <= source < 6 and 0 <= target < 6 for source, target in found.links[0])


def test_heads_that_are_merged_untransposed_align_too() -> None:
    loaded = tiny_model(merge_heads="untransposed")
    assert align(replace(loaded, name="other"), [("the cat .", "il gatto .")]).choice is not None


def test_damaged_weights_are_no_alignment() -> None:
    loaded = tiny_model()
    with torch.no_grad():
        for parameter in loaded.model.get_submodule("decoder.layers.0.cross_attn").parameters():
            parameter.fill_(torch.nan)
    with pytest.raises(AlignmentError, match="not finite"):
        align(loaded, [("the cat .", "il gatto .")])


def test_a_long_pair_is_named() -> None:
    with pytest.raises(SentenceError, match="source of pair 1 has 33 words"):
        align(tiny_model(), [("a cat", "un gatto"), ("a dog . " * 11, "un cane")])
