"""Positions: how the paper encodes a token's position, and how the chosen model does."""

import streamlit as st

from viz.pages.positions.relative import bias_section
from viz.pages.positions.rotary import rotary_section
from viz.pages.positions.sinusoidal import encoding_section
from viz.pages.positions.sizes import sizes_section
from viz.pages.shared.explain import prose
from viz.pages.shared.sentence import sentence_box
from viz.session import current_model, current_theme

KINDS = {
    "sinusoidal": "",
    "learned": " The chosen model learned its vectors, one per position, instead of using the formula.",
    "relative": " The chosen model adds nothing to its embeddings: it adds a learned number to each score of "
    "self-attention, which depends on the distance from query to key.",
    "rotary": " The chosen model adds nothing to its embeddings: it turns the queries and keys of "
    "self-attention by angles proportional to their positions.",
    "none": " The chosen model does nothing of the kind: its attention knows no positions, and only a "
    "causal mask, if there is one, lets it tell earlier from later.",
}
"""By `TransformerConfig.positions`; each text follows the sentence about the paper."""

loaded, theme = current_model(), current_theme()
kind = loaded.model.config.positions
st.title("Positions")
prose(
    "Attention alone sees a bag of tokens: shuffle them, and it would not notice. So a vector that "
    "depends only on the position is added to each token's embedding. In the paper it consists of sines and "
    f"cosines of different wavelengths (section 3.5).{KINDS[kind]}"
)
if kind in ("sinusoidal", "learned"):
    st.header("The encoding of the paper")
    encoding_section(loaded, theme)
    st.header("Encoding and embeddings of the sentence")
    sentence = sentence_box()
    if sentence is not None:
        sizes_section(sentence)
else:
    if kind != "none":
        st.header("Positions in the chosen model")
        sentence = sentence_box()
        if sentence is not None:
            bias_section(sentence) if kind == "relative" else rotary_section(sentence)
    st.header("The encoding of the paper")
    encoding_section(loaded, theme)
