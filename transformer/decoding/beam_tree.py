"""Records a beam search as a tree: every candidate with its scores and fate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from transformer.decoding.beam import BeamSearch, BeamStep, Hypothesis, length_penalty
from transformer.decoding.request import DecodingRequest
from transformer.model.transformer import Transformer

Fate = Literal["given", "kept", "pruned", "finished"]
"""Given: the root and the prefix. Kept: continued. Finished: ends, among the best K. Pruned: the rest."""


@dataclass(frozen=True)
class BeamNode:
    """One token, which follows the tokens of its ancestors.

    Attributes:
        index: index among the nodes.
        parent: the parent's index; None for the root, which is the last start token.
        position: distance from the root.
        token_id: id of the token.
        log_probability: log-probability given the tokens before it, in nats; 0 for the root.
        total: sum of log-probabilities from the root to this token.
        score: total divided by the length penalty, which ranks the candidates of a step.
        rank: rank among the candidates of its step, from 1.
        ends: True for an end token.
        fate: what the search did with it.
    """

    index: int
    parent: int | None
    position: int
    token_id: int
    log_probability: float
    total: float
    score: float
    rank: int
    ends: bool
    fate: Fate


@dataclass(frozen=True)
class BeamTree:
    """One search.

    Attributes:
        nodes: all nodes, parents before their children, and the candidates of a step best first.
        hypotheses: the hypotheses found, best first.
        leaves: the last node of each hypothesis.
        n_given: number of nodes for the root and the prefix, which are first.
        n_candidates: number of possible continuations in each step, from the first searched position on.
        n_listed: largest number of continuations per step that get nodes.
        repeating: for each continued node, the tokens excluded because they would repeat an n-gram; nodes
            without any are left out.
        misspelling: the same for tokens that would misspell, or not begin, a word to copy.
        forced_at: position of the forced end; None without one.
    """

    nodes: tuple[BeamNode, ...]
    hypotheses: tuple[Hypothesis, ...]
    leaves: tuple[int, ...]
    n_given: int
    n_candidates: tuple[int, ...]
    n_listed: int
    repeating: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    misspelling: Mapping[int, frozenset[int]] = field(default_factory=dict)
    forced_at: int | None = None

    def path(self, index: int) -> tuple[BeamNode, ...]:
        """The nodes from the root to a node."""
        nodes: list[BeamNode] = []
        at: int | None = index
        while at is not None:
            nodes.append(self.nodes[at])
            at = self.nodes[at].parent
        return tuple(reversed(nodes))


def beam_tree(
    model: Transformer, src: Tensor | None, request: DecodingRequest, *, beam_size: int, alpha: float
) -> BeamTree:
    """Search for the best `beam_size` targets of one source, recording every step.

    Args:
        src: (1, S) ids; None without an encoder.
        model, request, beam_size, alpha: as in `BeamSearch`.
    """
    search = BeamSearch(model, src, request, beam_size=beam_size, alpha=alpha, n_best=beam_size)
    nodes = _given(model, src, request, alpha)
    followed, n_given, n_candidates = [len(nodes) - 1], len(nodes), []
    repeating: dict[int, tuple[int, ...]] = {}
    misspelling: dict[int, frozenset[int]] = {}
    forced_at = None
    if request.forced_end_id is not None:
        forced_at = len(request.prefix) + request.limits(model, 1)[0]
    suppressed = frozenset(request.suppressed_ids)
    for step in search.steps():
        if nodes[followed[0]].position + 1 == forced_at:
            n_candidates.append(len(followed))
        else:
            n_candidates.append(0)
            for at, surest in zip(followed, step.surest[0, : len(followed)].tolist(), strict=True):
                target = _ids_through(nodes, at)
                again, otherwise = (ids - suppressed for ids in request.closed(target, surest=surest))
                repeating |= {at: tuple(sorted(again))} if again else {}
                misspelling |= {at: otherwise} if otherwise else {}
                n_candidates[-1] += model.config.tgt_vocab_size - len(
                    suppressed | again | otherwise | request.invented_letters(target)
                )
        new = _candidate_nodes(step, followed, nodes, request, beam_size, alpha)
        nodes += new
        followed = [node.index for node in new if node.fate == "kept"]
    hypotheses = tuple(search.found[0].hypotheses)
    leaves = tuple(_leaf(nodes, hypothesis) for hypothesis in hypotheses)
    return BeamTree(
        nodes=tuple(nodes),
        hypotheses=hypotheses,
        leaves=leaves,
        n_given=n_given,
        n_candidates=tuple(n_candidates),
        n_listed=search.n_listed,
        repeating=repeating,
        misspelling=misspelling,
        forced_at=forced_at,
    )


@torch.inference_mode()
def _given(model: Transformer, src: Tensor | None, request: DecodingRequest, alpha: float) -> list[BeamNode]:
    """Nodes for the root and the prefix, with log-probabilities."""
    nodes = [BeamNode(0, None, 0, request.start_ids[-1], 0.0, 0.0, 0.0, 1, False, "given")]
    if not request.prefix:
        return nodes
    read = request.first_tokens(1, model.generator.weight.device)[:, :-1]
    logits = model.step(read, model.start(src))[0, len(request.start_ids) - 1 :].float()
    log_probabilities = request.suppress(logits).log_softmax(dim=-1)  # (prefix, V)
    for place, token in enumerate(request.prefix):
        own = float(log_probabilities[place, token])
        rank = 1 + int((log_probabilities[place] > own).sum())
        total = nodes[-1].total + own
        score = total / length_penalty(place + 1, alpha, request.length_form)
        nodes.append(BeamNode(place + 1, place, place + 1, token, own, total, score, rank, False, "given"))
    return nodes


def _candidate_nodes(
    step: BeamStep,
    followed: Sequence[int],
    nodes: Sequence[BeamNode],
    request: DecodingRequest,
    beam_size: int,
    alpha: float,
) -> list[BeamNode]:
    kept = set(step.followed[0].tolist())
    position = nodes[followed[0]].position + 1
    penalty = length_penalty(position, alpha, request.length_form)
    new: list[BeamNode] = []
    rows = zip(
        step.parents[0].tolist(),
        step.tokens[0].tolist(),
        step.log_probabilities[0].tolist(),
        step.totals[0].tolist(),
        strict=True,
    )
    for place, (parent, token, log_probability, total) in enumerate(rows):
        if total == -math.inf:
            break
        ends = token in request.end_ids
        fate: Fate = "kept" if place in kept else "finished" if ends and place < beam_size else "pruned"
        new.append(
            BeamNode(
                index=len(nodes) + len(new),
                parent=followed[parent],
                position=position,
                token_id=token,
                log_probability=log_probability,
                total=total,
                score=total / penalty,
                rank=place + 1,
                ends=ends,
                fate=fate,
            )
        )
    return new


def _ids_through(nodes: Sequence[BeamNode], index: int) -> list[int]:
    """The token ids from the root (excluded) to a node."""
    ids: list[int] = []
    at = nodes[index]
    while at.parent is not None:
        ids.append(at.token_id)
        at = nodes[at.parent]
    return ids[::-1]


def _leaf(nodes: Sequence[BeamNode], hypothesis: Hypothesis) -> int:
    """The last node of a hypothesis."""
    tokens = list(hypothesis.ids) if hypothesis.end_id is None else [*hypothesis.ids, hypothesis.end_id]
    children = {(node.parent, node.token_id): node.index for node in nodes}
    at = 0
    for token in tokens:
        at = children[at, token]
    return at
