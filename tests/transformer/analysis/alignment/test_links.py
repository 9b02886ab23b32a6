"""Links from a matrix of weights."""

from __future__ import annotations

import numpy as np

from transformer.analysis.alignment.links import argmax_links, diagonal_links, symmetric_links


def test_argmax_links_each_target_word_once() -> None:
    weights = np.array([[0.1, 0.7], [0.6, 0.2], [0.0, 0.0]])
    assert argmax_links(weights) == {(1, 0), (0, 1)}, "source first; a word without weight has no link"


def test_the_diagonal_is_at_the_same_part_of_the_sentence() -> None:
    assert diagonal_links(3, 3) == {(0, 0), (1, 1), (2, 2)}
    assert diagonal_links(2, 4) == {(0, 0), (0, 1), (1, 2), (1, 3)}
    assert diagonal_links(5, 1) == {(2, 0)}
    assert diagonal_links(0, 2) == diagonal_links(2, 0) == set()


def test_a_neighbour_is_added_for_a_word_without_a_link() -> None:
    """Two target words of one source word, and two source words of one target word."""
    weights = np.array(
        [
            [0.9, 0.0, 0.0, 0.0],
            [0.5, 0.1, 0.0, 0.0],
            [0.0, 0.0, 0.5, 0.4],
        ]
    )
    assert symmetric_links(weights) == {(0, 0), (0, 1), (1, 1), (2, 2), (3, 2)}
    assert argmax_links(weights) == {(0, 0), (0, 1), (2, 2)}


def test_far_candidates_are_no_links() -> None:
    """Word 3 of the target has no partner: its argmax is far from the links, and not mutual."""
    weights = np.diag([0.9, 0.9, 0.9, 0.0, 0.9])
    weights[3, 0] = 0.1
    assert symmetric_links(weights) == {(0, 0), (1, 1), (2, 2), (4, 4)}


def test_a_word_that_everything_attends_to_is_not_everyones_partner() -> None:
    """As some heads attend to the full stop."""
    weights = np.array([[0.3, 0.0, 0.5], [0.0, 0.3, 0.5], [0.0, 0.0, 0.9]])
    assert argmax_links(weights) == {(2, 0), (2, 1), (2, 2)}
    assert {(0, 0), (1, 1), (2, 2)} <= symmetric_links(weights)
    assert (2, 0) not in symmetric_links(weights)


def test_no_weights_are_no_links() -> None:
    assert symmetric_links(np.zeros((3, 2))) == set()
    assert symmetric_links(np.zeros((0, 2))) == set()
