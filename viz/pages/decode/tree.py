"""A beam search in the form that the tree view draws."""

from __future__ import annotations

import math
from dataclasses import dataclass

from transformer.decoding.beam_tree import BeamNode, BeamTree, Fate
from transformer.decoding.request import Ending
from transformer.text.coder import Coder
from viz.components.beam_tree import NodeKind, ReturnedHypothesis, TreeNode
from viz.figures.labels import visible_in_full
from viz.figures.numbers import number
from viz.pages.decode.verdicts import Verdicts, percent

KINDS: dict[Fate, NodeKind] = {"given": "given", "kept": "kept", "pruned": "pruned", "finished": "ended"}
STOPPED: dict[Ending, str] = {
    "end": "",
    "limit": " … (stopped at the limit)",
    "positions": " … (stopped at the model's last position)",
}
"""Appended to a sentence, depending on why it ended."""


@dataclass(frozen=True)
class DrawnTree:
    """The arguments of the view; nodes have the same indices as in the tree."""

    nodes: list[TreeNode]
    hypotheses: list[ReturnedHypothesis]
    cuts: list[float | None]
    more: list[int]


def draw_tree(tree: BeamTree, coder: Coder, *, beam_size: int, limit: int) -> DrawnTree:
    """Prepare a search for the view; `limit` is the length of the longest prefix that it can start from."""
    verdicts = Verdicts(tree, coder, beam_size)
    depths = range(1 + tree.nodes[-1].position)
    by_depth = [[node for node in tree.nodes if node.position == depth] for depth in depths]
    return DrawnTree(
        nodes=[_node(node, verdicts, limit) for node in tree.nodes],
        hypotheses=[
            ReturnedHypothesis(
                node=leaf,
                text=visible_in_full(coder.decode(hypothesis.ids)) + STOPPED[hypothesis.ending],
                score=hypothesis.score,
            )
            for leaf, hypothesis in zip(tree.leaves, tree.hypotheses, strict=True)
        ],
        cuts=[_cut(nodes, verdicts) for nodes in by_depth],
        more=[
            0 if nodes[0].fate == "given" else verdicts.n_candidates(nodes[0]) - len(nodes)
            for nodes in by_depth
        ],
    )


def _cut(nodes: list[BeamNode], verdicts: Verdicts) -> float | None:
    """The score below which all were pruned; None if an end with a better score was pruned too."""
    cut = verdicts.cuts.get(nodes[0].position)
    pruned = [node.score for node in nodes if node.fate == "pruned"]
    return None if cut is None or any(score > cut for score in pruned) else cut


def _node(node: BeamNode, verdicts: Verdicts, limit: int) -> TreeNode:
    return TreeNode(
        token=verdicts.token(node),
        parent=node.parent,
        depth=node.position,
        probability=math.exp(node.log_probability),
        score=node.score,
        rank=node.rank,
        kind=KINDS[node.fate],
        why=verdicts.why(node),
        numbers=_numbers(node),
        is_open=not node.ends and node.position <= limit,
    )


def _numbers(node: BeamNode) -> list[tuple[str, str]]:
    """A node's numbers, as (name, value)."""
    if node.parent is None:
        return []
    return [
        ("probability", percent(math.exp(node.log_probability))),
        ("log-probability", number(node.log_probability)),
        ("sum of the log-probabilities", number(node.total)),
        ("score", number(node.score)),
    ]
