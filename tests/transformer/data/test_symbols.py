"""Copy, reverse, sort: right answers, right alignments, and no held-out example is ever trained on."""

from __future__ import annotations

from itertools import islice

import pytest

from transformer.data.tasks import COPY, REVERSE, SORT, SymbolTask
from transformer.data.tasks.symbols import LONGEST, SHORTEST, SYMBOLS

TASKS = (COPY, REVERSE, SORT)


@pytest.mark.parametrize(
    "task, answer",
    [(COPY, "raccoon7"), (REVERSE, "7nooccar"), (SORT, "7accnoor")],
    ids=lambda value: getattr(value, "name", value),
)
def test_the_answer_is_right(task: SymbolTask, answer: str) -> None:
    assert "".join(task.solve("raccoon7").target) == answer


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_each_symbol_of_the_answer_is_aligned_with_itself(task: SymbolTask) -> None:
    for pair in islice(task.pairs(3, held_out=False), 200):
        assert all(pair.source[i] == pair.target[j] for i, j in pair.alignment)
        for side in zip(*pair.alignment, strict=True):
            assert sorted(side) == list(range(len(pair.source)))


def test_alignments_are_the_diagonals_and_stable() -> None:
    assert COPY.solve("abc").alignment == {(0, 0), (1, 1), (2, 2)}
    assert REVERSE.solve("abc").alignment == {(2, 0), (1, 1), (0, 2)}
    assert SORT.solve("bab").alignment == {(1, 0), (0, 1), (2, 2)}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_pairs_have_all_lengths_and_symbols(task: SymbolTask) -> None:
    pairs = list(islice(task.pairs(5, held_out=False), 2000))
    assert {len(pair.source) for pair in pairs} == set(range(SHORTEST, LONGEST + 1))
    assert {symbol for pair in pairs for symbol in pair.source} == set(SYMBOLS)


def test_held_out_pairs_are_never_trained_on() -> None:
    held_out = {pair.source for pair in REVERSE.held_out(300, seed=1)}
    trained = {pair.source for pair in islice(REVERSE.pairs(1, held_out=False), 20_000)}
    short = {source for source in trained if len(source) == SHORTEST}
    assert len(short) > 500
    assert not held_out & trained


def test_a_seed_makes_the_same_pairs() -> None:
    first, again, other = (list(islice(SORT.pairs(seed, held_out=False), 20)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
