"""A beam search over made-up probabilities, in the form that the tree view takes."""

from __future__ import annotations

import math

import numpy as np

from tests.browser.apps.synthetic import words
from viz.components.beam_tree import NodeKind, ReturnedHypothesis, TreeNode

VOCABULARY = 20
EOS = 0
SHARP = 2.0


def made_up_search(
    beam_size: int, n_steps: int
) -> tuple[list[TreeNode], list[ReturnedHypothesis], list[float | None]]:
    """Nodes, hypotheses and pruned branches of a search of exactly `n_steps`; some hypotheses end earlier."""
    draw = np.random.default_rng(5)
    names = ["<eos>", *words(VOCABULARY - 1)]
    nodes = [TreeNode("<bos>", None, 0, 1.0, 0.0, 1, "given", "The search begins here.")]
    cuts: list[float | None] = [None]
    live, ended = [0], []
    for depth in range(1, n_steps + 1):
        candidates = []
        for parent in live:
            chances = draw.dirichlet(np.full(VOCABULARY, 1 / SHARP)).tolist()
            for token in np.argsort(chances)[::-1][:beam_size].tolist():
                p = chances[token]
                candidates.append((nodes[parent].score + math.log(p), parent, token, p))
        candidates.sort(reverse=True)
        live = []
        for rank, (score, parent, token, p) in enumerate(candidates[: 2 * beam_size], start=1):
            kind: NodeKind = "pruned" if rank > beam_size else "ended" if token == EOS else "kept"
            why = f"Its score {score:.3f} was rank {rank} of {len(candidates)}."
            numbers = [("probability", f"{p:.3f}")]
            is_open = token != EOS
            nodes.append(
                TreeNode(names[token], parent, depth, p, score, rank, kind, why, numbers, is_open=is_open)
            )
            if kind == "kept":
                live.append(len(nodes) - 1)
            elif kind == "ended":
                ended.append(len(nodes) - 1)
        cuts.append(candidates[beam_size - 1][0] if len(candidates) > beam_size else None)
    best = sorted([*live, *ended], key=lambda i: -nodes[i].score)[:beam_size]
    hypotheses = [ReturnedHypothesis(i, _sentence(nodes, i), nodes[i].score) for i in best]
    return nodes, hypotheses, cuts


def _sentence(nodes: list[TreeNode], i: int | None) -> str:
    sentence: list[str] = []
    while i is not None:
        sentence.insert(0, nodes[i].token)
        i = nodes[i].parent
    return " ".join(sentence[1:])
