"""Where every head looked when the chosen token was weighed: in the source, and in the target so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import streamlit as st

from transformer.analysis.attention_maps import (
    ATTENTION_LABELS,
    AttentionMaps,
    attention_maps,
    attention_record,
)
from transformer.decoding.beam_tree import BeamNode
from transformer.model.attention import scaled_dot_product_attention
from transformer.model_input import reads_as
from transformer.run import Run
from viz.address import remembered, whole_numbers
from viz.figures.labels import visible
from viz.pages.shared import attention_views
from viz.pages.shared.explain import computed_by
from viz.session import current_choice, current_model, token_unit
from viz.text_session import boxes_of, current_texts, use_sentence
from viz.widgets import HEAD, choose_attention, set_choice

Block = Literal["cross", "decoder"]
Head = tuple[int, int, int]
"""The number of a block, a layer and a head."""
EXPLORE = "viz/pages/explore/page.py"
_HEAD = "beam_head"


def heads_section(run: Run, node: BeamNode) -> None:
    """Draw where each head looks from the position that the node's token was chosen at.

    Args:
        run: of a target that the node is part of.
        node: the chosen one; the decoder's last input is then the token before it.
    """
    st.header("Attention at this step")
    n_given = len(run.target_ids) - len(run.target.ids)  # the decoder's first tokens
    row = n_given + node.position - 2
    has_source = run.encoder_input is not None
    blocks: tuple[Block, ...] = ("cross", "decoder") if has_source else ("decoder",)
    seen = {block: _seen(run, block, row) for block in blocks}
    looks_from = visible(run.trace.tgt_tokens[0][row])
    where = "into the source and into the target so far" if has_source else "at the text so far"
    st.text(
        f"Step {node.position - 1}: the decoder's newest input is “{looks_from}”, position {row}. From there "
        f"each head looks {where}, to find the next {token_unit()}."
    )
    decoder = seen["decoder"]
    chosen = _chosen(blocks, decoder.n_layers, decoder.n_heads)

    def choose(block: int, layer: int, head: int) -> None:
        set_choice(_HEAD, f"{blocks[block]}.{layer}.{head}")

    attention_views.rows(
        {_name(block, maps, has_source=has_source): maps for block, maps in seen.items()},
        row,
        chosen,
        choose,
        key="beam_heads",
        title="Attention of every head at this step",
    )
    if chosen is None:
        path = f"{attention_record(run.trace, blocks[0], 0).path}, …"
    else:
        block, layer, head = blocks[chosen[0]], *chosen[1:]
        path = attention_record(run.trace, block, layer).path
        _one_head(run, block, seen[block], layer, head, row)
    computed_by(scaled_dot_product_attention, path)


def _seen(run: Run, block: Block, row: int) -> AttentionMaps:
    """The maps as they were when position `row` was the newest: what comes later was not there yet."""
    maps = attention_maps(run.trace, block, "weights")
    return maps.until(row, len(maps.key_tokens) if block == "cross" else row + 1)


def _name(block: Block, maps: AttentionMaps, *, has_source: bool) -> str:
    so_far = "in the target so far" if has_source else "in the text so far"
    where = "in the source" if block == "cross" else so_far
    count = len(maps.key_tokens)
    return f"{ATTENTION_LABELS[block]}: {where}, {count} token{'s' if count > 1 else ''}"


def _chosen(blocks: Sequence[str], n_layers: int, n_heads: int) -> Head | None:
    """The head that is shown large, as the address has it."""
    block, _, place = remembered(_HEAD, "", current_choice()).partition(".")
    match whole_numbers(place, "."):
        case [layer, head] if block in blocks and layer < n_layers and head < n_heads:
            return list(blocks).index(block), layer, head
    return None


def _one_head(run: Run, block: Block, maps: AttentionMaps, layer: int, head: int, row: int) -> None:
    """One head large, over all steps so far; this step's row is the last."""
    title = f"{ATTENTION_LABELS[block]}, layer {layer}, head {head}"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{title}**, at this step (the last row) and at the steps before it")
        _link_to_explore(run, block, layer, head)
    strongest = int(maps.values[layer, head, row].argmax())
    attention_views.matrix(maps, layer, head, key="beam_head_matrix", title=title, cell=(row, strongest))


def _link_to_explore(run: Run, block: Block, layer: int, head: int) -> None:
    """Offer the same head on Explore, for the whole target; not where its text would be cut otherwise."""
    loaded, text = current_model(), current_texts()[0]
    target = loaded.target.decode(run.target.ids)
    if not reads_as(loaded, run.source, text, target, run.target.ids):
        st.caption("On Explore, this target would be typed as text, which makes other tokens of it.")
        return

    def prepare() -> None:
        boxes = boxes_of(loaded)
        use_sentence(boxes, st.session_state[boxes.text], target)
        choose_attention(block)
        HEAD.choose(layer, head)

    if st.button("Open this head on Explore", key="beam_explore", on_click=prepare):
        st.switch_page(EXPLORE, query_params={})  # without them it would refuse to drop those of widgets
