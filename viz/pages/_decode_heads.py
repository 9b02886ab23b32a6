"""Where every head looked when the chosen token was weighed: in the source, and in the target so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import streamlit as st

from transformer.decoding.beam_tree import BeamNode
from transformer.model.attention import scaled_dot_product_attention
from transformer.model_input import reads_as
from transformer.run import Run
from viz.address import remembered
from viz.arrays import ATTENTION_LABELS, AttentionMaps, attention_maps, attention_record
from viz.components.attention_matrix import MatrixCell, attention_matrix
from viz.components.head_rows import HeadBlock, HeadRow, head_rows
from viz.figures.labels import visible
from viz.pages._explain import computed_by
from viz.session import (
    current_choice,
    current_model,
    current_theme,
    set_choice,
    token_unit,
)
from viz.text_session import boxes_of, current_texts, use_sentence

Block = Literal["cross", "decoder"]
EXPLORE = "viz/pages/explore.py"


def heads_section(run: Run, node: BeamNode) -> None:
    """Draw where each head looks from the position that the node's token was chosen at.

    Args:
        run: of a target that the node is part of.
        node: the chosen one; the decoder's last input is then the token before it.
    """
    st.header("Where the heads look")
    n_given = len(run.target_ids) - len(run.target.ids)  # the decoder's first tokens
    row = n_given + node.position - 2
    has_source = run.encoder_input is not None
    blocks: tuple[Block, ...] = ("cross", "decoder") if has_source else ("decoder",)
    seen = {block: _until(attention_maps(run.trace, block, "weights"), block, row) for block in blocks}
    looks_from = visible(run.trace.tgt_tokens[0][row])
    where = "into the source and into the target so far" if has_source else "at the text so far"
    st.text(
        f"Step {node.position - 1}: the decoder's newest input is “{looks_from}”, position {row}. From there "
        f"each head looks {where}, to find the next {token_unit()}."
    )
    chosen = _chosen(blocks, seen["decoder"].values.shape[:2])

    def choose(selection: HeadRow) -> None:
        set_choice("beam_head", f"{blocks[selection.block]}.{selection.layer}.{selection.head}")

    head_rows(
        [
            HeadBlock(
                _name(block, maps, has_source=has_source),
                maps.values[:, :, row],
                list(map(visible, maps.key_tokens)),
            )
            for block, maps in seen.items()
        ],
        colors=current_theme(),
        key="beam_heads",
        title="Attention of every head at this step",
        selected=chosen,
        on_select=choose,
    )
    if chosen is not None:
        block = blocks[chosen.block]
        _large(run, block, seen[block], chosen, row)


def _until(maps: AttentionMaps, block: Block, row: int) -> AttentionMaps:
    """The maps as they were when position `row` was the newest: what comes later was not there yet."""
    keys = slice(None) if block == "cross" else slice(row + 1)
    return AttentionMaps(
        values=maps.values[:, :, : row + 1, keys],
        allowed=maps.allowed[: row + 1, keys],
        query_tokens=maps.query_tokens[: row + 1],
        key_tokens=maps.key_tokens[keys],
    )


def _name(block: Block, maps: AttentionMaps, *, has_source: bool) -> str:
    so_far = "in the target so far" if has_source else "in the text so far"
    where = "in the source" if block == "cross" else so_far
    count = len(maps.key_tokens)
    return f"{ATTENTION_LABELS[block]}: {where}, {count} token{'s' if count > 1 else ''}"


def _chosen(blocks: Sequence[str], shape: tuple[int, ...]) -> HeadRow | None:
    """The head that is shown large, as the address has it."""
    block, _, place = remembered("beam_head", "", current_choice()).partition(".")
    layer, _, head = place.partition(".")
    n_layers, n_heads = shape
    if block not in blocks or not (layer.isdecimal() and head.isdecimal() and len(layer + head) < 9):
        return None
    found = HeadRow(blocks.index(block), int(layer), int(head))
    return found if found.layer < n_layers and found.head < n_heads else None


def _large(run: Run, block: Block, maps: AttentionMaps, chosen: HeadRow, row: int) -> None:
    """One head over all steps so far; this step's row is the last."""
    title = f"{ATTENTION_LABELS[block]}, layer {chosen.layer}, head {chosen.head}"
    values = maps.values[chosen.layer, chosen.head]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{title}**, at this step (the last row) and at the steps before it")
        _link_to_explore(run, block, chosen)
    closed = np.where(maps.allowed, 0, 1).astype(np.uint8)
    attention_matrix(
        values,
        query_tokens=list(map(visible, maps.query_tokens)),
        key_tokens=list(map(visible, maps.key_tokens)),
        colors=current_theme(),
        key="beam_head_matrix",
        closed=closed,
        reasons=["masked: comes after the query"],
        title=title,
        value_range=(0.0, 1.0),
        selected=MatrixCell(row, int(values[row].argmax())),
    )
    computed_by(scaled_dot_product_attention, attention_record(run.trace, block, chosen.layer).path)


def _link_to_explore(run: Run, block: Block, chosen: HeadRow) -> None:
    """Offer the same head on Explore, for the whole target; not where its text would be cut otherwise."""
    loaded, text = current_model(), current_texts()[0]
    target = loaded.target.decode(run.target.ids)
    if not reads_as(loaded, run.source, text, target, run.target.ids):
        st.caption("On Explore, this target would be typed as text, which makes other tokens of it.")
        return

    def prepare() -> None:
        boxes = boxes_of(loaded)
        use_sentence(boxes, st.session_state[boxes.text], target)
        set_choice("attention", block)
        set_choice("layer", chosen.layer)
        set_choice("head", chosen.head)

    if st.button("Open this head on Explore", key="beam_explore", on_click=prepare):
        st.switch_page(EXPLORE, query_params={})  # without them it would refuse to drop those of widgets
