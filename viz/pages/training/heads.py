"""All heads of a model at one moment of its training, and one of them large."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from transformer.analysis.attention_maps import (
    ATTENTION_LABELS,
    Attention,
    attention_maps,
    attention_record,
    attentions,
)
from transformer.model.attention import scaled_dot_product_attention
from transformer.run import Run
from transformer.text.coder import Unit
from viz.pages.shared import attention_views
from viz.pages.shared.attention_words import what
from viz.pages.shared.explain import computed_by
from viz.widgets import WATCHED_HEAD, follow_default, in_a_row, pick_attention, pick_button


def heads_section(
    own: Run,
    given: Run | None,
    targets: Mapping[str, str],
    *,
    unit: Unit,
    look_for: Callable[[Attention], str],
    note: str,
    key: str,
) -> None:
    """Draw all heads of an attention, and beside them the chosen one with its tokens.

    Args:
        own: the run with the target that the model of that moment writes itself.
        given: the run with another target, if there is one.
        targets: the names of both targets: "given" and "own".
        look_for: says what there is to be found in an attention, in Markdown of ours.
        note: what the choice between the targets means.
        key: what the keys of the picker and the views begin with.
    """
    run = own
    with st.container(horizontal=True, gap="medium"):
        attention = pick_attention(attentions(own.trace))
        if given is not None:
            label = "The target that the decoder reads"
            target = pick_button(in_a_row(), label, targets, key=f"{key}_target", help=note)
            run = given if target == "given" else own
    maps = attention_maps(run.trace, attention, "weights")
    left, right = st.columns([2, 3], gap="medium")
    follow_default(WATCHED_HEAD.layer_key, maps.n_layers - 1)
    with left:
        layer, head = WATCHED_HEAD.pick(maps.n_layers, maps.n_heads)
        attention_views.grid(
            maps,
            layer,
            head,
            WATCHED_HEAD.choose,
            key=f"{key}_grid",
            title="Attention of every layer and head at this moment of the training",
        )
        st.markdown(f"**Look for** {look_for(attention)}")
    with right:
        st.markdown(f"**{ATTENTION_LABELS[attention]}, layer {layer}, head {head}**")
        attention_views.matrix(maps, layer, head, key=f"{key}_head", title=f"Layer {layer}, head {head}")
        st.markdown(what(attention, unit, by_words=False))
        computed_by(scaled_dot_product_attention, attention_record(run.trace, attention, layer).path)
