"""The masks of one sentence of the batch."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from transformer.analysis.architecture import window_notes
from transformer.analysis.attention_maps import Attention, attention_record, attentions
from transformer.analysis.masks import Mask, masks_of
from transformer.model.masks import causal_mask, padding_mask
from transformer.model.trace import AttentionRecord
from viz.pages.masks.batch import QUERY_WIDTH, BatchRun, pick_row
from viz.pages.shared.explain import explain
from viz.pages.shared.figure import show
from viz.run_figures.masks import mask_figure
from viz.widgets import HEAD

MASKS: dict[Mask, str] = {
    "padding": "Padding",
    "causal": "Causal",
    "window": "Window",
    "combined": "Combined",
}

SHARED = "All heads and layers share the same masks."
WITH_WINDOW = r" \wedge \text{window}"


@st.fragment
def mask_section(batch: BatchRun) -> None:
    """Draw the masks of the chosen attention and sentence; a choice redraws only this section."""
    st.header("The masks")
    trace = batch.trace
    attention, sentence, query = pick_row(trace)
    windows, layer = batch.windows(attention), 0
    if windows:
        draw = st.container(width=QUERY_WIDTH).selectbox
        layer = HEAD.pick_layer(draw, len(windows), batch.first_layer(attention))
    record = attention_record(trace, attention, layer)
    masks = masks_of(trace, attention, sentence, layer)
    if not windows:
        del masks["window"]
    free = int(record.mask[sentence, 0].sum())
    explain(
        what=_what(
            attention,
            has_two_stacks=len(attentions(trace)) > 1,
            has_padding=batch.has_padding,
            windows=windows,
        ),
        formula=_formula(record, sentence, free, has_window=bool(windows)),
        look="the grey cells: point at one to see what closes it. A row is a query and shows what its "
        "token may look at; the framed row is the chosen query.",
        computed=causal_mask if attention == "decoder" else padding_mask,
        path=f"{record.path}.mask",
    )
    columns = st.container(key="masks").columns(len(masks), gap="medium")
    for column, (mask, closed) in zip(columns, masks.items(), strict=True):
        with column:
            n_closed = int(sum(where.sum() for where in closed.values()))
            st.markdown(f"**{MASKS[mask]}**: {_count(n_closed, record.mask[sentence].numel())}")
            show(
                mask_figure(trace, attention, mask, sentence, layer, theme=batch.theme, marked=query),
                name=f"{MASKS[mask]}-mask-{record.path}-sentence-{sentence + 1}",
                caption="Blue: open. Grey and hatched: closed.",
                key=f"mask_{MASKS[mask]}",
            )


def _what(attention: Attention, *, has_two_stacks: bool, has_padding: bool, windows: Sequence[int]) -> str:
    decoder = "The decoder's input" if has_two_stacks else "A token"
    rule, padding = {
        "encoder": (
            "The encoder may look forwards and backwards",
            "; padding is closed" if any(windows) else ", so only padding is closed",
        ),
        "decoder": (f"{decoder} may look at itself and what came before", "; padding is closed too"),
        "cross": (
            "The decoder may look at every token of the source, which is complete before it starts to write",
            "; only the source's padding is closed",
        ),
    }[attention]
    shared = " ".join(["All heads share the same masks.", *window_notes(windows)])
    return (
        f"{rule}{padding if has_padding else ''}. {shared if windows else SHARED} Rows of "
        f"{'padding' if has_padding else 'filler'} are computed too, but their output is never used."
    )


def _formula(record: AttentionRecord, sentence: int, free: int, *, has_window: bool) -> str:
    n_queries, n_keys = record.mask.shape[-2:]
    return (
        r"\begin{gathered} \text{combined} = \text{padding} \wedge \text{causal}"
        rf"{WITH_WINDOW if has_window else ''} \\ "
        rf"{free} \text{{ of }} {n_queries} \times {n_keys} = {n_queries * n_keys} "
        rf"\text{{ cells are open in sentence }} {sentence + 1} \end{{gathered}}"
    )


def _count(n_closed: int, n_cells: int) -> str:
    return f"{n_closed} of {n_cells} closed" if n_closed else "nothing is closed"
