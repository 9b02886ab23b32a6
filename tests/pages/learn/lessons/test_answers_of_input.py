"""The answers of lessons 1 and 2, recomputed from the model's own numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.pages.learn.lessons.by_hand import ByHand, Changed, encoding
from tests.pages.learn.lessons.conftest import Case
from tests.pages.learn.lessons.subjects import question_of
from viz.pages.learn.lessons import positions, tokens
from viz.pages.learn.lessons.format.questions import NumberQuestion, TokenQuestion


def asked(case: Case, lesson: str, name: str) -> NumberQuestion | TokenQuestion:
    question = question_of(lesson, name, case.subject)
    assert isinstance(question, NumberQuestion | TokenQuestion)
    return question


def number(case: Case, lesson: str, name: str) -> float:
    question = asked(case, lesson, name)
    assert isinstance(question, NumberQuestion)
    return question.answer(case.subject)


def followed(case: Case) -> int:
    """The position of the token that lesson 1 follows: the longest word."""
    words = [
        (len(token), -place)
        for place, token in enumerate(case.subject.run.trace.src_tokens[0])
        if token != "<eos>" and any(map(str.isalnum, token))
    ]
    return -max(words)[1]


def test_tokens_are_counted(case: Case) -> None:
    coder = case.subject.loaded.source
    assert number(case, "tokens", "count") == len(coder.encode(case.subject.text).ids) + 1, "and <eos>"


def test_the_nearest_token_is_the_nearest_of_the_whole_vocabulary(case: Case) -> None:
    question = asked(case, "tokens", "neighbour")
    assert isinstance(question, TokenQuestion)
    place = followed(case)
    assert tokens.place_of(case.subject) == place
    table = case.hand.weights["src_embedding.weight"]
    unit = table / table.norm(dim=1, keepdim=True)
    near = unit @ unit[case.src[place]]
    near[case.src[place]] = -1
    nearest = case.subject.loaded.source.token(int(near.argmax()))
    offered = question.tokens(case.subject)
    assert [offered[at] for at in np.flatnonzero(question.right_places(case.subject)).tolist()] == [nearest]
    assert len(set(tokens.candidates(case.subject))) == tokens.N_CANDIDATES
    ours = [float(near[index]) for index in tokens.candidates(case.subject)]
    np.testing.assert_allclose(question.board(case.subject), ours, atol=1e-5)


def test_the_embedding_is_as_long_as_the_run_s(case: Case) -> None:
    row = case.hand.weights["src_embedding.weight"][case.src[followed(case)]].numpy()
    length = np.sqrt((row**2).sum()) * np.sqrt(case.subject.config.d_model)
    assert number(case, "tokens", "scale") == pytest.approx(length, rel=1e-5)
    recorded = case.subject.run.trace["src_embedding.tokens"][0, followed(case)]
    assert float(recorded.norm()) == pytest.approx(length, rel=1e-5)


def test_the_nearest_position_is_that_of_the_paper_s_formula(case: Case) -> None:
    question = asked(case, "positions", "near")
    assert isinstance(question, TokenQuestion)
    n = len(case.src)
    at = n // 2
    waves = encoding(n, case.subject.config.d_model).numpy()
    cosines = waves @ waves[at] / (np.linalg.norm(waves, axis=1) * np.linalg.norm(waves[at]))
    cosines[at] = np.nan
    np.testing.assert_allclose(question.board(case.subject), cosines, atol=1e-6)
    neighbours = {at - 1, at + 1} & set(range(n))
    assert set(np.flatnonzero(question.right_places(case.subject)).tolist()) == neighbours, "both are as near"
    told = question.reason(case.subject)
    assert all(str(place) in told.partition(":")[0] for place in neighbours)


def moved(case: Case, *, with_positions: bool) -> float:
    one, other = [
        place
        for place, token in enumerate(case.subject.run.trace.src_tokens[0])
        if token != "<eos>" and any(map(str.isalnum, token))
    ][:2]
    swapped = list(case.src)
    swapped[one], swapped[other] = swapped[other], swapped[one]
    before, after = (
        ByHand(case.subject.loaded, Changed(positions=with_positions)).encode(ids).detach()
        for ids in (case.src, tuple(swapped))
    )
    order = list(range(len(swapped)))
    order[one], order[other] = other, one
    return 100 * float((after[order] - before).norm() / before.norm())


def test_without_positions_the_order_changes_nothing(case: Case) -> None:
    assert moved(case, with_positions=False) == pytest.approx(0, abs=1e-6)
    assert number(case, "positions", "swap") == pytest.approx(0, abs=1e-2), "it is computed in float32"
    told = positions.moved_by_order(case.subject, with_positions=True)
    assert 100 * told == pytest.approx(moved(case, with_positions=True), rel=1e-3)
    assert told > 0.01, "with positions the order does change something"


def test_the_angle_between_embeddings_and_positions(case: Case) -> None:
    rows = case.hand.weights["src_embedding.weight"][list(case.src)]
    cosines = torch.cosine_similarity(rows, encoding(*rows.shape), dim=1)
    assert number(case, "positions", "angle") == pytest.approx(float(cosines.abs().mean()), abs=1e-6)
