"""The answers of lessons 6, 7 and 11, recomputed from the model's own numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from tests.pages.learn.lessons.by_hand import ByHand
from tests.pages.learn.lessons.conftest import Case
from tests.pages.learn.lessons.subjects import question_of
from viz.pages.learn.lessons import masks, norms
from viz.pages.learn.lessons.computed.twins import DEPTH, deep_twin
from viz.pages.learn.lessons.format.questions import CellQuestion, NumberQuestion


def number(case: Case, lesson: str, name: str) -> float:
    question = question_of(lesson, name, case.subject)
    assert isinstance(question, NumberQuestion)
    return question.answer(case.subject)


def cells(case: Case, lesson: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The values, and a mask of the right ones."""
    question = question_of(lesson, name, case.subject)
    assert isinstance(question, CellQuestion)
    return question.board(case.subject), question.right_places(case.subject)


def last_word(case: Case) -> int:
    """The position of the last word that the decoder reads."""
    tokens = case.subject.run.trace.tgt_tokens[0]
    return max(at for at, token in enumerate(tokens) if at and any(map(str.isalnum, token)))


def test_the_future_is_what_comes_later(case: Case) -> None:
    n = len(case.tgt)
    _, right = cells(case, "masks", "future")
    assert {(row, column) for row, column in np.argwhere(right)} == {
        (row, column) for row in range(n) for column in range(n) if column > row
    }
    assert number(case, "masks", "open") == sum(range(1, n + 1))
    recorded = case.subject.run.trace["decoder.layers.0.self_attn.mask"]
    assert number(case, "masks", "open") == int(recorded.sum())


def test_a_closed_score_of_zero_gives_weight_to_the_future(case: Case) -> None:
    scores = case.hand.seen["decoder.layers.0.self_attn.scores"].numpy()  # (H, T, T)
    row = masks.decoder_row(case.subject)
    lost = []
    for head in scores:
        for query, own in enumerate(head):
            weights = np.exp(own) / np.exp(own).sum()
            lost.append(((weights[query + 1 :]).sum(), query))
    of_row = np.exp(scores[row.head, row.query]) / np.exp(scores[row.head, row.query]).sum()
    assert of_row[row.query + 1 :].sum() == pytest.approx(max(lost)[0], rel=1e-4), (
        "the row that would give most"
    )
    own = scores[row.head, row.query, : row.query + 1]
    n_closed = len(case.tgt) - row.query - 1
    share = n_closed / (n_closed + np.exp(own).sum())
    assert number(case, "masks", "zero") == pytest.approx(100 * share, rel=1e-4)


def test_padding_takes_attention_unless_it_is_masked(case: Case) -> None:
    hand = ByHand(case.subject.loaded)
    hand.encode((*case.src, *[0] * masks.PADDING))
    weights = hand.seen["encoder.layers.0.self_attn.weights"][:, : len(case.src)]
    share = weights[..., -masks.PADDING :].sum(-1).mean()
    assert number(case, "masks", "padding") == pytest.approx(100 * float(share), rel=1e-4)
    masked = masks.padded_weights(case.subject, is_masked=True)
    own = case.hand.seen["encoder.layers.0.self_attn.weights"].numpy()
    np.testing.assert_allclose(masked[..., : -masks.PADDING], own, atol=1e-5)
    assert (masked[..., -masks.PADDING :] == 0).all()


def test_the_longest_addition_is_the_longest(case: Case) -> None:
    values, right = cells(case, "residual", "added")
    parts = ("self_attn", "cross_attn", "feed_forward")
    lengths = [
        [float(case.hand.seen[f"decoder.layers.{layer}.{part}.out"].norm(dim=1).mean()) for part in parts]
        for layer in range(case.subject.config.n_decoder_layers)
    ]
    np.testing.assert_allclose(values, lengths, rtol=1e-4)
    assert np.argwhere(right).tolist() == [list(np.unravel_index(np.argmax(lengths), values.shape))]


def test_the_normalised_number_and_the_active_units(case: Case) -> None:
    place = last_word(case)
    begun = case.hand.stream["decoder"][0].detach()[place]
    expected = (begun[0] - begun.mean()) / (((begun - begun.mean()) ** 2).mean() + 1e-5).sqrt()
    assert number(case, "residual", "norm") == pytest.approx(float(expected), abs=1e-4)
    hidden = case.hand.seen["decoder.layers.0.feed_forward.hidden"][place]
    n_units = case.subject.config.d_ff
    share = 100 * int((hidden > 0).sum()) / n_units
    assert number(case, "residual", "active") == pytest.approx(share, abs=100.5 / n_units), (
        "one may be nearly 0"
    )


@pytest.mark.slow
def test_growth_and_gradient_of_both_untrained_models(case: Case) -> None:
    found, right = cells(case, "norms", "gradient")
    growths = {}
    lowest = []
    for row, place in enumerate(norms.PLACES):
        twin = deep_twin(case.subject, place)
        assert twin.model.config.norm_position == place
        hand = ByHand(twin)
        logits = hand(case.src, case.tgt)
        begin, end = hand.stream["decoder"][0].detach(), hand.seen["decoder.end"]
        growths[place] = float(end.norm(dim=1).mean() / begin.norm(dim=1).mean())
        written = torch.tensor([*case.tgt[1:], 2])
        loss = functional.nll_loss(logits.log_softmax(-1), written)
        gradients = [g.norm().item() for g in torch.autograd.grad(loss, hand.stream["decoder"])]
        assert len(gradients) == DEPTH
        np.testing.assert_allclose(found[row], gradients, rtol=1e-2)
        lowest.append(gradients)
    assert number(case, "norms", "growth") == pytest.approx(growths["pre"], rel=1e-3)
    assert norms.growth_of(case.subject, "post") == pytest.approx(growths["post"], rel=1e-3)
    assert np.argwhere(right).tolist() == [list(np.unravel_index(np.argmin(lowest), (2, DEPTH)))]
    # What the lesson says about pre- and post-norm is clearly visible, whatever the sentence.
    pre, post = np.array(lowest)
    assert growths["pre"] > 2 > 1 > growths["post"]
    assert pre[0] > pre[-1]
    assert post[0] < post[-1] / 5


def test_both_untrained_models_have_the_same_weights(case: Case) -> None:
    pre, post = (deep_twin(case.subject, place).model.state_dict() for place in norms.PLACES)
    assert {name for name in pre if name not in post} == {
        f"{stack}.final_norm.{part}" for stack in ("encoder", "decoder") for part in ("gamma", "beta")
    }
    assert all(torch.equal(pre[name], post[name]) for name in post)
