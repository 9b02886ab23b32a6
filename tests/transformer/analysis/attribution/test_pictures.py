"""Pictures of every kind of model on its own words, and the share of the source where it is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.support.kinds import KINDS
from tests.support.models import tiny_model, tiny_subword_model
from tests.support.perturbed import perturbed
from transformer.analysis.attribution.alti import alti
from transformer.analysis.attribution.pictures import PICTURES, came_from, judged_words
from transformer.analysis.attribution.source_share import NoPrefixError, source_share
from transformer.analysis.interventions.knock_outs import input_stack
from transformer.analysis.interventions.questions import suppressed_ids, word_questions
from transformer.loaded import LoadedModel
from transformer.run import run_sentence

TEXT = "I saw the dog."


@pytest.mark.parametrize("kind", ["prompted", "rotary", "masked", "relative", "languages", "parallel"])
def test_every_picture_is_judged_on_the_words_of_the_sentence(kind: str) -> None:
    loaded = perturbed(KINDS[kind](), 0.1)
    run = run_sentence(loaded, TEXT)
    question = word_questions(loaded, run)[1]
    found = came_from(loaded, run, question)
    assert tuple(found.pictures) == ("norms", "alti", "rollout", "gradients")
    assert set(found.pictures) == set(PICTURES)
    labels = [found.words[found.stack].labels[word] for word in found.judged]
    read = ["I", "saw", "the", "dog", "."]
    assert labels[:5] == read
    assert len(labels) == (6 if loaded.model.config.kind == "decoder-only" else 5)
    assert found.is_exact
    for picture in found.pictures.values():
        assert 0 <= picture.naopc <= 1
        assert {stack: len(own) for stack, own in picture.by_stack.items()} == {
            stack: len(own.labels) for stack, own in found.words.items()
        }
    assert 0 <= found.naopc_band[0] < found.naopc_band[1] <= 1
    own = alti(loaded, run).of(question.rows)
    total = sum(found.pictures["alti"].by_stack[stack].sum() for stack in own)
    assert total == pytest.approx(1)


def test_sub_words_of_a_word_add_up() -> None:
    loaded = perturbed(tiny_subword_model(), 0.1)
    run = run_sentence(loaded, "Yesterday the cats")
    question = word_questions(loaded, run)[0]
    found = came_from(loaded, run, question)
    words, by_token = found.words["encoder"], alti(loaded, run).of(question.rows)["encoder"]
    by_word = [by_token[list(words.tokens(word))].sum() for word in range(len(words.labels))]
    assert len(by_word) < len(by_token)
    np.testing.assert_allclose(found.pictures["alti"].by_stack["encoder"], by_word)


def test_untransposed_heads_leave_the_pictures_that_need_no_heads() -> None:
    loaded = tiny_model(merge_heads="untransposed")
    run = run_sentence(loaded, TEXT)
    questions = word_questions(loaded, run)
    assert list(came_from(loaded, run, questions[0]).pictures) == ["gradients"]
    assert source_share(loaded, run, questions).source is None


def without_cross_attention() -> LoadedModel:
    loaded = perturbed(tiny_model(norm_position="pre"))
    with torch.no_grad():
        for name, parameter in loaded.model.named_parameters():
            if name.endswith("cross_attn.w_o.weight"):
                parameter.zero_()
    return loaded


def test_a_model_deaf_to_its_source_writes_from_the_prefix_alone() -> None:
    loaded = without_cross_attention()
    run = run_sentence(loaded, TEXT, "il cane ho visto")
    found = source_share(loaded, run, word_questions(loaded, run))
    assert found.source is not None
    assert found.coverage is not None
    np.testing.assert_allclose(found.gains, 0, atol=1e-5)
    np.testing.assert_allclose(found.source, 0, atol=1e-6)
    np.testing.assert_allclose(found.coverage, 0, atol=1e-6)
    assert found.needs_no_source_word.all()


@pytest.mark.parametrize("kind", ["relative", "rotary"])
def test_shares_and_gains_are_those_of_the_words(kind: str) -> None:
    loaded = perturbed(KINDS[kind]())
    run = run_sentence(loaded, TEXT)
    questions = word_questions(loaded, run)
    found = source_share(loaded, run, questions)
    assert found.source is not None
    assert found.coverage is not None
    n_tokens = sum(len(one.ids) for one in questions)
    shares = alti(loaded, run).by_stack
    prefix = shares["decoder"][:, len(found.source_words) :] if kind == "rotary" else shares["decoder"]
    for question, own in zip(questions, found.source, strict=True):
        assert own == pytest.approx(1 - prefix[list(question.rows)].sum(axis=1).mean())
    from_prefix = sum(prefix[row].sum() for one in questions for row in one.rows)
    assert found.coverage.sum() == pytest.approx(n_tokens - from_prefix)
    without = found.log_probabilities - found.gains
    assert found.explained == pytest.approx(1 - found.log_probabilities.sum() / without.sum())
    logits = run.trace["logits"]
    own = [float(one.value(logits, suppressed_ids(loaded, run))[0]) for one in questions]
    np.testing.assert_allclose(found.log_probabilities, own, atol=1e-5)


def test_a_model_without_a_decoder_has_no_prefix() -> None:
    loaded = KINDS["masked"]()
    run = run_sentence(loaded, TEXT)
    assert judged_words(run, word_questions(loaded, run)[0], input_stack(loaded.model.config))
    with pytest.raises(NoPrefixError, match="no decoder"):
        source_share(loaded, run, word_questions(loaded, run))
