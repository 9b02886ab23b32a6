"""The reader's position: the part of the model, the followed token and the stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

from transformer.loaded import LoadedModel
from transformer.model.trace import Stack
from transformer.run import Run
from viz.address import remembered
from viz.figures.labels import visible
from viz.pages.step_by_step.stages.stage import Stage
from viz.pages.step_by_step.stages.walk import first_row, stages_of
from viz.pages.step_by_step.stages.way import Way
from viz.session import magnification
from viz.widgets import HEAD, Draw, in_a_row, pick, pick_button

STAGE, SIDE, ROW, SOURCE_ROW = "stage", "side", "row", "source_row"
"""Query parameters: the stage, the stack whose layer is shown in detail, the token followed in the predicting
stack, and that in the encoder of a model with both."""
_MOVED, _SHOWN = "last move of the path", "step of the path"

STACK_LABELS: dict[Stack, str] = {"encoder": "Encoder", "decoder": "Decoder"}


def pick_way(loaded: LoadedModel, run: Run) -> Way:
    """Draw the pickers of the followed token and of the part shown in detail."""
    config = loaded.model.config
    writer: Stack = "decoder" if config.n_decoder_layers else "encoder"
    way = Way(loaded, run, writer, 0, 0, 0)
    if config.kind == "encoder-decoder":
        stack = pick_button(in_a_row(), "In detail", STACK_LABELS, "decoder", key=SIDE)
        way = replace(way, stack=stack)
    is_source = way.stack != way.writer
    position = _pick_token(way, way.writer, ROW, first_row(way), is_drawn=not is_source)
    way = replace(way, position=position)
    if config.kind == "encoder-decoder":
        way = replace(way, source=_pick_token(way, "encoder", SOURCE_ROW, 0, is_drawn=is_source))
    layer = HEAD.pick_layer(_list(100), way.n_layers(way.stack))
    head = HEAD.pick_head(_list(100), config.n_heads)
    return replace(way, layer=layer, head=head)


def _list(width: int) -> Draw:
    """Make a function that draws a list of this width, in pixels of usual type."""
    return st.container(width=round(width * magnification())).selectbox


def _pick_token(way: Way, stack: Stack, key: str, start: int, *, is_drawn: bool) -> int:
    """The followed row of a stack: from a list of its tokens, or else the one remembered."""
    tokens = way.tokens(stack)
    rows = range(start, len(tokens))
    default = default_row(way, stack, start)
    if not is_drawn:
        known = st.session_state.get(key, default)
        return known if known in rows else default
    return pick(
        _list(190),
        "Token",
        rows,
        key=key,
        index=default - start,
        format_func=lambda row: f"{row}: {visible(tokens[row])}",
        help=f"The token of the {stack} whose path is followed"
        + (", to the choice of the token that comes next." if stack == "decoder" else "."),
        persist_state="session",
    )


def default_row(way: Way, stack: Stack, start: int) -> int:
    """The token followed at first: a whole word at which something can be seen.

    For a masked language model it is the first mask. Otherwise it is the whole word that gives another whole
    word the largest weight, averaged over the heads of the last layer of its last attention.
    """
    steps = way.run.steps if way.writer == stack == "encoder" else ()
    if steps:
        return steps[0].position
    layer = f"{stack}.layers.{way.n_layers(stack) - 1}"
    crosses = f"{layer}.cross_attn.weights" in way.run.trace
    weights = way.record(f"{layer}.{'cross' if crosses else 'self'}_attn.weights", 0).mean(0)
    queries, keys = (whole_words(way, one) for one in (stack, "encoder" if crosses else stack))
    weights = np.where(queries[:, None] & keys, weights, 0)
    if not crosses:
        np.fill_diagonal(weights, 0)
    weights[:start] = 0
    best = int(weights.max(1).argmax())
    return max(best, start)


def whole_words(way: Way, stack: Stack) -> np.ndarray:
    """(T,), True for tokens that are words of their own: no special token, punctuation or part of a word."""
    tokens = way.tokens(stack)
    special = set(way.coder(stack).special_tokens.suppressed)
    starts = any(token.startswith(("▁", "Ġ")) for token in tokens)
    texts = [token.lstrip("▁Ġ") for token in tokens]
    begins = [not starts or token.startswith(("▁", "Ġ")) for token in tokens]
    ends = [*begins[1:], True]
    return np.array(
        [
            text.isalpha() and len(text) > 2 and begin and end and index not in special
            for text, begin, end, index in zip(texts, begins, ends, way.ids(stack), strict=True)
        ]
    )


def current_stage(stages: Sequence[Stage], way: Way) -> int:
    """The index of the current stage; for one of the other stack, the first of the layer shown in detail."""
    names = [stage.name for stage in stages]
    name = remembered(STAGE, names[0])
    if name in names:
        return names.index(name)
    layer = f"{way.stack}.layers."
    return next(i for i, stage in enumerate(stages) if stage.block.startswith(layer) and not stage.is_summary)


def last_move(name: str) -> tuple[str, int]:
    """The stage to which something other than the path itself has last moved, and how often that happened.

    Both stay as they are while the reader moves along the path, which is then not sent again.

    Args:
        name: the current stage.
    """
    if st.session_state.get(_SHOWN) != name:
        _, count = st.session_state.get(_MOVED, ("", 0))
        st.session_state[_MOVED] = name, count + 1
        st.session_state[_SHOWN] = name
    moved: tuple[str, int] = st.session_state[_MOVED]
    return moved


def arrive() -> None:
    """Make the path begin at the current stage: a run of the whole page may draw it for the first time."""
    st.session_state.pop(_SHOWN, None)


def stopped_at(name: str) -> None:
    """Follow the path to the stage at which the reader has stopped. To be called from a callback."""
    st.session_state[STAGE] = st.session_state[_SHOWN] = name


def jump(way: Way, path: str) -> None:
    """Go to the first stage of a block of the drawing, switching stacks if needed. For callbacks."""
    stack = path.split(".")[0]
    if stack in STACK_LABELS and ".layers." in path and stack != way.stack:
        other: Stack = "decoder" if stack == "decoder" else "encoder"
        st.session_state[SIDE] = other
        way = replace(way, stack=other, layer=min(way.layer, way.n_layers(other) - 1))
    found = [stage for stage in stages_of(way) if stage.block == path]
    if found:
        st.session_state[STAGE] = min(found, key=lambda stage: stage.is_summary).name
