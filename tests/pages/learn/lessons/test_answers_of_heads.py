"""The answers of lessons 3, 4 and 5, recomputed from the model's own numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.pages.learn.lessons.conftest import Case
from tests.pages.learn.lessons.subjects import SMALL, question_of, subject_of
from transformer.analysis.attention_maps import MODULES
from viz.figures.numbers import number as written
from viz.pages.learn.lessons import heads
from viz.pages.learn.lessons.computed.habits import HABITS
from viz.pages.learn.lessons.computed.row import row_of
from viz.pages.learn.lessons.format.questions import (
    CellQuestion,
    ChoiceQuestion,
    NumberQuestion,
    TokenQuestion,
)
from viz.pages.learn.lessons.scale import N_KEYS

Q = "encoder.layers.0.self_attn"


def number(case: Case, lesson: str, name: str) -> float:
    question = question_of(lesson, name, case.subject)
    assert isinstance(question, NumberQuestion)
    return question.answer(case.subject)


def of_layer(case: Case, layer: int, name: str) -> np.ndarray:
    """A tensor of the encoder's self-attention: (H, T, ...)."""
    return case.hand.seen[f"encoder.layers.{layer}.self_attn.{name}"].numpy()


def test_the_row_is_that_of_the_clearest_choice_between_two_words(case: Case) -> None:
    weights = of_layer(case, 0, "weights")
    of = case.subject.run.source.word_of
    words = [
        place < len(of) and of.count(of[place]) == 1 and any(map(str.isalnum, token))
        for place, token in enumerate(case.subject.run.trace.src_tokens[0])
    ]
    between = np.outer(words, words) & ~np.eye(len(words), dtype=bool)
    head, query, key = np.unravel_index(np.where(between, weights, -1).argmax(), weights.shape)
    row = row_of(case.subject)
    assert (row.head, row.query) == (int(head), int(query))
    assert between[query, key]


def test_where_the_head_looks(case: Case) -> None:
    question = question_of("one-head", "where", case.subject)
    assert isinstance(question, TokenQuestion)
    row = row_of(case.subject)
    weights = of_layer(case, 0, "weights")[row.head, row.query]
    np.testing.assert_allclose(question.board(case.subject), weights, atol=1e-5)
    assert np.flatnonzero(question.right_places(case.subject)).tolist() == [weights.argmax()]


def test_query_and_key_are_compared_in_both_directions(case: Case) -> None:
    row = row_of(case.subject)
    q, k = of_layer(case, 0, "q")[row.head], of_layer(case, 0, "k")[row.head]
    assert row.product == pytest.approx(q[row.query] @ k[row.first], rel=1e-4, abs=1e-3)
    assert row.product_back == pytest.approx(q[row.first] @ k[row.query], rel=1e-4, abs=1e-3)


def test_score_ratio_and_output(case: Case) -> None:
    row = row_of(case.subject)
    q, k, v = (of_layer(case, 0, name)[row.head] for name in "qkv")
    scores = k @ q[row.query] / math.sqrt(case.subject.config.d_model / case.subject.config.n_heads)
    weights = np.exp(scores) / np.exp(scores).sum()
    first, second = np.argsort(-weights)[:2]
    assert number(case, "one-head", "score") == pytest.approx(scores[first], rel=1e-3)
    assert number(case, "one-head", "ratio") == pytest.approx(weights[first] / weights[second], rel=1e-3)
    assert number(case, "one-head", "output") == pytest.approx((weights * v[:, 0]).sum(), abs=1e-4)


def test_the_spread_of_products_and_what_is_not_divided(case: Case) -> None:
    row = row_of(case.subject)
    width = case.subject.config.d_model // case.subject.config.n_heads
    drawn = np.random.default_rng(0).normal(size=(2, 40_000, width))
    assert number(case, "scale", "spread") == pytest.approx(np.prod(drawn, axis=0).sum(1).std(), rel=0.02)
    q, k = of_layer(case, 0, "q")[row.head], of_layer(case, 0, "k")[row.head]
    products = k @ q[row.query]

    def largest(divisor: float) -> float:
        exponentials = np.exp((products - products.max()) / divisor)
        return float(exponentials.max() / exponentials.sum())

    assert number(case, "scale", "largest") == pytest.approx(largest(1), abs=1e-4)
    question = question_of("scale", "slope", case.subject)
    assert isinstance(question, ChoiceQuestion)
    # The slope from a small change of the score, instead of w (1 - w), with numbers drawn here.
    queries, keys = np.random.default_rng(1).normal(size=(2, 4_000, N_KEYS, width))
    slopes = []
    for divisor in (1, math.sqrt(width), width):
        scores = (queries[:, :1] * keys).sum(-1) / divisor  # (rows, keys)
        largest_at = scores.argmax(-1)[:, None] == np.arange(N_KEYS)
        weights = [np.exp(s) / np.exp(s).sum(-1, keepdims=True) for s in (scores, scores + 1e-6 * largest_at)]
        slopes.append((weights[1] - weights[0])[largest_at].mean() / 1e-6)
    assert question.answer(case.subject) == int(np.argmax(slopes)) == 1, "the paper's divisor is right"


