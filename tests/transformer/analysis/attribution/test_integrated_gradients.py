"""Integrated gradients against a loop of separate forward passes, and their sum against the answers.

Gauss-Legendre quadrature is the rule of Captum and Inseq; the adaptive rule has to come nearer to its limit.
"""

from __future__ import annotations

from unittest.mock import Mock, call

import numpy as np
import pytest
import torch

from tests.support.kinds import KINDS
from tests.support.models import tiny_model
from tests.support.perturbed import perturbed
from transformer.analysis.attribution import integrated_gradients as module
from transformer.analysis.attribution.integrated_gradients import (
    BASELINES,
    N_STEPS,
    Baseline,
    IntegratedGradients,
    integrated_gradients,
)
from transformer.analysis.interventions.questions import against_next_best, suppressed_ids, word_questions
from transformer.checkpoints.folder import open_saved
from transformer.loaded import LoadedModel
from transformer.model.masks import causal_mask, padding_mask
from transformer.run import run_sentence

TEXT = "Yesterday I saw the dog."


def slow_gradients(loaded: LoadedModel, baseline: Baseline, n_steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of source and target tokens of a model without segments, norms or projections of embeddings.

    The embeddings go into the stacks by hand, one step at a time, with the whole target.
    """
    run = run_sentence(loaded, TEXT, "il cane ho visto")
    model, question = loaded.model, word_questions(loaded, run)[2]
    assert run.encoder_input is not None
    src, tgt = torch.tensor([run.encoder_input.ids]), torch.tensor([run.target_ids])
    sides = []
    for ids, embedding, first, n in (
        (src, model.src_embedding, 0, len(run.source.ids)),
        (tgt, model.tgt_embedding, 1, len(run.target.ids)),
    ):
        table = embedding.weight * embedding.scale
        end, neutral = table[ids], {"unknown": table[3], "zero": table[0] * 0, "mean": table.mean(dim=0)}
        start = end.clone()
        start[:, first : first + n] = neutral[baseline]
        assert embedding.positions is not None
        sides.append((start, end, embedding.positions(0, ids.shape[1])))
    mask, total = padding_mask(src, model.config.pad_id), [torch.zeros(()), torch.zeros(())]
    points, weights = np.polynomial.legendre.leggauss(n_steps)
    for point, weight in zip((points + 1) / 2, weights / 2, strict=True):
        moving = [(start + point * (end - start)).requires_grad_() for start, end, _ in sides]
        x, y = (one + positions for one, (_, _, positions) in zip(moving, sides, strict=True))
        out = model.decoder(y, causal_mask(tgt.shape[1]), model.encoder(x, mask), mask)
        answer = question.value(model.propose(out), suppressed_ids(loaded, run)).sum()
        gradients = torch.autograd.grad(answer, moving)
        total = [sum_ + weight * gradient for sum_, gradient in zip(total, gradients, strict=True)]
    scores = [((end - start) * own).sum(dim=-1)[0] for (start, end, _), own in zip(sides, total, strict=True)]
    return scores[0].numpy(), scores[1].numpy()


@pytest.mark.parametrize("baseline", BASELINES)
def test_they_are_those_of_separate_forward_passes(
    baseline: Baseline, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = perturbed(tiny_model(norm_position="pre", final_norm=True), 0.1)
    run = run_sentence(loaded, TEXT, "il cane ho visto")
    monkeypatch.setattr(module, "MOST_ROWS", 5)
    progress = Mock()
    found = integrated_gradients(
        loaded,
        run,
        word_questions(loaded, run)[2],
        baseline,
        n_steps=13,
        rule="gauss-legendre",
        on_progress=progress,
    )
    source, target = slow_gradients(loaded, baseline, 13)
    np.testing.assert_allclose(found.by_stack["encoder"], source, atol=1e-5)
    np.testing.assert_allclose(found.by_stack["decoder"], target, atol=1e-5)
    assert found.by_stack["decoder"][0] == 0  # <bos> stays
    assert progress.mock_calls == [call(5, 13), call(10, 13), call(13, 13)]


@pytest.mark.parametrize("kind", [name for name in KINDS if name not in ("reader", "stacks", "experts")])
def test_they_add_up_to_the_change_of_the_answer_in_every_kind(kind: str) -> None:
    loaded = KINDS[kind]()
    run = run_sentence(loaded, TEXT)
    question = against_next_best(loaded, run, word_questions(loaded, run)[0])
    found = integrated_gradients(loaded, run, question, "mean", n_steps=200)
    answer = float(question.value(run.trace["logits"], suppressed_ids(loaded, run))[0])
    assert found.answer == pytest.approx(answer, abs=1e-5)
    assert abs(found.completeness_error) < 5e-3 * abs(found.answer - found.baseline_answer)
    assert all(parameter.grad is None for parameter in loaded.model.parameters())
    for stack, scores in found.by_stack.items():
        read = run.encoder_input if stack == "encoder" else run.decoder_input
        assert read is not None
        assert scores.shape == (len(read.ids),)


@pytest.mark.parametrize("kind", ["rotary", "capped", "parallel"])
def test_points_gather_where_a_norm_turns_zeros_into_a_direction(kind: str) -> None:
    """Without positions in the stream, most of the answer changes within the first thousandth of the path."""
    loaded = KINDS[kind]()
    run = run_sentence(loaded, TEXT)
    question = against_next_best(loaded, run, word_questions(loaded, run)[0])
    found = integrated_gradients(loaded, run, question, "zero")
    change = abs(found.answer - found.baseline_answer)
    assert abs(found.completeness_error) < 2e-2 * change
    even = integrated_gradients(loaded, run, question, "zero", rule="gauss-legendre")
    assert abs(even.completeness_error) > 0.3 * change


def test_points_gather_where_relus_switch() -> None:
    """In a trained model: at the same cost, the sum and each token's score are several times as exact."""
    loaded = open_saved("toy-en-it")
    run = run_sentence(loaded, "my sister is younger than your brother.")
    errors = []
    for question in word_questions(loaded, run)[1:6:2]:
        limit = integrated_gradients(loaded, run, question, n_steps=1600, rule="gauss-legendre")
        progress = Mock()
        found = integrated_gradients(loaded, run, question, on_progress=progress)
        counts = [done for (done, _), _ in progress.call_args_list]
        assert counts == sorted(counts)
        assert progress.mock_calls[-1] == call(N_STEPS, N_STEPS)
        even = integrated_gradients(loaded, run, question, rule="gauss-legendre")
        errors.append([(abs(one.completeness_error), _distance(one, limit)) for one in (found, even)])
    (own, own_scores), (even_, even_scores) = np.mean(errors, axis=0)
    assert own < even_ / 4
    assert own_scores < even_scores / 2


def _distance(one: IntegratedGradients, other: IntegratedGradients) -> float:
    """The largest difference of two scores of a token."""
    return max(float(np.abs(one.by_stack[stack] - other.by_stack[stack]).max()) for stack in one.by_stack)


def test_later_tokens_count_where_heads_are_merged_untransposed() -> None:
    loaded = tiny_model(merge_heads="untransposed")
    run = run_sentence(loaded, TEXT, "il cane ho visto")
    found = integrated_gradients(loaded, run, word_questions(loaded, run)[0], n_steps=200)
    assert found.by_stack["decoder"][2:].any()
    assert abs(found.completeness_error) < 1e-2
