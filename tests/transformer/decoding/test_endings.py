"""Why a target ended, the same for every decoder; and the ids excluded by greedy decoding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests.support.models import tiny_model, tiny_subword_model
from tests.transformer.decoding.requests import ENDLESS, request
from tests.transformer.model.core import EOS_ID, random_ids, tiny_transformer
from transformer.decoding.beam import beam_search
from transformer.decoding.greedy import greedy, greedy_batch
from transformer.decoding.request import DecodingRequest, Ending
from transformer.decoding.sampling import sample
from transformer.loaded import GenerationSettings
from transformer.model.transformer import Transformer
from transformer.model_input import USUAL_NO_REPEAT, no_repeat_ngram_size, why_stopped

Way = Callable[[Transformer, Tensor, DecodingRequest], Ending | None]


def _drawn(model: Transformer, src: Tensor, asked: DecodingRequest) -> Ending | None:
    generator = torch.Generator().manual_seed(1)
    return sample(model, src, asked, generator=generator, top_k=1)[0].ending


WAYS: dict[str, Way] = {
    "greedy": lambda model, src, asked: list(greedy(model, src, asked))[-1].ending,
    "batch": lambda model, src, asked: greedy_batch(model, src, asked)[0].ending,
    "beam": lambda model, src, asked: beam_search(model, src, asked, beam_size=1)[0][0].ending,
    "drawn": _drawn,
}
MODEL, SRC = tiny_transformer(6), random_ids(11, 1, 5, seed=6)
OWN = [step.token_id for step in greedy(MODEL, SRC, request(12, ENDLESS))]


@pytest.mark.parametrize("way", WAYS)
def test_endings(way: str) -> None:
    last = next(token for token in OWN if token != OWN[0])
    for ending, asked in (
        ("end", request(12, last)),
        ("end", request(OWN.index(last) + 1, last)),  # as the last token before the limit
        ("limit", request(4, ENDLESS)),
        ("limit", request(3, ENDLESS, prefix=OWN[:2])),
        ("limit", request(4, end_ids=(EOS_ID, ENDLESS), forced_end_id=EOS_ID)),
        ("positions", request(10_000, ENDLESS)),
    ):
        assert WAYS[way](MODEL, SRC, asked) == ending


def test_only_the_last_step_ends_the_target() -> None:
    endings = [step.ending for step in greedy(MODEL, SRC, request(4, ENDLESS))]
    assert endings == [None, None, None, "limit"]


def test_repeated_tokens_are_excluded_by_greedy_decoding() -> None:
    """Probabilities remain the model's; the best remaining token is chosen."""
    steps = list(greedy(MODEL, SRC, request(6, ENDLESS, no_repeat_ngram_size=1), top_k=11))
    chosen = [step.token_id for step in steps]
    assert len(set(chosen)) == len(chosen) == 6
    for place, step in enumerate(steps):
        assert set(chosen[:place]) <= set(step.repeating)
        best = next(token for token in step.top_ids if token not in step.repeating)
        assert step.token_id == best
    assert any(step.top_ids[0] != step.token_id for step in steps), "or the test shows nothing"
    free = list(greedy(MODEL, SRC, request(1, ENDLESS)))
    assert steps[0].top_probabilities[:2] == pytest.approx(free[0].top_probabilities[:2])


def test_repeats_are_blocked_where_sub_words_are_translated() -> None:
    assert no_repeat_ngram_size(tiny_subword_model()) == USUAL_NO_REPEAT
    assert no_repeat_ngram_size(tiny_model()) == 0, "a task may be to copy"
    for own in (0, 3):
        settings = GenerationSettings(no_repeat_ngram_size=own)
        assert no_repeat_ngram_size(replace(tiny_subword_model(), settings=settings)) == own


def test_the_words_for_a_target_that_was_stopped() -> None:
    loaded = tiny_subword_model()
    assert why_stopped(loaded, "end", 5) == why_stopped(loaded, None, 5) == ""
    assert "the limit of 5 sub-words for a source of this length" in why_stopped(loaded, "limit", 5)
    assert "the model's limit of 61 positions" in why_stopped(loaded, "positions", 60)
