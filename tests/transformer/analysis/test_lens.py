"""Lenses: at the last layer they are the run's own output, below it the same weights cut short."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from tests.support.kinds import KINDS
from tests.support.models import tiny_model
from transformer.analysis.interventions.questions import (
    Question,
    against_next_best,
    suppressed_ids,
    word_questions,
)
from transformer.analysis.lens import decoder_lens, logit_lens
from transformer.loaded import LoadedModel, freeze
from transformer.model.transformer import Transformer
from transformer.run import Run, generate, run_again, run_sentence

TEXT = "Yesterday I saw the dog."
TARGET = "Ieri ho visto il cane."
MODELS: dict[str, Callable[[], LoadedModel]] = {**KINDS, "paper": tiny_model}
every_kind = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


@every_kind
def test_the_last_row_is_the_model_s_own_output(make: Callable[[], LoadedModel]) -> None:
    loaded = make()
    run = run_sentence(loaded, TEXT, TARGET)
    if not run.steps:
        with pytest.raises(ValueError, match="no generator"):
            logit_lens(loaded, run, Question("x", (0,), (0,)))
        return
    step = run.steps[-1]
    question = word_questions(loaded, run)[-1]
    rows = logit_lens(loaded, run, replace(question, rows=question.rows[-1:], ids=question.ids[-1:]))
    last = rows[-1].step
    assert last.probability == pytest.approx(step.probability, rel=1e-4)
    assert (last.token_id, last.rank) == (step.token_id, step.rank)
    config = loaded.model.config
    n_sublayers = 3 if config.kind == "encoder-decoder" else 2
    assert len(rows) == 1 + n_sublayers * run.trace.n_layers(
        "decoder" if config.n_decoder_layers else "encoder"
    )
    assert (rows[0].layer, rows[0].sublayer) == (None, "input")


@every_kind
def test_a_rival_is_read_next_to_the_word(make: Callable[[], LoadedModel]) -> None:
    """The difference of two logits is that of the two log-probabilities; the last one is the answer."""
    loaded = make()
    run = run_sentence(loaded, TEXT, TARGET)
    if not run.steps:
        return
    question = against_next_best(loaded, run, word_questions(loaded, run)[1])
    rows = logit_lens(loaded, run, question)
    for row in rows:
        assert row.rival is not None
        assert row.rival.token_id == question.rival_id
        ratio = math.log(row.step.probability) - math.log(row.rival.probability)
        assert row.difference == pytest.approx(ratio, abs=1e-4)
    assert rows[-1].difference == pytest.approx(answer(loaded, run, question), abs=1e-4)
    alone = logit_lens(loaded, run, word_questions(loaded, run)[1])
    assert {(row.rival, row.difference) for row in alone} == {(None, None)}


def answer(loaded: LoadedModel, run: Run, question: Question) -> float:
    return float(question.value(run.trace["logits"], suppressed_ids(loaded, run))[0])


def test_a_layer_s_row_is_the_output_of_a_model_that_ends_there() -> None:
    loaded = tiny_model(norm_position="pre", final_norm=True)
    run = run_sentence(loaded, TEXT, TARGET)
    question = word_questions(loaded, run)[1]
    config = replace(loaded.model.config, n_decoder_layers=2)
    short = Transformer(config, torch.Generator().manual_seed(0))
    short.load_state_dict(loaded.model.state_dict(), strict=False)
    ended = run_again(replace(loaded, model=freeze(short)), run)
    row = next(one for one in logit_lens(loaded, run, question) if one[:2] == (1, "feed-forward"))
    expected = next(step for step in ended.steps if step.position == question.rows[0])
    assert row.step.probability == pytest.approx(expected.probability, rel=1e-4)
    assert row.step.top_ids == expected.top_ids


@pytest.mark.parametrize("kind", ["relative", "languages", "shifted"])
def test_the_decoder_reads_an_encoder_that_ends_earlier(kind: str) -> None:
    loaded = KINDS[kind]()
    run = run_sentence(loaded, TEXT)
    seen: list[tuple[int, int]] = []
    question = against_next_best(loaded, run, word_questions(loaded, run)[0])
    rows = decoder_lens(loaded, run, question, lambda *progress: seen.append(progress))
    assert [row.layer for row in rows] == [None, 0, 1]
    assert seen[-1] == (3, 3)
    own = sum(math.log(step.probability) for step in run.steps)
    assert rows[-1].text == run.translation
    assert rows[-1].log_probability == pytest.approx(own, rel=1e-4)
    assert rows[-1].answer == pytest.approx(answer(loaded, run, question), abs=1e-4)
    config = replace(loaded.model.config, n_encoder_layers=1)
    short = Transformer(config, torch.Generator().manual_seed(0))
    short.load_state_dict(loaded.model.state_dict(), strict=False)
    ended = replace(loaded, model=freeze(short))
    assert rows[1].text == generate(ended, run.source).translation
    forced = run_again(ended, run)
    assert rows[1].answer == pytest.approx(answer(ended, forced, question), abs=1e-4)
    log_probability = sum(math.log(step.probability) for step in forced.steps[: len(run.steps)])
    if len(forced.steps) == len(run.steps):
        assert rows[1].log_probability == pytest.approx(log_probability, rel=1e-4)


def test_what_a_decoder_lens_needs_is_said() -> None:
    for kind, told in (("prompted", "decoder-only"), ("masked", "encoder-only"), ("stacks", "no generator")):
        loaded = KINDS[kind]()
        with pytest.raises(ValueError, match=told):
            decoder_lens(loaded, run_sentence(loaded, TEXT), Question("x", (0,), (0,)))
