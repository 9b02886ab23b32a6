"""A model drawn as the paper draws it (figure 1), in the browser; a click on a block lists its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from viz.components.shared.client_view import ClientView
from viz.components.shared.frame import brief, color_data, pack_frame
from viz.theme import Theme

BlockKind = Literal["embedding", "attention", "feed-forward", "norm", "generator"]


@dataclass(frozen=True)
class ArchitectureBlock:
    """One box of the drawing; all text is plain, with invisible characters already made visible.

    Attributes:
        kind: what it does; says the colour.
        label: its name.
        detail: its sizes, in a few words.
        about: a sentence or two on what it does.
        path: of the module; of the first layer's where there are several.
        parameters: how many it has; 0 where it has none, or shares another block's.
        weights: names and shapes.
        reads: whether the encoder's output comes in here.
    """

    kind: BlockKind
    label: str
    detail: str = ""
    about: str = ""
    path: str = ""
    parameters: int = 0
    weights: Sequence[tuple[str, str]] = ()
    reads: bool = False


@dataclass(frozen=True)
class ArchitectureSublayer:
    """What adds to the stream of vectors.

    Attributes:
        inside: blocks that the stream is led around, from the bottom up: the sublayer, and its norm in
            front of it in a pre-norm layer.
        after: blocks after the sum: the norm of a post-norm layer.
    """

    inside: Sequence[ArchitectureBlock]
    after: Sequence[ArchitectureBlock] = ()


@dataclass(frozen=True)
class ArchitectureStack:
    """A column of the drawing, from the bottom up.

    Attributes:
        title: encoder or decoder.
        reads: its input.
        below: blocks before the layers.
        layer: of which each layer is made.
        n_layers: how many layers are alike.
        above: blocks after the layers.
        writes: its output.
    """

    title: str
    reads: str
    below: Sequence[ArchitectureBlock]
    layer: Sequence[ArchitectureSublayer]
    n_layers: int
    above: Sequence[ArchitectureBlock]
    writes: str


_VIEW = ClientView("architecture")


def architecture_view(stacks: Sequence[ArchitectureStack], *, colors: Theme, key: str, title: str) -> None:
    """Draw one column per stack. Pointing at a block says what it is; a click lists its weights beside it.

    Nothing is sent back.

    Args:
        stacks: the encoder first; one or both.
        title: what is drawn, for screen readers.
    """
    data = {
        "colors": color_data(colors),
        "title": title,
        "stacks": [asdict(stack) | {"title": brief(stack.title)} for stack in stacks],
    }
    _VIEW.show(pack_frame(data, {}), key=key)
