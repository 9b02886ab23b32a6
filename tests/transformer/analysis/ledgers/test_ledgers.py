"""Ledgers: their sums are the numbers of the run, and their terms what is computed by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.kinds import KINDS
from tests.support.models import tiny_model
from transformer.analysis.attention_maps import MODULES, attentions
from transformer.analysis.interventions.heads import HeadPlace
from transformer.analysis.interventions.questions import Question, against_next_best, word_questions
from transformer.analysis.ledgers.logit import ledger_notes, logit_ledger, output_stack
from transformer.analysis.ledgers.reading import Part, grouped
from transformer.analysis.ledgers.score import score_ledger
from transformer.loaded import LoadedModel
from transformer.run import run_sentence

TEXT = "Yesterday I saw the dog."


def shaken(loaded: LoadedModel) -> LoadedModel:
    """The model with biases, betas and gammas that aren't at their initial 0 and 1."""
    generator = torch.Generator().manual_seed(11)
    for name, parameter in loaded.model.named_parameters():
        if parameter.dim() == 1:
            at = 1.0 if name.endswith("gamma") else 0.0
            parameter.copy_(at + 0.3 * torch.randn(parameter.shape, generator=generator))
    return loaded


def changed(**changes: Any) -> Callable[[], LoadedModel]:
    return lambda: tiny_model(**changes)


MODELS: dict[str, Callable[[], LoadedModel]] = {
    **KINDS,
    "paper": tiny_model,
    "unbiased, both norms": changed(norm="layer_unbiased", norm_position="both", residual_scale=0.7),
    "no norms": changed(norm_position="none"),
    "untransposed": changed(merge_heads="untransposed", norm_position="pre", final_norm=True),
}
every_kind = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


@every_kind
def test_the_terms_of_a_logit_sum_to_the_run_s(make: Callable[[], LoadedModel]) -> None:
    loaded = shaken(make())
    run = run_sentence(loaded, TEXT)
    if not loaded.model.config.has_generator:
        with pytest.raises(ValueError, match="no generator"):
            logit_ledger(loaded, run, Question("x", (0,), (0,)))
        return
    question = word_questions(loaded, run)[-1]
    logits = run.trace.get("logits_uncapped", run.trace["logits"])[0, question.rows[0]]
    for asked in (question, against_next_best(loaded, run, question)):
        ledger = logit_ledger(loaded, run, asked)
        rival = 0 if asked.rival_id is None else float(logits[asked.rival_id])
        assert ledger.recorded == pytest.approx(float(logits[asked.ids[0]]) - rival, abs=1e-6)
        assert ledger.total == pytest.approx(ledger.recorded, abs=1e-4)
        assert np.abs(ledger.values).max() > 0.01
    assert len(set(ledger.parts)) == len(ledger.parts)
    layers = {part.layer for part in ledger.parts if part.layer is not None}
    assert layers == set(range(run.trace.n_layers(output_stack(loaded.model.config))))


@every_kind
def test_the_terms_of_a_score_sum_to_the_run_s(make: Callable[[], LoadedModel]) -> None:
    loaded = shaken(make())
    run = run_sentence(loaded, TEXT, "Ieri ho visto il cane.")
    for attention in attentions(run.trace):
        stack, name = MODULES[attention]
        layer, head = run.trace.n_layers(stack) - 1, loaded.model.config.n_heads - 1
        path = f"{stack}.layers.{layer}.{name}"
        recorded = run.trace.get(f"{path}.scores_uncapped", run.trace[f"{path}.scores"])[0, head]
        for query, key in ((0, 0), (recorded.shape[0] - 1, 1), (1, recorded.shape[1] - 1)):
            ledger = score_ledger(loaded, run, HeadPlace(attention, layer, head), query, key)
            assert ledger.recorded == float(recorded[query, key])
            assert ledger.total == pytest.approx(ledger.recorded, abs=1e-4)
            assert ledger.values.shape == (len(ledger.query_parts), len(ledger.key_parts))


def test_a_head_s_term_is_its_output_through_the_norm_times_the_unembedding() -> None:
    loaded = shaken(tiny_model(norm_position="pre", final_norm=True))
    run = run_sentence(loaded, TEXT)
    question = against_next_best(loaded, run, word_questions(loaded, run)[0])
    ledger = logit_ledger(loaded, run, question)
    model, row, head = loaded.model, question.rows[0], 2
    z = run.trace["decoder.layers.1.cross_attn.z"][0, head, row]
    w_o = model.get_parameter("decoder.layers.1.cross_attn.w_o.weight")[:, 20:30]
    added = w_o @ z
    norm = model.decoder.final_norm
    assert norm is not None
    scale = run.trace["decoder.final_norm.scale"][0, row]
    normed = norm.gamma * (added - added.mean()) / scale
    expected = normed @ (model.generator.weight[question.ids[0]] - model.generator.weight[question.rival_id])
    own = [part[1:4] == (1, "cross_attn", head) for part in ledger.parts]
    assert ledger.values[own].sum() == pytest.approx(float(expected), abs=1e-6)
    # One term per source token, and one for the bias of the values.
    kinds = [part.kind for part, is_own in zip(ledger.parts, own, strict=True) if is_own]
    assert sorted(kinds) == ["attention"] * len(run.trace.src_tokens[0]) + ["bias"]


def test_a_term_of_a_score_is_the_product_of_two_parts() -> None:
    """In the first layer of a model without norms a query is made of token, position and bias alone."""
    loaded = shaken(tiny_model(norm_position="none"))
    run = run_sentence(loaded, TEXT)
    head, query, key = 1, 2, 0
    ledger = score_ledger(loaded, run, HeadPlace("decoder", 0, head), query, key)
    w_q, w_k = (loaded.model.get_parameter(f"decoder.layers.0.self_attn.w_{one}.weight") for one in "qk")
    own = slice(10, 20)
    token = run.trace["tgt_embedding.tokens"][0, query] @ w_q[own].T
    position = run.trace["tgt_embedding.positions"][0, key] @ w_k[own].T
    place = (
        ledger.query_parts.index(Part("token", None, "tgt_embedding")),
        ledger.key_parts.index(Part("position", None, "tgt_embedding")),
    )
    assert ledger.values[place] == pytest.approx(float(token @ position) / 10**0.5, abs=1e-6)
    assert {part.kind for part in ledger.query_parts} == {"token", "position", "bias"}


def test_groups_have_the_sums_of_their_terms() -> None:
    parts = [Part("attention", 0, "self_attn", 0), Part("bias", 1), Part("attention", 0, "self_attn", 1)]
    keys, sums = grouped(parts, np.array([[1.0, 2.0], [4.0, 8.0], [16.0, 32.0]]), lambda part: part.layer)
    assert keys == [0, 1]
    np.testing.assert_array_equal(sums, [[17, 34], [4, 8]])


def test_what_a_model_does_not_allow_is_said() -> None:
    for kind, told in (("capped", "soft cap"), ("masked", "activation"), ("untransposed", "mixes its heads")):
        (note,) = ledger_notes(MODELS[kind]().model.config)
        assert told in note
    assert not ledger_notes(tiny_model().model.config)
    loaded = KINDS["prompted"]()
    run = run_sentence(loaded, TEXT)
    with pytest.raises(ValueError, match="no attention"):
        score_ledger(loaded, run, HeadPlace("cross", 0, 0), 0, 0)
    with pytest.raises(ValueError, match="3 heads"):
        score_ledger(loaded, run, HeadPlace("decoder", 0, 3), 0, 0)
