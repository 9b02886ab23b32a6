"""The tree records the search, with every score and fate."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest

from tests.transformer.decoding.requests import request
from tests.transformer.decoding.test_beam import search, sharp, totals
from tests.transformer.model.core import BOS_ID, EOS_ID, random_ids
from transformer.decoding.beam import length_penalty
from transformer.decoding.beam_tree import BeamTree, beam_tree

SIZE = 3


def tree(seed: int = 1, prefix: tuple[int, ...] = (), alpha: float = 1.0) -> BeamTree:
    return beam_tree(
        sharp(seed),
        random_ids(11, 1, 5, seed=seed),
        request(6, prefix=prefix),
        beam_size=SIZE,
        alpha=alpha,
    )


@pytest.mark.parametrize("seed, prefix", [(0, ()), (1, (4, 6))])
def test_scores_are_those_of_whole_forwards(seed: int, prefix: tuple[int, ...]) -> None:
    model, src = sharp(seed), random_ids(11, 1, 5, seed=seed)
    found = tree(seed, prefix)
    for node in found.nodes[1:]:
        path = [one.token_id for one in found.path(node.index)][1:]
        [own] = totals(model, src, [path])
        assert node.log_probability == pytest.approx(
            own - (totals(model, src, [path[:-1]])[0] if path[:-1] else 0.0), abs=1e-4
        )
        assert node.total == pytest.approx(own, abs=1e-4)
        assert node.score == pytest.approx(node.total / length_penalty(len(path), 1.0), abs=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_it_ends_in_the_hypotheses_of_the_search(seed: int) -> None:
    found = tree(seed)
    src = random_ids(11, 1, 5, seed=seed)
    (expected,) = search(sharp(seed), src, beam_size=SIZE, n_best=SIZE, alpha=1.0)
    assert found.hypotheses == tuple(expected)
    for leaf, hypothesis in zip(found.leaves, found.hypotheses, strict=True):
        path = tuple(node.token_id for node in found.path(leaf))[1:]
        assert path == (*hypothesis.ids, *([EOS_ID] if hypothesis.ending == "end" else []))
        assert found.nodes[leaf].score == pytest.approx(hypothesis.score)


@pytest.mark.parametrize("seed", range(2))
def test_fates(seed: int) -> None:
    """Each step keeps K candidates, all better than the pruned ones; only <eos> finishes."""
    found = tree(seed)
    for position in range(1, 1 + max(node.position for node in found.nodes)):
        step = [node for node in found.nodes if node.position == position]
        assert [node.rank for node in step] == list(range(1, len(step) + 1))
        assert [node.score for node in step] == sorted((node.score for node in step), reverse=True)
        kept = [node for node in step if node.fate == "kept"]
        assert len(kept) == SIZE
        assert EOS_ID not in {node.token_id for node in kept}
        for node in step:
            if node.fate == "finished":
                assert node.token_id == EOS_ID
                assert node.rank <= SIZE
            if node.fate == "pruned" and node.token_id != EOS_ID:
                assert node.score <= kept[-1].score
            assert node.parent is not None
            assert found.nodes[node.parent].fate in ("kept", "given")
            assert math.isfinite(node.score)


def test_a_prefix_is_given() -> None:
    found = tree(prefix=(4, 6))
    assert [(node.token_id, node.fate, node.parent) for node in found.nodes[:3]] == [
        (BOS_ID, "given", None),
        (4, "given", 0),
        (6, "given", 1),
    ]
    assert found.n_given == 3
    assert found.nodes[3].parent == 2
    assert all(hypothesis.ids[:2] == (4, 6) for hypothesis in found.hypotheses)


def test_candidates_are_counted_and_a_search_repeats_itself() -> None:
    """Candidates are all words that may follow each continued hypothesis."""
    found = tree()
    assert found.n_candidates[:2] == (5, SIZE * 5)
    assert tree() == found


def test_excluded_tokens_are_recorded() -> None:
    """Tokens that would repeat a bigram, for each continued node, and the forced end."""
    asked = replace(request(6), no_repeat_ngram_size=2, forced_end_id=EOS_ID)
    src = random_ids(11, 1, 5, seed=1)
    found = beam_tree(sharp(1), src, asked, beam_size=SIZE, alpha=1.0)
    assert found.repeating
    for index, closed in found.repeating.items():
        ids = [node.token_id for node in found.path(index)]
        assert all((ids[-1], token) in itertools.pairwise(ids) for token in closed)
        assert not [n for n in found.nodes if n.parent == index and n.token_id in closed]
    assert found.forced_at == 6
    last = [node for node in found.nodes if node.position == 6]
    assert {node.token_id for node in last} <= {EOS_ID}
    assert all(node.log_probability == 0 for node in last)
    free = beam_tree(sharp(1), src, request(6), beam_size=SIZE, alpha=1.0)
    assert not free.repeating
    assert free.forced_at is None
    assert sum(free.n_candidates[:5]) > sum(found.n_candidates[:5])
