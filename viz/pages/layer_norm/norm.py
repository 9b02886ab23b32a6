"""One norm of one run: its statistics, its distribution, its gamma and beta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from transformer.analysis.norms import SPREADS, Spread, norm_stages, norm_tokens, spread_of
from transformer.model.trace import NormRecord
from transformer.run import Run
from viz.figures import norms as figures
from viz.figures.labels import visible
from viz.figures.numbers import number, span
from viz.pages.layer_norm.words import NORMS
from viz.pages.shared.explain import explain
from viz.pages.shared.figure import show
from viz.session import current_model, current_theme
from viz.widgets import forget_choice, pick

ALL_TOKENS = -1
NAMES = {
    "self_attn_norm": "norm of self-attention",
    "cross_attn_norm": "norm of cross-attention",
    "feed_forward_norm": "norm of feed-forward",
    "self_attn_post_norm": "norm of what self-attention adds",
    "cross_attn_post_norm": "norm of what cross-attention adds",
    "feed_forward_post_norm": "norm of what the feed-forward adds",
    "final_norm": "final norm",
    "self_attn.q_norm": "norm of self-attention's queries",
    "self_attn.k_norm": "norm of self-attention's keys",
    "cross_attn.q_norm": "norm of cross-attention's queries",
    "cross_attn.k_norm": "norm of cross-attention's keys",
}
OUTSIDE = {
    "src_embedding.norm": "Encoder: norm after the embeddings",
    "tgt_embedding.norm": "Decoder: norm after the embeddings",
    "generator_transform.norm": "Norm before the generator",
}
"""Norms outside of the stacks, by their paths."""


@st.fragment
def norm_section(run: Run) -> None:
    """Draw the chosen norm; what is picked draws only this section again."""
    st.header("One norm")
    records = {record.path: record for record in run.trace.norms()}
    record, tokens, token = _pick(run, records)
    head = _pick_head(record)
    inside = "" if head is None else f", those of head {head} (all heads share γ)"
    if head is not None:
        record = record.of_head(head)
    model = current_model().model
    words, norm = NORMS[model.config.norm], model.get_submodule(record.path)
    stages, spread = norm_stages(record, model.config.norm), spread_of(model.config.norm)
    _, normalized, after = stages.values()
    gamma = norm.get_parameter("gamma").cpu().numpy()
    beta = None if record.mean is None else norm.get_parameter("beta").cpu().numpy()
    position = max(token, 0)
    dimension = _pick_dimension(len(gamma))
    explain(
        what=f"The norm `{record.path}` sees {len(tokens)} tokens of {len(gamma)} numbers each{inside}. It "
        f"{words.what}: no token knows of another, and no sentence of the batch of another.",
        formula=_formula(record, words.formula, gamma, beta, position, dimension),
        look=f"the diamonds: {_filled(words.look, spread, normalized)}. "
        f"{_filled(words.made, spread, after)}: the squares.",
        computed=type(norm).forward,
        path=record.path,
    )
    name = record.path.replace(".", "-") + ("" if head is None else f"-head{head}")
    _figures(name, stages, gamma, beta, tokens, token, spread, words.learned)


def _pick(run: Run, records: Mapping[str, NormRecord]) -> tuple[NormRecord, tuple[str, ...], int]:
    left, right = st.columns([3, 2])
    path = pick(left.selectbox, "Norm", list(records), key="norm", format_func=_in_words)
    tokens = norm_tokens(run.trace, path)
    token = pick(
        right.selectbox,
        "Token",
        [ALL_TOKENS, *range(len(tokens))],
        key="norm_token",
        format_func=lambda position: _token_in_words(position, tokens),
    )
    return records[path], tokens, token


def _pick_head(record: NormRecord) -> int | None:
    """The head to look at of a norm inside of heads; None for one of whole vectors."""
    if record.input.dim() == 3:
        return None
    label = "Head of keys and values" if record.path.endswith("k_norm") else "Head"
    return pick(st.selectbox, label, range(record.input.shape[1]), key="norm_head")


def _in_words(path: str) -> str:
    """A norm's path (encoder.layers.0.self_attn_norm and so on) in words."""
    if path in OUTSIDE:
        return OUTSIDE[path]
    stack, *parts = path.split(".")
    layer = f", layer {parts[1]}" if "layers" in parts else ""
    name = ".".join(parts[2:]) if layer else parts[0]
    return f"{stack.capitalize()}{layer}: {NAMES[name]}"


def _token_in_words(position: int, tokens: Sequence[str]) -> str:
    return "all tokens" if position == ALL_TOKENS else f"{position}: {visible(tokens[position])}"


def _pick_dimension(width: int) -> int:
    forget_choice("norm_dimension", lambda dimension: dimension < width)
    return st.slider("Dimension of the formula", 0, width - 1, 0, key="norm_dimension", bind="query-params")


def _formula(
    record: NormRecord,
    formula: str,
    gamma: NDArray[np.float32],
    beta: NDArray[np.float32] | None,
    token: int,
    dimension: int,
) -> str:
    x, result = (float(tensor[0, token, dimension]) for tensor in (record.input, record.result))
    scale = float(record.scale[0, token, 0])
    centered = number(x, 4)
    if record.mean is not None:
        centered += f" - ({number(float(record.mean[0, token, 0]), 4)})"
    shift = "" if beta is None else f" + ({number(beta[dimension], 4)})"
    return (
        rf"\begin{{gathered}} {formula} \\ "
        rf"\text{{token }} {token}, d = {dimension}: \quad {number(gamma[dimension], 4)} \cdot "
        rf"\frac{{{centered}}}{{{number(scale, 4)}}}{shift} = {number(result, 4)} \end{{gathered}}"
    )


def _filled(text: str, spread: Spread, values: NDArray[np.float32]) -> str:
    """Put what a stage's numbers (T, D) span, token by token, into a sentence about them."""
    return text.format(mean=span(values.mean(axis=1)), spread=span(SPREADS[spread](values)))


def _figures(
    slug: str,
    stages: Mapping[str, NDArray[np.float32]],
    gamma: NDArray[np.float32],
    beta: NDArray[np.float32] | None,
    tokens: Sequence[str],
    token: int,
    spread: Spread,
    learned: str,
) -> None:
    theme = current_theme()
    means = {stage: values.mean(axis=1) for stage, values in stages.items()}
    spreads = {stage: SPREADS[spread](values) for stage, values in stages.items()}
    show(
        figures.norm_statistics(means, spreads, tokens, theme=theme, spread=spread),
        name=f"norm-statistics-{slug}",
        caption=f"Mean and {spread} over the numbers of each token, before and after the norm.",
        key="norm_statistics",
    )
    left, right = st.columns(2)
    chosen = slice(None) if token == ALL_TOKENS else slice(token, token + 1)
    whose = "all tokens" if token == ALL_TOKENS else f"the token at position {token}"
    with left:
        show(
            figures.value_distribution(
                {stage: values[chosen] for stage, values in stages.items()}, theme=theme
            ),
            name=f"norm-distribution-{slug}",
            caption=f"How the numbers of {whose} spread, before and after the norm.",
            key="norm_distribution",
        )
    with right:
        show(
            figures.gamma_beta(gamma, beta, theme=theme),
            name=f"norm-gamma-beta-{slug}",
            caption=learned,
            key="norm_gamma_beta",
        )
