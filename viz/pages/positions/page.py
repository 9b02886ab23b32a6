"""Positions: how the encoding of a place in the sentence is made, and how the chosen model knows places."""

import streamlit as st

from viz.pages.positions.relative import bias_section
from viz.pages.positions.rotary import rotary_section
from viz.pages.positions.sinusoidal import encoding_section
from viz.pages.positions.sizes import sizes_section
from viz.pages.shared.explain import prose
from viz.pages.shared.sentence import sentence_box
from viz.session import current_model

KINDS = {
    "sinusoidal": "",
    "learned": " The chosen model has learned its vectors, one per position, and has no use for the formula.",
    "relative": " The chosen model adds nothing to its embeddings: it adds a learned number to each score of "
    "self-attention, by how far the key is from the query.",
    "rotary": " The chosen model adds nothing to its embeddings: it turns the queries and keys of "
    "self-attention by angles in proportion to their positions.",
    "none": " The chosen model does nothing of the kind: its attention is told no positions, and only a "
    "causal mask, where there is one, lets it tell earlier from later.",
}
"""By `TransformerConfig.positions`, each following what the paper does."""

kind = current_model().model.config.positions
st.title("Positions")
prose(
    "Attention by itself sees a bag of tokens: shuffle them, and it would not notice. So a vector that "
    "depends on the place alone is added to each token's embedding. In the paper it is made of sines and "
    f"cosines of different wavelengths (section 3.5).{KINDS[kind]}"
)
if kind in ("sinusoidal", "learned"):
    st.header("The encoding of the paper")
    encoding_section()
    st.header("Encoding and embeddings of the sentence")
    run = sentence_box()
    if run is not None:
        sizes_section(run)
else:
    if kind != "none":
        st.header("Positions in the chosen model")
        run = sentence_box()
        if run is not None:
            bias_section(run) if kind == "relative" else rotary_section(run)
    st.header("The encoding of the paper")
    encoding_section()
