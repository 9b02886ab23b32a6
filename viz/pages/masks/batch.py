"""The sentences of the Masks page, as one batch, and the batch as the model gets it."""

from __future__ import annotations

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from transformer.analysis.attention_maps import stacks
from transformer.analysis.masks import padding_of
from transformer.model.masks import padding_mask
from transformer.model.trace import Stack, Trace
from transformer.run import FILLED
from viz.pages.shared.explain import computed_by
from viz.pages.shared.figure import show
from viz.pages.shared.sentence import run_or_warn
from viz.run_figures.masks import batch_figure
from viz.session import batch_of, current_choice, current_model, current_theme
from viz.text_session import NUMBERS, boxes_of, current_batch

BOXES = {
    "encoder-decoder": "Sentences, one per line",
    "decoder-only": "Prompts, one per line",
    "encoder-only": "Sentences, one per line",
}
NUMBERS_BOX = "Ids of tokens, one sentence per line"
SIDES: dict[Stack, str] = {"encoder": "source", "decoder": "target"}


def batch_box() -> Trace | None:
    """Draw the box, run its lines as one batch, return the trace; None, with a sentence that says why."""
    loaded = current_model()
    boxes = boxes_of(loaded)
    st.text_area(
        NUMBERS_BOX if boxes is NUMBERS else BOXES[loaded.model.config.kind],
        key=boxes.batch,
        persist_state="session",
        height=110,
        placeholder="Type two or more sentences of different lengths, one per line",
    )
    sentences = current_batch()
    trace = run_or_warn(lambda: batch_of(current_choice(), sentences), "Running the batch …")
    if trace is not None and len(sentences) == 1:
        st.info(
            "A single sentence needs no padding. Type a second one, shorter or longer, in a line of its own."
        )
    return trace


def batch_section(trace: Trace) -> None:
    """Draw the batch on both sides of the model."""
    st.header("The batch")
    sides = stacks(trace)
    has_padding = current_model().model.config.pad_id >= 0
    columns = max(len(trace.tokens(stack)[0]) for stack in sides)
    for stack in sides:
        name = SIDES[stack]
        st.markdown(
            f"**The {name} side**, what the {stack} reads" if len(sides) > 1 else "What the model reads"
        )
        padding = padding_of(trace, stack)
        show(
            batch_figure(trace, stack, theme=current_theme(), columns=columns),
            name=f"batch-{name}",
            caption=_caption(padding, has_padding=has_padding),
            key=f"batch_{name}",
        )
    if not has_padding and len(trace.tgt_tokens) > 1:
        st.markdown(
            "This model has no padding token, so no mask closes what fills up the shorter sentences, here "
            f"called {FILLED}. Nothing needs to: it comes after their words, and they look back only."
        )
    if not current_model().model.config.memory_padding_mask:
        st.markdown(
            "Only the encoder's mask closes the padding in this model: its cross-attention sees it, as in "
            "training, so what is written for a short sentence depends on the longest of its batch."
        )
    computed_by(padding_mask)


def _caption(padding: NDArray[np.bool_], *, has_padding: bool) -> str:
    if not has_padding:
        return f"A row is a sentence: {padding.size} positions in all."
    return (
        f"A row is a sentence; grey and hatched is padding: {int(padding.sum())} of the {padding.size} "
        "positions."
    )
