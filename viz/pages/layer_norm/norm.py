"""One norm of a run: its statistics, the distribution of its numbers, its gamma and beta."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from transformer.analysis.norms import NormNumbers, norm_numbers, norm_tokens
from transformer.model.trace import NormRecord, Trace
from viz.figures.labels import visible
from viz.figures.numbers import number, span
from viz.pages.layer_norm.words import NORMS, WITHOUT_NORMS
from viz.pages.shared.explain import explain
from viz.pages.shared.figure import show
from viz.pages.shared.sentence import SentenceRun
from viz.run_figures.norms import parameters_figure, statistics_figure, values_figure
from viz.theme import Theme
from viz.widgets import forget_choice, pick

ALL_TOKENS = -1
NAMES = {
    "self_attn_norm": "norm of self-attention",
    "cross_attn_norm": "norm of cross-attention",
    "feed_forward_norm": "norm of feed-forward",
    "self_attn_post_norm": "norm of self-attention's output",
    "cross_attn_post_norm": "norm of cross-attention's output",
    "feed_forward_post_norm": "norm of the feed-forward's output",
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
"""Norms outside the stacks, by path."""


@st.fragment
def norm_section(sentence: SentenceRun) -> None:
    """Draw the chosen norm; a choice in the section redraws only this section."""
    st.header("One norm")
    trace, model = sentence.run.trace, sentence.loaded.model
    if not sentence.config.has_norms:
        st.markdown(f"{WITHOUT_NORMS} Choose another model to see what a norm does to a token.")
        return
    record, token = _pick(trace)
    head = _pick_head(record)
    each = "each head has its own" if sentence.config.query_key_norm == "each_head" else "all heads share"
    inside = "" if head is None else f", those of head {head} ({each} γ)"
    norm, words = norm_numbers(model, trace, record.path, head), NORMS[sentence.config.norm]
    _, normalized, after = norm.stages
    made = f"{_filled(words.made, norm, after)}: the squares"
    caption = words.learned
    if norm.is_initial:
        made = f"{words.initial}, so each square lies inside its diamond"
        caption = f"{words.initial}: not trained yet."
    dimension = _pick_dimension(len(norm.gamma))
    explain(
        what=f"The norm `{record.path}` sees {len(norm.tokens)} tokens of {len(norm.gamma)} numbers "
        f"each{inside}. It {words.what}: tokens do not affect each other, nor do the sentences of a batch.",
        formula=_formula(norm, words.formula, max(token, 0), dimension),
        look=f"the diamonds: {_filled(words.look, norm, normalized)}. {made}.",
        computed=type(model.get_submodule(record.path)).forward,
        path=record.path,
    )
    name = record.path.replace(".", "-") + ("" if head is None else f"-head{head}")
    _figures(name, norm, token, caption, sentence.theme)


def _pick(trace: Trace) -> tuple[NormRecord, int]:
    records = {record.path: record for record in trace.norms()}
    left, right = st.columns([3, 2])
    path = pick(left.selectbox, "Norm", list(records), key="norm", format_func=_in_words)
    tokens = norm_tokens(trace, path)
    token = pick(
        right.selectbox,
        "Token",
        [ALL_TOKENS, *range(len(tokens))],
        key="norm_token",
        format_func=lambda position: _token_in_words(position, tokens),
    )
    return records[path], token


def _pick_head(record: NormRecord) -> int | None:
    """The chosen head, if the norm is applied per head; None for a norm of whole vectors."""
    if record.input.dim() == 3:
        return None
    label = "Head of keys and values" if record.path.endswith("k_norm") else "Head"
    return pick(st.selectbox, label, range(record.input.shape[1]), key="norm_head")


def _in_words(path: str) -> str:
    """Describe a norm's path, such as encoder.layers.0.self_attn_norm, in words."""
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
    return st.slider("Dimension in the formula", 0, width - 1, 0, key="norm_dimension", bind="query-params")


def _formula(norm: NormNumbers, formula: str, token: int, dimension: int) -> str:
    record, gamma, beta = norm.record, norm.gamma, norm.beta
    x, result = (float(tensor[0, token, dimension]) for tensor in (record.input, record.result))
    scale = float(record.scale[0, token, 0])
    centered = number(x, 4)
    if record.mean is not None:
        centered += f" - ({number(float(record.mean[0, token, 0]), 4)})"
    shift = "" if beta is None else f" + ({number(beta[dimension], 4)})"
    return (
        rf"\begin{{gathered}} {formula} \\ "
        rf"\text{{token }} {token}, d = {dimension}: \\ {number(gamma[dimension], 4)} \cdot "
        rf"\frac{{{centered}}}{{{number(scale, 4)}}}{shift} = {number(result, 4)} \end{{gathered}}"
    )


def _filled(text: str, norm: NormNumbers, stage: str) -> str:
    """Insert the ranges of a stage's statistics over the tokens into a sentence."""
    return text.format(mean=span(norm.means[stage]), spread=span(norm.spreads[stage]))


def _figures(slug: str, norm: NormNumbers, token: int, parameters: str, theme: Theme) -> None:
    show(
        statistics_figure(norm, theme=theme),
        name=f"norm-statistics-{slug}",
        caption=f"Mean and {norm.spread} of each token's numbers, before and after the norm.",
        key="norm_statistics",
    )
    left, right = st.columns(2)
    whose = "all tokens" if token == ALL_TOKENS else f"the token at position {token}"
    with left:
        show(
            values_figure(norm, None if token == ALL_TOKENS else token, theme=theme),
            name=f"norm-distribution-{slug}",
            caption=f"The distribution of the numbers of {whose}, before and after the norm.",
            key="norm_distribution",
        )
    with right:
        show(
            parameters_figure(norm, theme=theme),
            name=f"norm-gamma-beta-{slug}",
            caption=parameters,
            key="norm_gamma_beta",
        )
