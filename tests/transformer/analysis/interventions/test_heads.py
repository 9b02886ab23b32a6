"""Heads switched off in batches: the same numbers as one by one, and the right ones first."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.support.kinds import KINDS, config_of
from tests.support.models import tiny_model
from transformer.analysis.edited import edited_records
from transformer.analysis.interventions.corpus import corpus_effects, whole_output
from transformer.analysis.interventions.heads import (
    ABLATIONS,
    Switch,
    answers_with_k_heads,
    head_effects,
    head_places,
)
from transformer.analysis.interventions.outcomes import outcomes
from transformer.analysis.interventions.questions import suppressed_ids, word_questions
from transformer.run import run_sentence

TEXT, OTHER = "Yesterday I saw the dog.", "The cat saw a dog yesterday."
WRITERS = [name for name, make in KINDS.items() if config_of(make).has_generator]


@pytest.mark.parametrize("kind", WRITERS)
def test_a_batch_of_ablations_is_each_of_them_alone(kind: str) -> None:
    """Also where the tap sees tensors that all rows of the batch share, and layers that share weights."""
    loaded = KINDS[kind]()
    run = run_sentence(loaded, TEXT)
    question = word_questions(loaded, run)[-1]
    switch = Switch(loaded, "zero")
    effects = head_effects(loaded, run, [question], switch)[:, 0]
    places = head_places(loaded.model.config)
    assert len(places) == len(effects)
    suppressed = suppressed_ids(loaded, run)
    own = float(question.value(run.trace["logits"], suppressed))
    for place, effect in list(zip(places, effects.tolist(), strict=True))[::5]:
        (variant,) = switch.off([place])
        alone = question.value(edited_records(loaded, run, variant)["logits"], suppressed)
        assert own - float(alone) == pytest.approx(effect, abs=1e-4), place


def test_each_kind_of_ablation_puts_in_what_it_says() -> None:
    loaded = tiny_model()
    run, reference = run_sentence(loaded, TEXT), run_sentence(loaded, OTHER)
    place = head_places(loaded.model.config)[-1]
    found = {}
    for how in ABLATIONS:
        variant = Switch(loaded, how, [reference]).off([place])[0]
        found[how] = edited_records(loaded, run, variant)[place.path][0]
    other = reference.trace[place.path][0, place.head]  # (T, d_head)
    for how, z in found.items():
        untouched = [head for head in range(len(z)) if head != place.head]
        torch.testing.assert_close(z[untouched], run.trace[place.path][0, untouched], msg=how)
    assert not found["zero"][place.head].any()
    torch.testing.assert_close(found["mean"][place.head], other.mean(dim=0).expand_as(found["mean"][0]))
    rows = found["resample"][place.head]
    assert all((row - other).norm(dim=-1).min() < 1e-6 for row in rows), "each a vector of the other run"
    with pytest.raises(ValueError, match="other sentences"):
        Switch(loaded, "mean")


def test_keeping_no_head_to_all_heads() -> None:
    loaded = tiny_model()
    run = run_sentence(loaded, TEXT)
    question, switch = whole_output(loaded, run), Switch(loaded, "zero")
    order = head_places(loaded.model.config)[::-1]
    answers = answers_with_k_heads(loaded, run, question, switch, order)
    none, one, every = outcomes(loaded, run, [*switch.off(order), *switch.off(order[1:]), {}], [question])[
        :, 0
    ]
    assert answers[[0, 1, -1]].tolist() == pytest.approx([float(none), float(one), float(every)], abs=1e-5)


def test_over_a_corpus_effects_are_per_sentence_and_token() -> None:
    loaded = tiny_model()
    switch = Switch(loaded, "zero")
    pairs = [(TEXT, "ho visto il cane"), (OTHER, "")]
    told: list[tuple[int, int]] = []
    effects, own = corpus_effects(loaded, pairs, switch, lambda done, of: told.append((done, of)))
    assert told == [(1, 2), (2, 2)]
    run = run_sentence(loaded, *pairs[0])
    alone = head_effects(loaded, run, word_questions(loaded, run), switch).sum(dim=1) / len(run.steps)
    np.testing.assert_allclose(effects[0], alone.numpy(), atol=1e-5)
    assert own[0] == pytest.approx(np.mean([np.log(step.probability) for step in run.steps]), abs=1e-5)
