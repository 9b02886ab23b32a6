"""Where every head looked when the chosen token was weighed: in the source, and in the target so far."""

from __future__ import annotations

import numpy as np
import streamlit as st

from transformer.analysis.attention_maps import Attention, attention_record
from transformer.decoding.beam_tree import BeamNode
from transformer.model.attention import scaled_dot_product_attention
from transformer.model_input import reads_as
from transformer.run import Run
from viz.figures.labels import visible
from viz.pages.shared.attention_view import keep, viewer
from viz.pages.shared.explain import computed_by
from viz.session import current_model, token_unit
from viz.text_session import boxes_of, current_texts, use_sentence
from viz.viewer.choice import Choice
from viz.viewer.viewer_run import ViewerRun, truncated, view_run

EXPLORE = "viz/pages/explore/page.py"
PREFIX = "beam_"
"""Of the names of what is chosen here: Explore's choice stays what it is."""


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
    where = "into the source and into the target so far" if has_source else "at the text so far"
    st.text(
        f"Step {node.position - 1}: the decoder's newest input is “{visible(run.trace.tgt_tokens[0][row])}”, "
        f"position {row}. From there each head looks {where}, to find the next {token_unit()}."
    )
    _viewer(run, row)


@st.fragment
def _viewer(run: Run, row: int) -> None:
    held = seen_at(run, row)
    first = _first_choice(held, row)
    choice = viewer(held, key="beam_viewer", prefix=PREFIX, first=first, subject=(run.target_ids, row))
    _link_to_explore(run, choice)
    path = attention_record(run.trace, choice.attention, choice.layer).path
    computed_by(scaled_dot_product_attention, path)


def seen_at(run: Run, row: int) -> ViewerRun:
    """The run as it was when position `row` was the newest: what comes later was not there yet."""
    held = view_run(run, current_model())
    n_keys: dict[Attention, int] = {"decoder": row + 1}
    if "cross" in held.attentions:
        n_keys["cross"] = held.attentions["cross"].allowed.shape[1]
    return truncated(held, row, n_keys)


def _first_choice(held: ViewerRun, row: int) -> Choice:
    """All heads from the newest token; of the last layer's first head the key that it looks at most."""
    name: Attention = "cross" if "cross" in held.attentions else "decoder"
    family = held.attentions[name]
    key = int(np.argmax(family.weights(family.n_layers - 1)[0, row]))
    return Choice(name, family.n_layers - 1, view="token", cell=(row, key))


def _link_to_explore(run: Run, choice: Choice) -> None:
    """Offer the same head on Explore, for the whole target; not where its text would be cut otherwise."""
    loaded, text = current_model(), current_texts()[0]
    target = loaded.target.decode(run.target.ids)
    if not reads_as(loaded, run.source, text, target, run.target.ids):
        st.caption("On Explore, this target would be typed as text, which makes other tokens of it.")
        return

    def prepare() -> None:
        boxes = boxes_of(loaded)
        use_sentence(boxes, st.session_state[boxes.text], target)
        keep(choice)

    if st.button("Open this head on Explore", key="beam_explore", on_click=prepare):
        st.switch_page(EXPLORE, query_params={})  # without them it would refuse to drop those of widgets
