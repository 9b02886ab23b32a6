"""Words that are taken away, against runs of other ids and against attention without them."""

from __future__ import annotations

import pytest
import torch

from tests.support.kinds import KINDS
from tests.support.models import tiny_model
from tests.support.perturbed import perturbed
from tests.support.renumbered import UNK_ID
from transformer.analysis.interventions.knock_outs import (
    KNOCK_OUTS,
    embedded,
    input_words,
    neutral_embedding,
    word_effects,
)
from transformer.analysis.interventions.questions import suppressed_ids, word_questions
from transformer.model.masks import padding_mask
from transformer.run import run_sentence

TEXT = "Yesterday I saw the dog."
TARGET = "il cane ho visto"


@pytest.mark.parametrize("kind", ["relative", "rotary", "masked", "shared"])
def test_an_unknown_word_is_a_run_with_unk_in_its_place(kind: str) -> None:
    loaded = perturbed(KINDS[kind](), 0.1)
    run = run_sentence(loaded, TEXT)
    questions, suppressed = word_questions(loaded, run), suppressed_ids(loaded, run)
    effects = word_effects(loaded, run, questions)
    sides = [None if read is None else list(read.ids) for read in (run.encoder_input, run.decoder_input)]
    changed = 0 if sides[0] is not None else 1
    for word in range(len(input_words(loaded, run).labels)):
        ids = [None if side is None else torch.tensor([side]) for side in sides]
        for place in input_words(loaded, run).tokens(word):
            own = ids[changed]
            assert own is not None
            own[0, place] = UNK_ID
        logits = loaded.model(*ids)
        for column, question in enumerate(questions):
            fall = question.value(run.trace["logits"], suppressed) - question.value(logits, suppressed)
            assert float(effects[word, column]) == pytest.approx(float(fall), abs=1e-4)


def test_words_of_the_prefix_can_be_taken_away_too() -> None:
    loaded = perturbed(tiny_model(), 0.1)
    run = run_sentence(loaded, TEXT, TARGET)
    questions, suppressed = word_questions(loaded, run), suppressed_ids(loaded, run)
    effects = word_effects(loaded, run, questions, stack="decoder")
    assert run.encoder_input is not None
    for word in range(5):
        ids = list(run.target_ids)
        ids[word] = 3
        logits = loaded.model(torch.tensor([run.encoder_input.ids]), torch.tensor([ids]))
        for column, question in enumerate(questions):
            fall = question.value(run.trace["logits"], suppressed) - question.value(logits, suppressed)
            assert float(effects[word, column]) == pytest.approx(float(fall), abs=1e-4)
            assert column >= word or effects[word, column] == pytest.approx(0, abs=1e-5)  # later words


def test_a_masked_word_is_seen_by_no_attention() -> None:
    loaded = perturbed(tiny_model(), 0.1)
    run = run_sentence(loaded, TEXT, TARGET)
    (question,) = word_questions(loaded, run)[2:3]
    effects = word_effects(loaded, run, [question], "masked")[:, 0]
    assert run.encoder_input is not None
    src, tgt = torch.tensor([run.encoder_input.ids]), torch.tensor([run.target_ids])
    mask = padding_mask(src, loaded.model.config.pad_id).clone()
    mask[..., 3] = False
    causal = torch.ones(tgt.shape[1], tgt.shape[1]).tril().bool()[None, None]
    model = loaded.model
    memory = model.encoder(model.src_embedding(src), mask)
    logits = model.propose(model.decoder(model.tgt_embedding(tgt), causal, memory, mask))
    suppressed = suppressed_ids(loaded, run)
    fall = question.value(run.trace["logits"], suppressed) - question.value(logits, suppressed)
    assert float(effects[3]) == pytest.approx(float(fall), abs=1e-4)


def test_resampled_words_are_those_of_the_seed_and_never_special() -> None:
    loaded = perturbed(tiny_model(), 0.1)
    run = run_sentence(loaded, TEXT, TARGET)
    questions = word_questions(loaded, run)
    first, again, other = (word_effects(loaded, run, questions, "resampled", seed=seed) for seed in (4, 4, 5))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_vocabulary_without_unk_gets_its_mean_embedding() -> None:
    loaded = tiny_model()
    rows = embedded(loaded, "decoder", range(len(loaded.target.vocabulary)))
    torch.testing.assert_close(neutral_embedding(loaded, "decoder", "mean"), rows.mean(dim=0))
    torch.testing.assert_close(neutral_embedding(loaded, "decoder", "unknown"), rows[3])


@pytest.mark.parametrize("how", KNOCK_OUTS)
def test_progress_is_reported_and_words_can_be_chosen(how: str) -> None:
    loaded = tiny_model()
    run = run_sentence(loaded, TEXT, TARGET)
    questions = word_questions(loaded, run)
    steps: list[tuple[int, int]] = []
    kind = next(one for one in KNOCK_OUTS if one == how)

    def report(done: int, of: int) -> None:
        steps.append((done, of))

    found = word_effects(loaded, run, questions, kind, words=[[0, 2], [1]], on_progress=report)
    assert found.shape == (2, len(questions))
    assert steps[-1][0] == steps[-1][1]
