"""The calls of `bertviz.head_view` and `bertviz.model_view`: arguments by position, and a page returned."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from html import escape
from operator import index
from typing import Any, Literal, ParamSpec, Protocol, SupportsIndex, TypeGuard, overload

from IPython.display import HTML

from headlight.foreign.tokens import text_of
from headlight.widget import AttentionWidget
from transformer.analysis.attention_maps import STACKS
from viz.viewer.choice import Choice
from viz.viewer.page import Heading, page
from viz.viewer.viewer_run import ViewerRun

P = ParamSpec("P")

_ATTENTIONS = (
    "encoder_attention",
    "decoder_attention",
    "cross_attention",
    "encoder_tokens",
    "decoder_tokens",
)
_HEAD_VIEW = ("prettify_tokens", "layer", "heads", *_ATTENTIONS, "include_layers", "html_action")
_MODEL_VIEW = (
    "prettify_tokens",
    "display_mode",
    *_ATTENTIONS,
    "include_layers",
    "include_heads",
    "html_action",
)
"""What follows attention, tokens and sentence_b_start by position."""
_BY_POSITION = 3
_HEIGHT = 640
"""Height of a page in a notebook, in pixels."""


class Page(HTML):
    """A page with the viewer, in `data`; in a notebook, it has a frame of its own."""

    def _repr_html_(self) -> str:
        source = escape(str(self.data))
        return f'<iframe srcdoc="{source}" style="width:100%;height:{_HEIGHT}px;border:0"></iframe>'


class Show(Protocol[P]):
    """A function that also takes BertViz's arguments by position."""

    @overload
    def __call__(  # type: ignore[overload-overlap]  # P has html_action, too
        self, *given: Any, html_action: Literal["return"], **options: Any
    ) -> HTML: ...
    @overload
    def __call__(self, *given: P.args, **options: P.kwargs) -> AttentionWidget: ...


def takes_bertviz_calls(show: Callable[P, AttentionWidget | HTML]) -> Show[P]:
    """Let a function take, by position, what BertViz's views take after sentence_b_start."""

    @wraps(show)
    def called(*given: Any, **options: Any) -> Any:
        named = _named(given[_BY_POSITION:])
        if twice := named.keys() & options.keys():
            raise TypeError(f"show_attention got {min(twice)} twice: by position and by name.")
        return show(*given[:_BY_POSITION], **named, **options)

    return called


def is_position(value: object) -> TypeGuard[SupportsIndex]:
    """True for a whole number, as an int or a tensor, where tokens could be."""
    try:
        index(value)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def returned_page(run: ViewerRun, choice: Choice) -> Page:
    """A page that opens from disk without a network; many weights are rounded, but for the chosen ones."""
    source, target = (text_of(run.sides[side].tokens) if side in run.sides else "" for side in STACKS)
    made = page(run, choice, Heading(source or target, target, model=""))
    # In ASCII: `open(path, "w")` takes the encoding of the system.
    return Page(made.decode().encode("ascii", "xmlcharrefreplace").decode())  # type: ignore[no-untyped-call]


def _named(given: tuple[Any, ...]) -> dict[str, Any]:
    """Name arguments by their position: only model_view has a text, its display_mode, in second place."""
    names = _MODEL_VIEW if len(given) > 1 and isinstance(given[1], str) else _HEAD_VIEW
    if len(given) > len(names):
        raise TypeError(f"show_attention takes at most {_BY_POSITION + len(names)} arguments by position.")
    return dict(zip(names, given, strict=False))
