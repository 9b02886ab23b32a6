"""The answers of lessons 8, 9, 10 and 12, recomputed from the model's own numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tests.pages.learn.lessons.by_hand import ByHand
from tests.pages.learn.lessons.conftest import Case
from tests.pages.learn.lessons.subjects import question_of
from viz.pages.learn.lessons import learning, sentence
from viz.pages.learn.lessons.computed import ablation, written
from viz.pages.learn.lessons.decoder import look_of
from viz.pages.learn.lessons.format.questions import (
    CellQuestion,
    ChoiceQuestion,
    NumberQuestion,
    TokenQuestion,
)
from viz.pages.learn.lessons.format.subject import Subject

EOS = 2
Asked = NumberQuestion | ChoiceQuestion


def number(case: Case, lesson: str, name: str) -> float:
    question = question_of(lesson, name, case.subject)
    assert isinstance(question, Asked)
    return question.answer(case.subject)


def board(case: Case, lesson: str, name: str) -> tuple[np.ndarray, list[int]]:
    """The values, and the flat indices of the right places."""
    question = question_of(lesson, name, case.subject)
    assert isinstance(question, TokenQuestion | CellQuestion)
    values = question.board(case.subject)
    return values, np.flatnonzero(question.right_places(case.subject)).tolist()


def target(case: Case) -> list[int]:
    """The ids that the model wrote, including the end."""
    return [*case.tgt[1:], EOS]


def chances(case: Case, logits: torch.Tensor | None = None) -> np.ndarray:
    """(T,): the probability of each token of the target, from the row before it."""
    return case.probabilities(logits)[range(len(case.tgt)), target(case)].numpy()


def word_of(case: Case) -> int:
    """The step that lessons 8 and 12 follow, which must be the middle one of the whole words."""
    step = written.written_of(case.subject).step
    coder = case.subject.loaded.target
    words = [
        at for at, index in enumerate(target(case)) if index != EOS and coder.token(index).strip("▁.,!?'")
    ]
    of = coder.describe_ids(case.tgt[1:]).word_of
    whole = [at for at in words if of.count(of[at]) == 1] or words
    assert step == whole[len(whole) // 2]
    assert written.written_of(case.subject).token_id == target(case)[step]
    return step


def test_the_row_that_writes_a_word(case: Case) -> None:
    step = word_of(case)
    rows = np.flatnonzero(case.probabilities().argmax(-1) == target(case)[step]).tolist()
    _, right = board(case, "decoder", "row")
    assert right == rows
    assert step in rows, "the row of a step is that of the token before it, and the first is that of <bos>"


def test_the_last_token_changes_no_earlier_row(case: Case) -> None:
    other = ByHand(case.subject.loaded)(case.src, (*case.tgt[:-1], case.tgt[0])).detach()
    changes = (other - case.logits).abs().amax(-1)
    assert changes[:-1].max() < 1e-12
    assert number(case, "decoder", "parallel") == 0
    np.testing.assert_allclose(written.changes_by_last(case.subject)[-1], float(changes[-1]), rtol=1e-3)


def test_where_the_surest_head_looks(case: Case) -> None:
    step, look = word_of(case), look_of(case.subject)
    tokens = case.subject.run.trace.src_tokens[0]
    words = np.array([token != "<eos>" and any(map(str.isalnum, token)) for token in tokens])
    rows = np.stack(
        [
            case.hand.seen[f"decoder.layers.{layer}.cross_attn.weights"][:, step].numpy()
            for layer in range(case.subject.config.n_decoder_layers)
        ]
    )
    # Several heads may be equally sure, to float32's precision.
    assert (rows * words).max() == pytest.approx((rows * words)[look.layer, look.head].max(), abs=1e-5)
    values, right = board(case, "decoder", "look")
    np.testing.assert_allclose(values, rows[look.layer, look.head], atol=1e-4)
    assert right == [rows[look.layer, look.head].argmax()]


def test_what_a_wrong_word_does(case: Case) -> None:
    step = word_of(case)
    second = int(case.probabilities()[step].argsort(descending=True)[1])
    forced = list(case.tgt)
    forced[1 + step] = second
    logits = ByHand(case.subject.loaded)(case.src, tuple(forced)).detach()
    own, wrong = (np.exp(np.log(chances(case, by)[step + 1 :]).mean()) for by in (None, logits))
    np.testing.assert_allclose(written.later_probabilities(case.subject), (own, wrong), rtol=1e-3)
    expected = 1 if abs(wrong - own) < 0.01 else 0 if wrong < own else 2
    assert number(case, "decoder", "wrong") == expected


def test_the_doubtful_step(case: Case) -> None:
    step = int(chances(case).argmin())
    assert sentence.doubtful(case.subject) == step
    probabilities = case.probabilities()[step].numpy()
    values, right = board(case, "sentence", "candidate")
    best = np.sort(np.argsort(-probabilities)[:5])
    np.testing.assert_allclose(values, probabilities[best], rtol=1e-3)
    assert best[right].tolist() == [probabilities.argmax()]
    raw = case.logits[step].numpy().copy()
    raw[[0, 1]] = -np.inf
    halved = np.exp(raw / 2 - raw.max() / 2)
    assert number(case, "sentence", "temperature") == pytest.approx(
        100 * (halved / halved.sum()).max(), rel=1e-3
    )


def test_the_probability_of_the_whole(case: Case) -> None:
    assert number(case, "sentence", "whole") == pytest.approx(100 * math.prod(chances(case)), rel=1e-3)


def beam(case: Case, size: int) -> tuple[int, ...]:
    """The most probable target of a plain beam search, in which ended hypotheses keep their place."""
    alive: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for _ in range(2 * len(case.tgt) + 10):
        grown = [one for one in alive if one[1][-1:] == (EOS,)]
        for total, ids in alive:
            if ids[-1:] != (EOS,):
                logits = ByHand(case.subject.loaded)(case.src, (1, *ids)).detach()
                best = case.probabilities(logits)[-1].topk(size)
                grown += [
                    (total + math.log(p), (*ids, index))
                    for p, index in zip(best.values.tolist(), best.indices.tolist(), strict=True)
                ]
        alive = sorted(grown, reverse=True)[:size]
        if all(ids[-1] == EOS for _, ids in alive):
            break
    return alive[0][1]


@pytest.mark.slow
def test_whether_a_beam_finds_another_sentence(case: Case) -> None:
    best = beam(case, sentence.BEAM_SIZE)
    assert number(case, "sentence", "beam") == int(best != tuple(target(case)))
    assert sentence.tree_of(case.subject).hypotheses[0].ids == best[:-1]


def test_the_loss_and_that_of_chance(case: Case) -> None:
    assert number(case, "learning", "loss") == pytest.approx(-np.log(chances(case)).mean(), rel=1e-3)
    n = case.hand.weights["generator.bias"].shape[0]
    assert number(case, "learning", "chance") == pytest.approx(-math.log(1 / n))


def test_a_reversed_row_is_copied_from_its_end(case: Case) -> None:
    symbols = learning.symbols_of(case.subject)
    _, right = board(case, "learning", "source")
    assert right == [len(symbols) - 2], "the second of the answer is the last but one of the row"
    letters = [word[0].lower() for word in case.subject.text.split()]
    assert list(symbols) == letters[:8] or len(letters) < 3


def costs_of_heads(case: Case, step: int) -> np.ndarray:
    own, config = chances(case)[step], case.subject.config
    return np.array(
        [
            [
                np.log(own)
                - np.log(
                    chances(case, case.otherwise(off=(f"decoder.layers.{layer}.cross_attn", head)))[step]
                )
                for head in range(config.n_heads)
            ]
            for layer in range(config.n_decoder_layers)
        ]
    )


def test_which_head_matters_and_which_has_the_sharpest_picture(case: Case) -> None:
    step = word_of(case)
    costs = costs_of_heads(case, step)
    values, right = board(case, "explanation", "head")
    np.testing.assert_allclose(values, costs, atol=2e-3)
    assert right == [costs.argmax()]
    assert ablation.costliest(case.subject) == divmod(int(costs.argmax()), costs.shape[1])
    layer, head = ablation.sharpest(case.subject)
    rows = np.stack(
        [
            case.hand.seen[f"decoder.layers.{at}.cross_attn.weights"][:, step].numpy()
            for at in range(case.subject.config.n_decoder_layers)
        ]
    )
    assert rows[layer, head].max() == pytest.approx(rows.max(), abs=1e-5), "the sharpest picture"
    left = chances(case)[step] * math.exp(-costs[layer, head])
    assert number(case, "explanation", "sharp") == pytest.approx(100 * left, abs=0.2)


def test_which_token_matters(case: Case) -> None:
    step = word_of(case)
    own = np.log(chances(case)[step])
    costs = [
        own - np.log(chances(case, case.otherwise(closed=(step, key)))[step]) for key in range(len(case.src))
    ]
    values, right = board(case, "explanation", "key")
    np.testing.assert_allclose(values, costs, atol=2e-3, rtol=1e-3)
    assert right == [int(np.argmax(costs))]


def test_the_reader_s_own_symbols_are_used_where_there_are_enough(case: Case) -> None:
    few = Subject(case.subject.loaded, case.subject.run, "hi there")
    assert learning.symbols_of(few) == learning.FALLBACK
