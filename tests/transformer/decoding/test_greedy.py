"""Decoding with a cache against rerunning the whole model at every step."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from tests.transformer.decoding.requests import ENDLESS, SUPPRESSED, request, target_ids
from tests.transformer.model.core import (
    BOS_ID,
    EOS_ID,
    KINDS,
    PAD_ID,
    deviation,
    pair_batch,
    random_ids,
    tiny_config,
    tiny_transformer,
    with_pair,
)
from transformer.decoding.beam import beam_search
from transformer.decoding.greedy import (
    DecodingStep,
    decoding_step,
    greedy,
    greedy_batch,
    next_token_probabilities,
)
from transformer.decoding.sampling import sample
from transformer.errors import SentenceError
from transformer.model.transformer import DecoderState, SequenceTooLongError, Transformer


def decode(model: Transformer, src: Tensor | None, eos_id: int = EOS_ID, n: int = 12) -> list[DecodingStep]:
    return list(greedy(model, src, request(n, eos_id), top_k=3))


def decode_without_cache(model: Transformer, src: Tensor | None, eos_id: int, n: int) -> list[int]:
    """The definition: run the whole model, append the best token, repeat."""
    ids = [BOS_ID]
    while len(ids) <= n:
        logits = model(src, torch.tensor([ids]))[0, -1]
        logits[list(SUPPRESSED)] = -torch.inf
        ids.append(int(logits.argmax()))
        if ids[-1] == eos_id:
            break
    return ids[1:]


@pytest.mark.parametrize("seed, kind", [(0, "encoder-decoder"), (1, "encoder-decoder"), (2, "decoder-only")])
def test_greedy_is_the_best_token_again_and_again(kind: str, seed: int) -> None:
    model = tiny_transformer(seed, **KINDS[kind])
    src = random_ids(29, 1, 7, seed=seed) if kind == "encoder-decoder" else None
    whole = [step.token_id for step in decode(model, src, ENDLESS)]
    with torch.no_grad():
        assert whole == decode_without_cache(model, src, ENDLESS, 12)
        # Any generated token may serve as the end token.
        eos_id = whole[4]
        ended = [step.token_id for step in decode(model, src, eos_id)]
        assert ended == decode_without_cache(model, src, eos_id, 12) == whole[: whole.index(eos_id) + 1]


def test_a_step_tells_the_probabilities_of_the_model() -> None:
    model = tiny_transformer()
    src = random_ids(29, 1, 7)
    steps = decode(model, src, ENDLESS)
    tgt = torch.tensor([[BOS_ID, *(step.token_id for step in steps[:-1])]])
    logits = model(src, tgt)[0].index_fill(-1, torch.tensor(SUPPRESSED), -torch.inf)
    for i, (step, row) in enumerate(zip(steps, logits.softmax(dim=-1), strict=True)):
        best = row.topk(3)
        assert step.position == i
        assert (step.token_id, step.rank) == (int(row.argmax()), 1)
        assert step.probability == pytest.approx(row.max().item(), abs=1e-6)
        assert step.top_ids == tuple(best.indices.tolist())
        assert step.top_probabilities == pytest.approx(best.values.tolist(), abs=1e-6)


def test_steps_come_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is computed before it is requested, and a step computes one token."""
    model = tiny_transformer()
    sizes: list[torch.Size] = []
    step = model.step

    def counted(tokens: Tensor, state: DecoderState) -> Tensor:
        sizes.append(tokens.shape)
        return step(tokens, state)

    monkeypatch.setattr(model, "step", counted)
    steps = greedy(model, random_ids(29, 1, 7), request(9, ENDLESS))
    assert sizes == []
    for n in range(1, 4):
        next(steps)
        assert sizes == [torch.Size([1, 1])] * n
    assert not torch.is_inference_mode_enabled(), "between the steps the caller's mode is in force"


@pytest.mark.parametrize("asked, got", [(0, 0), (4, 4), (1_000, 13)])
def test_it_stops_at_the_limit_or_the_last_position(asked: int, got: int) -> None:
    assert len(decode(tiny_transformer(), random_ids(29, 1, 7), ENDLESS, asked)) == got


def test_a_batch_decodes_as_its_sentences_do() -> None:
    model, src, _ = with_pair(tiny_transformer())
    alone = [[step.token_id for step in decode(model, row[row != PAD_ID][None], ENDLESS)] for row in src]
    # With a token of the first sentence as its end, one sentence ends before the other.
    for eos_id in (ENDLESS, alone[0][3]):
        expected = [ids[: ids.index(eos_id)] if eos_id in ids else ids for ids in alone]
        assert target_ids(greedy_batch(model, src, request(12, eos_id))) == expected


