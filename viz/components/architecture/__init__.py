"""A model drawn as in the paper (figure 1), in the browser; a click on a block lists its weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from viz.components.shared.client_view import JSON, ClientView
from viz.components.shared.frame import brief, color_data, pack_frame
from viz.theme import Theme

BlockKind = Literal["embedding", "attention", "feed-forward", "norm", "generator"]


@dataclass(frozen=True)
class ArchitectureBlock:
    """One box of the drawing; all text is plain, with invisible characters already made visible.

    Attributes:
        kind: its function, which determines the colour.
        label: its name.
        detail: its sizes, in brief.
        about: one or two sentences on what it does.
        path: its module's path; in the first layer if there are several.
        parameters: its parameter count; 0 if it has none, or shares another block's.
        weights: names and shapes.
        reads: True if it reads the encoder's output.
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
    """A sublayer, which adds to the residual stream.

    Attributes:
        inside: blocks that the stream bypasses, from the bottom up: the sublayer, with its norm below it in
            a pre-norm layer.
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
        layer: the sublayers of each layer.
        n_layers: the number of layers.
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


def architecture_view(
    stacks: Sequence[ArchitectureStack],
    *,
    colors: Theme,
    key: str,
    title: str,
    here: str = "",
    on_jump: Callable[[str], None] | None = None,
) -> None:
    """Draw one column per stack. Pointing at a block says what it is.

    A click lists a block's weights next to the drawing, or with `on_jump` jumps to it instead.

    Args:
        stacks: one or both, the encoder first.
        title: what is drawn, for screen readers.
        here: the path of the block marked as the current place, or "".
        on_jump: called with the path of a clicked block.
    """
    data = {
        "colors": color_data(colors),
        "title": title,
        "stacks": [asdict(stack) | {"title": brief(stack.title)} for stack in stacks],
        "here": here,
        "jumps": on_jump is not None,
    }
    paths = {block.path for stack in stacks for block in blocks_of(stack)}

    def path(value: JSON) -> str:
        if value not in paths:
            raise ValueError(f"not the path of a block: {value!r}")
        return str(value)

    _VIEW.mount(pack_frame(data, {}), key=key, parse=path, on_select=on_jump)


def blocks_of(stack: ArchitectureStack) -> Iterator[ArchitectureBlock]:
    """Yield all blocks of a stack, from the bottom up."""
    yield from stack.below
    for sublayer in stack.layer:
        yield from (*sublayer.inside, *sublayer.after)
    yield from stack.above
