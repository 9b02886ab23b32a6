"""One norm of one run: its statistics, its distribution, its gamma and beta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from transformer.normalization import LayerNorm
from transformer.run import Run
from transformer.trace import NormRecord
from viz.figures import norms as figures
from viz.figures.labels import visible
from viz.pages._explain import explain
from viz.pages._figure import show
from viz.session import clamp_choice, current_model, current_theme, forget_choice

STAGES = {
    "before": "input",
    "normalized: (x − μ) / σ": "normalized",
    "after: times γ plus β": "result",
}
ALL_TOKENS = -1


@st.fragment
def norm_section(run: Run) -> None:
    """Draw the chosen norm; what is picked draws only this section again."""
    st.subheader("One norm")
    records = {record.path: record for record in run.trace.norms()}
    record, tokens, token = _pick(run, records)
    stages = {stage: getattr(record, part)[0].numpy() for stage, part in STAGES.items()}  # (T, D) each
    parameters = current_model().model.state_dict()
    gamma, beta = (parameters[f"{record.path}.{name}"].cpu().numpy() for name in ("gamma", "beta"))
    position = max(token, 0)
    dimension = _pick_dimension(len(gamma))
    explain(
        what=f"The norm `{record.path}` sees {len(tokens)} tokens of {len(gamma)} numbers each. It takes "
        "the mean μ and the deviation σ over a token's own numbers: no token knows of another, and no "
        "sentence of the batch of another.",
        formula=_formula(record, gamma, beta, position, dimension),
        look="the squares and diamonds: whatever came in, the normalized numbers have mean 0 and "
        "deviation 1 at every token. What γ and β make of it was learned.",
        computed=LayerNorm.forward,
        path=record.path,
    )
    _figures(record, stages, gamma, beta, tokens, token)


def _pick(run: Run, records: Mapping[str, NormRecord]) -> tuple[NormRecord, tuple[str, ...], int]:
    left, right = st.columns([3, 2])
    paths = list(records)
    clamp_choice("norm", paths)
    path = left.selectbox("Norm", paths, format_func=_in_words, key="norm", bind="query-params")
    tokens = (run.trace.src_tokens if path.startswith("encoder") else run.trace.tgt_tokens)[0]
    positions = [ALL_TOKENS, *range(len(tokens))]
    clamp_choice("norm_token", positions)
    token = right.selectbox(
        "Token",
        positions,
        format_func=lambda position: _token_in_words(position, tokens),
        key="norm_token",
        bind="query-params",
    )
    return records[path], tokens, token


def _in_words(path: str) -> str:
    """A norm's path as a person says it: encoder.layers.0.self_attn_norm and so on."""
    parts = path.split(".")
    names = {
        "self_attn_norm": "norm of self-attention",
        "cross_attn_norm": "norm of cross-attention",
        "feed_forward_norm": "norm of feed-forward",
        "final_norm": "final norm",
    }
    layer = f", layer {parts[2]}" if "layers" in parts else ""
    return f"{parts[0].capitalize()}{layer}: {names[parts[-1]]}"


def _token_in_words(position: int, tokens: Sequence[str]) -> str:
    return "all tokens" if position == ALL_TOKENS else f"{position}: {visible(tokens[position])}"


def _pick_dimension(width: int) -> int:
    forget_choice("norm_dimension", lambda dimension: dimension < width)
    return st.slider("Dimension of the formula", 0, width - 1, 0, key="norm_dimension", bind="query-params")


def _formula(
    record: NormRecord, gamma: NDArray[np.float32], beta: NDArray[np.float32], token: int, dimension: int
) -> str:
    x, result = (float(tensor[0, token, dimension]) for tensor in (record.input, record.result))
    mean = 0.0 if record.mean is None else float(record.mean[0, token, 0])
    scale = float(record.scale[0, token, 0])
    return (
        r"\begin{gathered} \gamma_d \, \frac{x_d - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta_d \\ "
        rf"\text{{token }} {token}, d = {dimension}: \quad {gamma[dimension]:.4f} \cdot "
        rf"\frac{{{x:.4f} - ({mean:.4f})}}{{{scale:.4f}}} + ({beta[dimension]:.4f}) = {result:.4f} "
        r"\end{gathered}"
    )


def _figures(
    record: NormRecord,
    stages: Mapping[str, NDArray[np.float32]],
    gamma: NDArray[np.float32],
    beta: NDArray[np.float32],
    tokens: Sequence[str],
    token: int,
) -> None:
    theme, slug = current_theme(), record.path.replace(".", "-")
    means = {stage: values.mean(axis=1) for stage, values in stages.items()}
    deviations = {stage: values.std(axis=1) for stage, values in stages.items()}
    show(
        figures.norm_statistics(means, deviations, tokens, theme=theme),
        name=f"norm-statistics-{slug}",
        caption="Mean and standard deviation over the numbers of each token, before and after the norm.",
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
            caption="The learned scale γ and shift β of each dimension; the dashed lines are where "
            "training starts.",
            key="norm_gamma_beta",
        )
