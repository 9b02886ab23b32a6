"""A beam search as a tree that is stepped through, drawn in the browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from viz.components.shared.client_view import JSON, ClientView, index
from viz.components.shared.frame import brief, color_data, pack_frame
from viz.theme import Theme

NodeKind = Literal["given", "kept", "pruned", "ended"]
"""Given: where the search began. Kept, pruned: what it did with a candidate. Ended: kept, an end token."""


@dataclass(frozen=True)
class TreeNode:
    """One token of the tree, after the tokens of its ancestors."""

    token: str
    """With invisible characters already made visible."""
    parent: int | None
    """The parent's place among the nodes, before its own; None for the root."""
    depth: int
    """Tokens before it, from the root's 0. It was chosen at step depth - 1."""
    probability: float
    """Of this token after its prefix, from 0 to 1."""
    score: float
    """What the search ranks hypotheses by."""
    rank: int
    """Its place among the candidates of its step."""
    kind: NodeKind
    why: str
    """What became of it, in a sentence."""
    numbers: Sequence[tuple[str, str]] = ()
    """More about it: names and numbers as text."""
    is_open: bool = True
    """Whether the search can restart after it."""


@dataclass(frozen=True)
class ReturnedHypothesis:
    """One of the n best: the node it ends in, the sentence, and its score."""

    node: int
    text: str
    score: float


@dataclass(frozen=True)
class Place:
    """Where a user is in the tree: the step it is shown after, and the node that is chosen."""

    node: int
    step: int


@dataclass(frozen=True)
class GoOn:
    """The wish that the search restarts after this node."""

    node: int


TreeSelection: TypeAlias = Place | GoOn

_VIEW = ClientView("beam_tree")


def beam_tree(
    nodes: Sequence[TreeNode],
    hypotheses: Sequence[ReturnedHypothesis],
    *,
    given: int,
    cuts: Sequence[float | None],
    more: Sequence[int],
    place: Place,
    colors: Theme,
    key: str,
    title: str = "The search",
    on_select: Callable[[TreeSelection], None] | None = None,
) -> None:
    """Draw the tree: one column per step, in it the candidates by score, the kept ones above a line.

    The slider, the buttons and Page Up and Page Down go from step to step: what comes later is hidden, and
    each branch looks as it did then. A click or the arrow keys choose a node; double click, Enter or the
    button under the tree ask to continue from it. The drawing follows at once; the place and the wish reach
    Python. Kept, dead, pruned and ended branches differ in line, weight and shape, not in colour alone.

    Args:
        nodes: one or more, parents before their children; every depth from 0 on has one.
        hypotheses: the n best, best first.
        given: the first depth that the search chose itself; before it stand the root and a given prefix.
        cuts: for each depth the score below which all candidates were pruned; None where there is no such.
        more: for each depth how many pruned candidates are not among the nodes.
        place: where the user is. A change of it moves there; their own choice moves at once.
        title: what the tree is, for screen readers.
        on_select: called with the place or the wish, before the run that it starts.

    Raises:
        ValueError: if the place is none, a parent does not come before its child, or cuts and more are not
            one for each depth.
    """
    depths = 1 + max(node.depth for node in nodes)
    index(place.node, len(nodes))
    index(place.step, depths)
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
        "selected": place.node,
        "step": place.step,
        "nodes": [vars(node) | {"token": brief(node.token)} for node in nodes],
        "hypotheses": list(map(vars, hypotheses)),
    }

    def parse(value: JSON) -> TreeSelection:
        if "go_on" in value:
            return GoOn(index(value["go_on"], len(nodes)))
        return Place(index(value["node"], len(nodes)), index(value["step"], depths))

    _VIEW.mount(pack_frame(data, {}), key=key, parse=parse, on_select=on_select)
