"""The sentence next to each node of a tree gives the numbers that decided, in many searches."""

from __future__ import annotations

import re

import pytest

from tests.support.models import tiny_model, tiny_subword_model
from transformer.checkpoints.opening import open_model
from transformer.decoding.beam_tree import BeamTree
from transformer.loaded import LoadedModel
from transformer.run import encode_sentence, search
from transformer.text.vocabulary import EOS_ID
from viz.figures.labels import visible
from viz.figures.numbers import number
from viz.pages.decode.tree import draw_tree
from viz.pages.decode.verdicts import Verdicts, percent

ENDS = {
    "pruned": r"Pruned: number",
    "end pruned": r"Pruned: a sentence ends only",
    "returned": r"It ended the sentence, which was returned",
    "beaten": r"It ended the sentence, but",
    "through": r"Kept.*through it",
    "later": r"Kept.*the last of them was lost at step",
    "next": r"Kept.*but lost at the next step",
    "left over": r"Kept.*still active when the search ended",
}


def searched(loaded: LoadedModel, text: str, beam_size: int, prefix: tuple[int, ...] = ()) -> BeamTree:
    source = encode_sentence(loaded, "source", text, "sentence")
    return search(loaded, source, beam_size=beam_size, alpha=1.0, prefix=prefix)


@pytest.fixture(scope="module")
def searches() -> list[tuple[LoadedModel, int, BeamTree]]:
    toy = open_model("toy-en-it")
    found = [
        (toy, size, searched(toy, text, size))
        for size in (1, 3, 4, 8)
        for text in ("my sister is younger than your brother.", "i saw it yesterday.", "a zebra")
    ]
    for seed in range(4):
        tiny = tiny_model(seed)
        found.append((tiny, 3, searched(tiny, "i see the dog.", 3)))
    sub_words = tiny_subword_model(1)
    return [*found, (sub_words, 4, searched(sub_words, "the zebra", 4, prefix=(270, 280)))]


def test_every_kind_of_end_is_met_and_each_node_has_one(
    searches: list[tuple[LoadedModel, int, BeamTree]],
) -> None:
    met = set()
    for loaded, size, tree in searches:
        verdicts = Verdicts(tree, loaded.target, size)
        for node in tree.nodes[tree.n_given :]:
            why = verdicts.why(node)
            kinds = [kind for kind, words in ENDS.items() if re.match(words, why)]
            assert len(kinds) == 1 or "limit" in why, why
            met |= set(kinds)
    assert met == set(ENDS)


def test_a_pruned_branch_names_what_it_lost_against(
    searches: list[tuple[LoadedModel, int, BeamTree]],
) -> None:
    for loaded, size, tree in searches:
        verdicts = Verdicts(tree, loaded.target, size)
        for node in tree.nodes:
            if node.fate != "pruned":
                continue
            step = [other for other in tree.nodes if other.position == node.position]
            kept = [other.score for other in step if other.fate == "kept"]
            by_rank = sorted(step, key=lambda other: other.rank)
            last = by_rank[size - 1].score if node.token_id == EOS_ID else min(kept)
            assert node.score <= last
            assert f"{number(node.score)} lost to {number(last)}" in verdicts.why(node)
            assert f"number {node.rank} of {verdicts.n_candidates(node):,} continuations" in verdicts.why(
                node
            )


def test_a_kept_branch_that_died_says_when_and_of_what(
    searches: list[tuple[LoadedModel, int, BeamTree]],
) -> None:
    for loaded, size, tree in searches:
        verdicts = Verdicts(tree, loaded.target, size)
        for node in tree.nodes:
            why = verdicts.why(node)
            children = [child for child in tree.nodes if child.parent == node.index]
            if "lost at the next step" in why:
                assert all(child.fate in ("pruned", "finished") for child in children)
            if match := re.search(r"its best continuation, “(.*)”, scored (\S+); (\S+) was needed", why):
                best = max(children, key=lambda child: child.score)
                rest = [n.score for n in tree.nodes if n.position == best.position and n.fate == "kept"]
                token = visible(loaded.target.token(best.token_id))
                assert match.groups() == (token, number(best.score), number(min(rest)))


def test_ends_and_what_was_left_over_lost_against_the_last_that_was_returned(
    searches: list[tuple[LoadedModel, int, BeamTree]],
) -> None:
    for loaded, size, tree in searches:
        verdicts = Verdicts(tree, loaded.target, size)
        worst = min(hypothesis.score for hypothesis in tree.hypotheses)
        for node in tree.nodes:
            why = verdicts.why(node)
            if "It ended the sentence, but" in why:
                assert node.score <= worst
                assert f"{number(node.score)} it lost to {number(worst)}" in why
            if match := re.search(r"score was −([\d.]+) then, no better than (\S+), the", why):
                assert -float(match[1]) <= worst + 1e-3
                assert match[2] == number(worst)


def test_the_returned_sentences_are_named_on_their_way(
    searches: list[tuple[LoadedModel, int, BeamTree]],
) -> None:
    for loaded, size, tree in searches:
        verdicts = Verdicts(tree, loaded.target, size)
        for place, leaf in enumerate(tree.leaves, start=1):
            for node in tree.path(leaf)[tree.n_given :]:
                assert re.search(rf"[Rr]eturned.*\b{place}\b", verdicts.why(node))


def test_the_drawn_tree_is_the_search(searches: list[tuple[LoadedModel, int, BeamTree]]) -> None:
    for loaded, size, tree in searches:
        drawn = draw_tree(tree, loaded.target, beam_size=size, limit=9)
        assert [node.parent for node in drawn.nodes] == [node.parent for node in tree.nodes]
        assert [node.depth for node in drawn.nodes] == [node.position for node in tree.nodes]
        assert [(h.node, h.score) for h in drawn.hypotheses] == [
            (leaf, hypothesis.score) for leaf, hypothesis in zip(tree.leaves, tree.hypotheses, strict=True)
        ]
        for node, one in zip(tree.nodes, drawn.nodes, strict=True):
            assert one.is_open == (node.token_id != EOS_ID and node.position <= 9)
            if node.fate == "pruned" and (cut := drawn.cuts[node.position]) is not None:
                assert node.score <= cut
        for depth in range(tree.n_given, 1 + tree.nodes[-1].position):
            shown = sum(node.depth == depth for node in drawn.nodes)
            assert shown + drawn.more[depth] == tree.n_candidates[depth - tree.n_given]


def test_a_given_token_says_what_the_model_thought_of_it(
    searches: list[tuple[LoadedModel, int, BeamTree]],
) -> None:
    loaded, size, tree = searches[-1]
    verdicts = Verdicts(tree, loaded.target, size)
    assert verdicts.why(tree.nodes[0]) == "The search starts after this token."
    for node in tree.nodes[1:3]:
        assert verdicts.why(node) == f"You chose this token. The model itself ranked it {node.rank} here."


def test_small_probabilities_keep_their_size() -> None:
    assert percent(0.5) == "50.00 %"
    assert percent(0.0000123) == "0.0012 %"
    assert percent(0.0000000123) == "< 0.0001 %"
    assert number(-1.23456) == "−1.235"