def test_a_head_is_its_share_of_the_width(case: Case) -> None:
    assert (
        number(case, "heads", "width")
        == len(case.hand.weights[f"{Q}.w_q.weight"]) / case.subject.config.n_heads
    )


def habits(case: Case) -> np.ndarray:
    """Mean weights (habits, L, H) over the rows that have such a token; an encoder masks none."""
    n, config = len(case.src), case.subject.config
    means = np.zeros((len(HABITS), config.n_encoder_layers, config.n_heads))
    for layer in range(config.n_encoder_layers):
        weights = of_layer(case, layer, "weights")
        for habit in range(len(HABITS)):
            keys = [(i, i - 1, i + 1, 0, n - 1)[habit] for i in range(n)]
            found = [weights[:, i, key] for i, key in enumerate(keys) if 0 <= key < n]
            means[habit, layer] = np.mean(found, axis=0)
    return means


def test_the_clearest_habit_is_the_clearest(case: Case) -> None:
    of_neighbours = habits(case)[1:3]
    assert of_neighbours.max() > 0.3, "or the lesson takes the clearest of all habits"
    found = heads.clearest(case.subject)
    assert of_neighbours[found.habit - 1, found.layer, found.head] == of_neighbours.max()
    assert found.share == pytest.approx(of_neighbours.max(), abs=1e-5)


def test_what_is_asked_of_that_head(case: Case) -> None:
    question = question_of("heads", "habit", case.subject)
    assert isinstance(question, TokenQuestion)
    found = heads.clearest(case.subject)
    weights = of_layer(case, found.layer, "weights")[found.head]
    n = len(case.src)
    told = question.board(case.subject)
    (query,) = [i for i in range(n) if np.allclose(weights[i], told, atol=1e-5)]
    key = query + {"the token before": -1, "the token after": 1}[HABITS[found.habit]]
    assert 0 <= key < n, "a row that can follow the habit"
    assert np.flatnonzero(question.right_places(case.subject)).tolist() == [weights[query].argmax()]


def test_who_does_what(case: Case) -> None:
    question = question_of("heads", "which", case.subject)
    assert isinstance(question, CellQuestion)
    means, own = habits(case), heads.clearest(case.subject).habit
    others = [habit for habit in range(len(HABITS)) if habit != own]
    other = max(others, key=lambda habit: means[habit].max())
    asked = question.asks if isinstance(question.asks, str) else question.asks(case.subject)
    assert HABITS[other] in asked
    np.testing.assert_allclose(question.board(case.subject), means[other], atol=1e-5)


def test_the_blur_of_an_average(case: Case) -> None:
    weights = of_layer(case, heads.clearest(case.subject).layer, "weights")

    def spread(rows: np.ndarray) -> float:
        entropies = [-sum(w * math.log2(w) for w in row if w > 0) for row in rows]
        return float(np.mean([2**entropy for entropy in entropies]))

    own = np.mean([spread(head) for head in weights])
    assert heads.spreads(case.subject)[0] == pytest.approx(own, rel=1e-4)
    blurred = number(case, "heads", "blur")
    assert blurred == pytest.approx(spread(weights.mean(axis=0)), rel=1e-4)
    assert blurred > own, "an average is never sharper"


@pytest.mark.parametrize("kind", ["factors", "relative"])
def test_the_score_as_in_the_paper_of_a_model_with_another_scale(kind: str) -> None:
    of = subject_of(SMALL[kind](), "The dog saw a cat.")
    question = question_of("one-head", "score-as-in-paper", of)
    assert isinstance(question, NumberQuestion)
    row, trace, path = row_of(of), of.run.trace, f"{MODULES[row_of(of).attention][0]}.layers.0.self_attn"
    q, k = (trace[f"{path}.{name}"][0, row.head].double() for name in "qk")
    product = float(q[row.query] @ k[row.first])
    assert question.answer(of) == pytest.approx(product / math.sqrt(q.shape[-1]), rel=1e-5)
    own = product * {"factors": 0.2, "relative": 1.0}[kind]
    if kind == "relative":
        own += float(trace[f"{path}.position_bias"][0, row.head, row.query, row.first])
    else:
        assert written(own, 2) in question.reason(of)
    assert row.scores[row.first] == pytest.approx(own, rel=1e-4)