@pytest.mark.parametrize("limits", [[3, 9], [1_000, 5], [0, 4], [0, 0]])
def test_each_row_of_a_batch_keeps_to_its_own_limit(limits: list[int]) -> None:
    model, src, _ = with_pair(tiny_transformer())
    alone = [
        [step.token_id for step in decode(model, row[row != PAD_ID][None], ENDLESS, limit)]
        for row, limit in zip(src, limits, strict=True)
    ]
    assert target_ids(greedy_batch(model, src, request(limits, ENDLESS))) == alone
    with pytest.raises(ValueError, match="2 rows, but limits for 3"):
        greedy_batch(model, src, request([*limits, 1], ENDLESS))


def test_the_beginning_of_the_best_target_leads_to_it() -> None:
    """A prefix is part of the target, in a batch and alone."""
    model, src = tiny_transformer(), random_ids(29, 1, 7)
    whole = decode(model, src, ENDLESS)
    ids = [step.token_id for step in whole]
    for n_given in (1, 4):
        asked = request(12 - n_given, ENDLESS, prefix=ids[:n_given])
        assert target_ids(greedy_batch(model, src, asked)) == [ids]
        followed = list(greedy(model, src, asked, top_k=3))
        assert [(step.position, step.token_id) for step in followed] == list(enumerate(ids))[n_given:]
        assert [step.probability for step in followed] == pytest.approx(
            [step.probability for step in whole[n_given:]], abs=1e-6
        )


def test_suppressed_tokens_have_no_probability() -> None:
    logits = torch.tensor([[3.0, 1.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    probabilities = next_token_probabilities(logits, [0, 2])
    assert not probabilities[:, [0, 2]].any()
    assert deviation(probabilities.sum(dim=-1), torch.ones(2)) < 1e-6
    assert deviation(probabilities[:, [1, 3]], logits[:, [1, 3]].softmax(dim=-1)) < 1e-6
    assert torch.equal(logits[0], torch.tensor([3.0, 1.0, 2.0, 0.0])), "the logits are left as they were"
    assert deviation(next_token_probabilities(logits, []), logits.softmax(dim=-1)) == 0


def test_the_rank_of_a_given_token() -> None:
    """Tied tokens are ranked as in the list of the best tokens, if they are in it."""
    step = decoding_step(7, 3, torch.tensor([0.1, 0.4, 0.3, 0.2]), top_k=2)
    assert (step.position, step.token_id, step.rank) == (7, 3, 3)
    assert step.probability == pytest.approx(0.2)
    assert step.top_ids == (1, 2)
    assert len(decoding_step(0, 0, torch.ones(4) / 4, top_k=9).top_ids) == 4, "no more than there are"
    steps = [decoding_step(0, token, torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0]), 3) for token in range(5)]
    for step in steps:
        expected = step.top_ids.index(step.token_id) + 1 if step.token_id in step.top_ids else 4
        assert step.rank == expected
    assert sorted(step.rank for step in steps) == [1, 2, 3, 4, 4]


def test_a_step_too_many_leaves_the_state_as_it_was() -> None:
    model, src, _ = with_pair(tiny_transformer())
    tgt = random_ids(31, 2, 13)
    state = model.start(src)
    model.step(tgt[:, :11], state)
    with pytest.raises(SequenceTooLongError, match="14 tokens are more than this model's 13 positions"):
        model.step(tgt[:, :3], state)
    assert deviation(model.step(tgt[:, 11:], state), model(src, tgt)[:, 11:]) < 1e-5


def test_decoding_that_makes_no_sense_is_refused() -> None:
    src, _ = pair_batch(tiny_config())
    with pytest.raises(ValueError, match="encoder-decoder model needs src"):
        tiny_transformer().start(None)
    with pytest.raises(ValueError, match="decoder-only model has no use for src"):
        tiny_transformer(**KINDS["decoder-only"]).start(src)
    with pytest.raises(ValueError, match="encoder-only model can't decode: it has no decoder"):
        tiny_transformer(**KINDS["encoder-only"]).start(src)
    with pytest.raises(SequenceTooLongError, match="14 tokens"):
        tiny_transformer().start(random_ids(29, 1, 14))


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_nothing_is_chosen_by_scores_that_are_not_finite(value: float) -> None:
    model, src = tiny_transformer(), random_ids(29, 2, 7)
    with torch.no_grad():
        model.get_parameter("decoder.layers.1.feed_forward.w_2.weight")[3, 4] = value
    asked = request(5)
    generator = torch.Generator().manual_seed(0)
    choosers: list[Callable[[], object]] = [
        lambda: greedy_batch(model, src, asked),
        lambda: beam_search(model, src, asked, beam_size=3),
        lambda: sample(model, src, asked, generator=generator),
    ]
    for choose in choosers:
        with pytest.raises(SentenceError, match="NaN or infinite"):
            choose()
