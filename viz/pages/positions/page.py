"""Positions: how the paper encodes a token's position, and how the chosen model does."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from viz.pages.positions.relative import bias_section
from viz.pages.positions.rotary import products_section, rotary_section
from viz.pages.positions.sinusoidal import encoding_sections
from viz.pages.positions.sizes import sizes_section
from viz.pages.shared.explain import prose
from viz.pages.shared.sections import sections
from viz.pages.shared.sentence import SentenceRun, sentence_box
from viz.session import current_model, current_theme

KINDS = {
    "sinusoidal": "",
    "learned": " The chosen model learned its vectors, one per position, instead of using the formula.",
    "relative": " The chosen model adds nothing to its embeddings: it adds a learned number to each score of "
    "self-attention, which depends on the distance from query to key.",
    "alibi": " The chosen model adds nothing to its embeddings: it lowers each score of self-attention in "
    "proportion to the distance from query to key.",
    "rotary": " The chosen model adds nothing to its embeddings: it turns the queries and keys of "
    "self-attention by angles proportional to their positions.",
    "none": " The chosen model does nothing of the kind: its attention knows no positions, and only a "
    "causal mask, if there is one, lets it tell earlier from later.",
}
"""By `TransformerConfig.positions`; each text follows the sentence about the paper."""


def _of_sentence(section: Callable[[SentenceRun], None]) -> None:
    sentence = sentence_box()
    if sentence is not None:
        section(sentence)


loaded, theme = current_model(), current_theme()
kind = loaded.model.config.positions
st.title("Positions")
prose(
    "Attention alone sees a bag of tokens: shuffle them, and it would not notice. So a vector that "
    "depends only on the position is added to each token's embedding. In the paper it consists of sines and "
    f"cosines of different wavelengths (section 3.5).{KINDS[kind]}"
)
paper = encoding_sections(loaded, theme)
if kind in ("sinusoidal", "learned"):
    sections(paper | {"In the sentence": partial(_of_sentence, sizes_section)})
elif loaded.model.config.has_position_bias:
    name = "Relative bias" if kind == "relative" else "Linear bias"
    sections({name: partial(_of_sentence, bias_section)} | paper)
elif kind == "rotary":
    sections(
        {
            "Angles": partial(_of_sentence, rotary_section),
            "Products": partial(_of_sentence, products_section),
        }
        | paper
    )
else:
    sections(paper)
