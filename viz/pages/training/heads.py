"""All heads of a model at one step of its training, and one of them enlarged."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from transformer.analysis.attention_maps import Attention, attention_record
from transformer.loaded import LoadedModel
from transformer.model.attention import scaled_dot_product_attention
from transformer.run import Run
from transformer.text.coder import Unit
from viz.pages.shared.attention_view import viewer
from viz.pages.shared.attention_words import what
from viz.pages.shared.explain import computed_by, prose
from viz.viewer.viewer_run import view_run
from viz.widgets import pick_button


def heads_section(
    loaded: LoadedModel,
    own: Run,
    given: Run | None,
    targets: Mapping[str, str],
    *,
    unit: Unit,
    look_for: Callable[[Attention], str],
    note: str,
    key: str,
) -> None:
    """Draw all heads of a model, and next to them the chosen one with its tokens.

    Args:
        loaded: the model at that step.
        own: its run with the target that it generates.
        given: its run with another target, if there is one.
        targets: labels of both targets, by "given" and "own".
        unit: what a token of the model is.
        look_for: returns what to look for in an attention, as our own Markdown.
        note: what the choice between the targets means.
        key: prefix of the keys of the picker and the viewer.
    """
    run = own
    if given is not None:
        label = "The target that the decoder reads"
        target = pick_button(st.segmented_control, label, targets, key=f"{key}_target", help=note)
        run = given if target == "given" else own
    _viewer(loaded, run, unit, look_for, key)


@st.fragment
def _viewer(
    loaded: LoadedModel, run: Run, unit: Unit, look_for: Callable[[Attention], str], key: str
) -> None:
    viewed = view_run(run, loaded)
    choice = viewer(viewed, key=f"{key}_viewer", prefix="watched_", views=["head", "map"])
    computed_by(
        scaled_dot_product_attention, attention_record(run.trace, choice.attention, choice.layer).path
    )
    prose(what(choice, viewed, unit))
    prose(f"**Look for** {look_for(choice.attention)}")
