"""The direct effect: the ledger's term where nothing is normed, the total effect where nothing follows."""

from __future__ import annotations

import pytest
import torch

from tests.support.kinds import KINDS
from tests.support.models import tiny_model
from transformer.analysis.interventions.direct import direct_effects, has_direct_path
from transformer.analysis.interventions.heads import HeadPlace, Switch, head_effects, head_places
from transformer.analysis.interventions.questions import against_next_best, word_questions
from transformer.analysis.ledgers.logit import logit_ledger
from transformer.run import run_sentence

TEXT = "Yesterday I saw the dog."


def test_without_norms_it_is_the_head_s_term_of_the_ledger() -> None:
    loaded = tiny_model(norm_position="none")
    loaded.model.double()  # without norms the logits are large: float32 rounds their differences
    run = run_sentence(loaded, TEXT, "Ieri ho visto il cane.")
    question = against_next_best(loaded, run, word_questions(loaded, run)[2])
    effects = direct_effects(loaded, run, [question], Switch(loaded, "zero"))[:, 0]
    ledger = logit_ledger(loaded, run, question)
    for place, effect in zip(head_places(loaded.model.config), effects, strict=True):
        if place.attention == "encoder":
            assert effect.isnan()
            continue
        name = "cross_attn" if place.attention == "cross" else "self_attn"
        own = [part[1:4] == (place.layer, name, place.head) for part in ledger.parts]
        assert float(effect) == pytest.approx(ledger.values[own].sum(), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("kind", ["parallel", "capped", "shifted", "masked"])
def test_where_nothing_follows_it_is_the_total_effect(kind: str) -> None:
    """In the last layer of a parallel model no sublayer reads the heads; in others the feed-forward does."""
    loaded = KINDS[kind]()
    run = run_sentence(loaded, TEXT, "Ieri ho visto il cane.")
    questions = word_questions(loaded, run)[:2]
    reference = [run_sentence(loaded, "I see a cat.", "Vedo un gatto.")]
    progress: list[tuple[int, int]] = []
    for how in ("resample", "mean"):
        switch = Switch(loaded, how, reference)
        direct = direct_effects(loaded, run, questions, switch, lambda *at: progress.append(at))
        total = head_effects(loaded, run, questions, switch)
        last = [
            place.layer == run.trace.n_layers("decoder") - 1 for place in head_places(loaded.model.config)
        ]
        if kind == "parallel":
            torch.testing.assert_close(direct[last], total[last], atol=1e-6, rtol=1e-5)
        open_places = [
            has_direct_path(loaded.model.config, place) for place in head_places(loaded.model.config)
        ]
        assert (direct[open_places] - total[open_places]).abs().max() > 1e-5
        assert direct[open_places].isfinite().all()
    assert progress[-1][0] == progress[-1][1]


def test_a_head_of_an_encoder_reaches_words_directly_only_without_a_decoder() -> None:
    assert not has_direct_path(KINDS["languages"]().model.config, HeadPlace("encoder", 0, 0))
    assert has_direct_path(KINDS["languages"]().model.config, HeadPlace("cross", 0, 0))
    assert has_direct_path(KINDS["masked"]().model.config, HeadPlace("encoder", 0, 0))
