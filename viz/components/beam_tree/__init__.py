"""A beam search drawn as a tree, stepped through in the browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from viz.components.shared.client_view import JSON, ClientView, index
from viz.components.shared.frame import brief, color_data, pack_frame
from viz.theme import Theme

NodeKind = Literal["given", "kept", "pruned", "ended"]
"""Given: part of the prefix. Kept, pruned: a candidate's fate. Ended: kept, and an end token."""


@dataclass(frozen=True)
class TreeNode:
    """One token of the tree, after the tokens of its ancestors."""

    token: str
    """Invisible characters are already made visible."""
    parent: int | None
    """The parent's index, lower than its own; None for the root."""
    depth: int
    """The number of tokens before it. It was chosen at step depth - 1."""
    probability: float
    """The token's probability after its prefix, from 0 to 1."""
    score: float
    """The score by which the search ranks hypotheses."""
    rank: int
    """Its rank among the candidates of its step."""
    kind: NodeKind
    why: str
    """Its fate, in one sentence."""
    numbers: Sequence[tuple[str, str]] = ()
    """Further numbers, as (name, value) texts."""
    is_open: bool = True
    """True if the search can restart after it."""


@dataclass(frozen=True)
class ReturnedHypothesis:
    """One of the n best hypotheses: its last node, its sentence, and its score."""

    node: int
    text: str
    score: float


@dataclass(frozen=True)
class Chosen:
    """The user's choice of a node."""

    node: int


@dataclass(frozen=True)
class GoOn:
    """A request to restart the search after this node."""

    node: int


@dataclass(frozen=True)
class AskWhy:
    """A request to be shown why the model wrote this node's word."""

    node: int


TreeSelection: TypeAlias = Chosen | GoOn | AskWhy

_VIEW = ClientView("beam_tree")


def beam_tree(
    nodes: Sequence[TreeNode],
    hypotheses: Sequence[ReturnedHypothesis],
    *,
    given: int,
    cuts: Sequence[float | None],
    more: Sequence[int],
    selected: int,
    word: str = "",
    colors: Theme,
    key: str,
    title: str = "The search",
    on_select: Callable[[TreeSelection], None] | None = None,
) -> None:
    """Draw the tree: one column per step with its candidates by score, the kept ones above a line.

    The slider, the buttons and Page Up and Page Down go from step to step of a hypothesis; a click or the
    arrow keys choose any node. The step is that of the chosen node: later steps are pale, and each branch
    looks as it did then. Double click, Enter or the button under the tree ask to continue from the node. The
    drawing follows at once; Python receives the choice or the request. Kept, dead, pruned and ended branches
    differ in line, weight and shape, not in colour alone.

    Args:
        nodes: one or more, parents before their children; every depth from 0 on has one.
        hypotheses: the n best, best first.
        given: the first depth that the search chose itself, after the root and a given prefix.
        cuts: for each depth the score below which all candidates were pruned; None if there is none.
        more: for each depth the number of pruned candidates that are not among the nodes.
        selected: the chosen node. The view follows its changes; the user's own choice takes effect at once.
        word: the chosen node's word, if the user may ask why the model wrote it.
        title: a name for screen readers.
        on_select: called with the choice or the request, before the run that it starts.

    Raises:
        ValueError: the node does not exist, a parent is not before its child, or cuts and more do not have
            one entry per depth.
    """
    depths = 1 + max(node.depth for node in nodes)
    index(selected, len(nodes))
    if len(cuts) != depths or len(more) != depths:
        raise ValueError(f"{depths} depths, but {len(cuts)} cuts and {len(more)} counts")
    if any(node.parent is not None and node.parent >= i for i, node in enumerate(nodes)):
        raise ValueError("a parent stands before its children")
    data = {
        "colors": color_data(colors),
        "title": title,
        "given": given,
        "cuts": list(cuts),
        "more": list(more),
        "selected": selected,
        "word": brief(word),
        "nodes": [vars(node) | {"token": brief(node.token)} for node in nodes],
        "hypotheses": list(map(vars, hypotheses)),
    }

    def parse(value: JSON) -> TreeSelection:
        if "go_on" in value:
            return GoOn(index(value["go_on"], len(nodes)))
        if "why" in value:
            return AskWhy(index(value["why"], len(nodes)))
        return Chosen(index(value["node"], len(nodes)))

    _VIEW.mount(pack_frame(data, {}), key=key, parse=parse, on_select=on_select)
