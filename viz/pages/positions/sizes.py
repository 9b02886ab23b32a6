"""The length of each token's embedding compared with that of the position encoding added to it."""

from __future__ import annotations

import numpy as np
import streamlit as st

from transformer.analysis.positions import input_vectors
from transformer.model.config import TransformerConfig
from transformer.model.embedding import Embedding
from transformer.model.trace import Stack
from viz.pages.shared.explain import explain
from viz.pages.shared.figure import show
from viz.pages.shared.sentence import SentenceRun
from viz.run_figures.positions import input_lengths_figure
from viz.widgets import pick_button, pick_token

LOOK = {
    "sinusoidal": "which vectors are longest, and the length of the encoding: at every position it is "
    "√(d_model / 2), because sin² + cos² = 1. It changes direction, not length.",
    "learned": "which vectors are longest, and how the lengths of the learned vectors vary with position.",
}
INPUTS = {"src_embedding": "Encoder input", "tgt_embedding": "Decoder input"}


@st.fragment
def sizes_section(sentence: SentenceRun) -> None:
    """Draw the lengths in one run; a choice in the section redraws only this section."""
    st.header("Encoding and embeddings of the sentence")
    trace, config = sentence.run.trace, sentence.config
    left, right = st.columns([2, 3])
    inputs = {path: label for path, label in INPUTS.items() if f"{path}.tokens" in trace}
    path = pick_button(left.segmented_control, "Which input", inputs, key="pe_side")
    stack: Stack = "encoder" if path == "src_embedding" else "decoder"
    tokens = trace.tokens(stack)[0]
    vectors, encodings = input_vectors(trace, stack)
    token = pick_token(right.selectbox, "Token in the formula", tokens, key="pe_token")
    by = "√d_model" if config.embedding_scale is True else f"{config.embedding_factor:g}"
    times = f", times {by}," if config.embedding_scale else ""
    token_length, position_length = (np.linalg.norm(x, axis=1).mean() for x in (vectors, encodings))
    ratio = float(token_length / position_length)
    explain(
        what=f"The chosen model adds each token's embedding{times} and the "
        f"{config.positions} encoding of its position. Here the embeddings are "
        f"{ratio:.2f} times as long as the encodings on average. {_remarks(config, ratio)}",
        formula=_formula(vectors[token], encodings[token], token, config),
        look=LOOK[config.positions],
        computed=Embedding.forward,
        path=f"{path}.tokens, {path}.positions",
    )
    show(
        input_lengths_figure(trace, stack, config, theme=sentence.theme),
        name=f"embedding-and-position-sizes-{path}",
        caption=f"For each token, the length of its embedding{f' times {by}' if times else ''} next to the "
        "length of the encoding added to it.",
        key="pe_sizes",
    )


def _remarks(config: TransformerConfig, ratio: float) -> str:
    """Say what else this model does to its input; `ratio` is the embeddings' length over the encodings'."""
    remarks = []
    if config.embedding_scale:
        by = "√d_model" if config.embedding_scale is True else f"{config.embedding_factor:g}"
        without = ratio / config.embedding_factor
        remarks.append(f"Without the factor {by} they would be {without:.2f} times as long.")
    if config.position_offset:
        remarks.append(f"Its first token gets the encoding of position {config.position_offset}.")
    if config.d_embedding:
        remarks.append(
            f"Both have {config.d_embedding} numbers; a matrix then widens their sum to {config.d_model}."
        )
    if config.sinusoid_layout != "interleaved" and config.positions == "sinusoidal":
        remarks.append("In this model all sines come before all cosines.")
    if config.n_segments:
        remarks.append("One more vector, the same for every token (its segment), is added as well.")
    if config.embedding_norm:
        remarks.append("A norm follows the sum.")
    return " ".join(remarks)


def _formula(vector: np.ndarray, encoding: np.ndarray, token: int, config: TransformerConfig) -> str:
    is_scaled, factor = bool(config.embedding_scale), config.embedding_factor
    position = token + config.position_offset
    times, number = ("", "")
    if is_scaled:
        root = rf"\sqrt{{{config.d_model}}}" if config.embedding_scale is True else f"{factor:g}"
        times, number = rf" \cdot {root}", rf" \cdot {factor:.3f}"
    size, place, total = (float(np.linalg.norm(x)) for x in (vector, encoding, vector + encoding))
    return (
        rf"\begin{{gathered}} x_{{{token}}} = "
        rf"\text{{embedding}}{times} + PE({position}) \\ "
        rf"\lVert \text{{embedding}} \rVert{times} = "
        + (rf"{size / factor:.3f}{number} = " if is_scaled else "")
        + rf"{size:.3f} \\ "
        rf"\lVert PE({position}) \rVert = {place:.3f} \qquad "
        rf"\lVert x_{{{token}}} \rVert = {total:.3f} \end{{gathered}}"
    )
