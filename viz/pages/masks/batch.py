"""The sentences of the Masks page as one batch, and the batch as the model reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from transformer.analysis.attention_maps import Attention, attention_record, attentions, stacks
from transformer.analysis.masks import padding_of
from transformer.model.config import TransformerConfig
from transformer.model.masks import padding_mask
from transformer.model.trace import Stack, Trace
from transformer.tracing import FILLED
from viz.pages.shared.explain import computed_by
from viz.pages.shared.figure import show
from viz.pages.shared.sentence import run_or_warn
from viz.run_figures.masks import batch_figure
from viz.session import batch_of, current_choice, current_model, current_theme
from viz.text_session import IDS, boxes_of, typed_batch
from viz.theme import Theme
from viz.widgets import in_a_row, pick_attention, pick_button, pick_query

BOXES = {
    "encoder-decoder": "Sentences, one per line",
    "decoder-only": "Prompts, one per line",
    "encoder-only": "Sentences, one per line",
}
IDS_BOX = "Token ids, one sentence per line"
NAMES: dict[Stack, str] = {"encoder": "source", "decoder": "target"}
FIRST_QUERY = 2
"""The query shown initially: it has keys before and after it."""
QUERY_WIDTH = 260
"""Width of the list of queries in pixels: its label on one line."""


@dataclass(frozen=True)
class BatchRun:
    """The typed sentences as one batch in the chosen model, for all sections of the page.

    Attributes:
        config: the model's configuration.
        trace: everything that the model computed.
        theme: the colours of the user's browser.
    """

    config: TransformerConfig
    trace: Trace
    theme: Theme

    @property
    def has_padding(self) -> bool:
        """True if the model has a padding token."""
        return self.config.pad_id >= 0

    def windows(self, attention: Attention) -> Sequence[int]:
        """The sliding window of each layer, 0 for none; empty if the attention has no windows at all."""
        windows = self.config.attention_windows
        return () if attention == "cross" else self.config.of_stack(windows, attention)

    def first_layer(self, attention: Attention) -> int:
        """The layer shown initially: the first with a window, if there is one."""
        return next((layer for layer, window in enumerate(self.windows(attention)) if window), 0)


def batch_box() -> BatchRun | None:
    """Draw the box and run its lines as one batch; None if that fails, and the page then says why."""
    loaded = current_model()
    boxes = boxes_of(loaded)
    st.text_area(
        IDS_BOX if boxes is IDS else BOXES[loaded.model.config.kind],
        key=boxes.batch,
        persist_state="session",
        height=110,
        placeholder="Type two or more sentences of different lengths, one per line",
    )
    sentences = typed_batch(loaded)
    trace = run_or_warn(lambda: batch_of(current_choice(), sentences), "Running the batch …")
    if trace is None:
        return None
    if len(sentences) == 1:
        st.info("A single sentence needs no padding. Type a second one, shorter or longer, on a new line.")
    return BatchRun(loaded.model.config, trace, current_theme())


def pick_row(trace: Trace) -> tuple[Attention, int, int]:
    """Draw the pickers of an attention, a sentence of the batch and a query in it."""
    n_sentences = max(len(trace.src_tokens), len(trace.tgt_tokens))
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        attention = pick_attention(attentions(trace), preferred="decoder", key="mask_attention")
        numbers = {number: str(number) for number in range(1, n_sentences + 1)}
        sentence = pick_button(in_a_row(), "Sentence", numbers, key="sentence") - 1
        tokens = attention_record(trace, attention, 0).query_tokens[sentence]
        query = pick_query(
            st.container(width=QUERY_WIDTH).selectbox, tokens, min(FIRST_QUERY, len(tokens) - 1)
        )
    return attention, sentence, query


def batch_section(batch: BatchRun) -> None:
    """Draw the batch as each stack reads it."""
    st.header("The batch")
    trace = batch.trace
    present = stacks(trace)
    columns = max(len(trace.tokens(stack)[0]) for stack in present)
    for stack in present:
        name = NAMES[stack]
        st.markdown(f"**The {name}**, read by the {stack}" if len(present) > 1 else "What the model reads")
        padding = padding_of(trace, stack)
        with st.container(key=f"wide_batch_{name}"):
            show(
                batch_figure(trace, stack, theme=batch.theme, columns=columns),
                name=f"batch-{name}",
                caption=_caption(padding, has_padding=batch.has_padding),
                key=f"batch_{name}",
            )
    if not batch.has_padding and len(trace.tgt_tokens) > 1:
        st.markdown(
            "This model has no padding token, so no mask closes the filler after the shorter sentences, "
            f"shown as {FILLED}. None is needed: it follows their words, and they look back only."
        )
    if not batch.config.memory_padding_mask:
        st.markdown(
            "In this model only the encoder's mask closes the padding. Its cross-attention sees the padding, "
            "as in training, so the target of a short sentence depends on the longest sentence of its batch."
        )
    computed_by(padding_mask)


def _caption(padding: NDArray[np.bool_], *, has_padding: bool) -> str:
    if not has_padding:
        return f"One row per sentence: {padding.size} positions in all."
    return (
        f"One row per sentence; padding is grey and hatched: {int(padding.sum())} of the {padding.size} "
        "positions."
    )
