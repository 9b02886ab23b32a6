"""Rotary positions: how the chosen model turns queries and keys, and the effect on their products."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.delta_generator import DeltaGenerator

from transformer.analysis.architecture import rotary_bases
from transformer.analysis.attention_maps import attention_record, attentions, n_layers, stacks
from transformer.analysis.positions import rotary_layer
from transformer.model.config import TransformerConfig
from transformer.model.positions import rotate
from transformer.model.trace import Trace
from viz.figures.numbers import number
from viz.pages.shared.explain import computed_by, explain
from viz.pages.shared.figure import show
from viz.pages.shared.sentence import SentenceRun
from viz.run_figures.positions import angles_figure, products_figure, wavelengths_figure
from viz.widgets import HEAD, pick, pick_query


@st.fragment
def rotary_section(sentence: SentenceRun) -> None:
    """Draw how one pair is turned, and the angles of all; a choice redraws only this section."""
    st.header("Positions in the chosen model")
    config, trace = sentence.config, sentence.run.trace
    layer, head, query, pair = _pick(sentence)
    record = attention_record(trace, attentions(trace)[0], layer)
    rotary = rotary_layer(config, trace, layer)
    if rotary is None:
        _no_turn(layer)
        return
    n_turned = 2 * len(rotary.lengths)
    before = trace[f"{record.path}.q_unrotated"][0, head, query].numpy()
    angle = query * 2 * math.pi / float(rotary.lengths[pair])
    stretch = float(rotary.lengths[pair] / rotary.unstretched[pair])
    explain(
        what="Each head's numbers form pairs, and each pair of a query or key is turned by an angle: "
        "the position times the pair's own speed (Su et al. 2021). The product of two turned vectors depends "
        f"on the distance between them, not on where they are.{_on_parts(config, trace)}",
        formula=_formula(
            before[:n_turned],
            record.q[0, head, query].numpy(),
            angle,
            query,
            pair,
            rotary.base,
            stretch,
            "turned" if config.rotary_dims else "head",
        ),
        look="the first pairs, which turn visibly from one token to the next and so encode where a token is; "
        "and the last ones, which hardly turn within a sentence and so encode what it is.",
        computed=rotate,
        path=f"{record.path}.q_unrotated, {record.path}.q",
    )
    show(
        angles_figure(rotary, theme=sentence.theme, marked=(query, pair)),
        name="rotary-angles",
        caption="Each row is a position, each column is a pair: 1 is not turned, −1 is half a turn. The "
        "frame marks the pair in the formula.",
        key="rotary_angles",
    )
    show(
        wavelengths_figure(rotary, theme=sentence.theme),
        name="rotary-wavelengths",
        caption="Positions per full turn of a pair; the dashed line marks the length of this sentence."
        + _on_stretching(config, rotary.base),
        key="rotary_wavelengths",
    )


def _pick(sentence: SentenceRun) -> tuple[int, int, int, int]:
    *columns, last = st.columns(4)
    config = sentence.config
    n_pairs = (config.rotary_dims or config.d_head) // 2
    return (
        *_pick_query_of_head(sentence, columns),
        pick(last.selectbox, "Pair i", range(n_pairs), key="rotary_pair"),
    )


def _pick_query_of_head(sentence: SentenceRun, columns: Sequence[DeltaGenerator]) -> tuple[int, int, int]:
    trace = sentence.run.trace
    layers = n_layers(trace, attentions(trace)[0])
    tokens = trace.tokens(stacks(trace)[0])[0]
    return (
        HEAD.pick_layer(columns[0].selectbox, layers),
        HEAD.pick_head(columns[1].selectbox, sentence.config.n_heads),
        pick_query(columns[2].selectbox, tokens, len(tokens) - 1),
    )


def _no_turn(layer: int) -> None:
    st.info(f"Layer {layer} turns nothing: its attention knows no positions. Choose another layer.")


def _on_parts(config: TransformerConfig, trace: Trace) -> str:
    """Say which numbers are rotated, and which bases the layers have, if not all are alike."""
    said = ""
    if config.rotary_dims:
        said = f" This model turns only the first {config.rotary_dims} of a head's {config.d_head} numbers."
    if config.position_bases:
        said += f" Its layers have different bases: {rotary_bases(config, stacks(trace)[0])}."
    return said


def _on_stretching(config: TransformerConfig, base: float) -> str:
    """Say why wavelengths are longer than the base implies; "" if they are not."""
    if config.rotary_stretch == 1 or base != config.position_base:
        return ""
    times = f"{config.rotary_stretch:g} times longer than the base implies"
    which = (
        f"wavelengths of {config.stretch_full:,.0f} positions and more are {times}, those up to "
        f"{config.stretch_start:,.0f} are unchanged, and those between are blended (Peng et al. 2023)"
        if config.stretch_full
        else f"all wavelengths are {times} (Chen et al. 2023)"
    )
    return f" To let the model read longer texts than in its first training, {which}."


def _formula(
    before: NDArray[np.float32],
    after: NDArray[np.float32],
    angle: float,
    position: int,
    pair: int,
    base: float,
    stretch: float,
    turned: str,
) -> str:
    """One pair of a query before and after rotation, in LaTeX; it rotates `stretch` times more slowly."""
    (x, y), (new_x, new_y) = (numbers[2 * pair : 2 * pair + 2].tolist() for numbers in (before, after))
    n_turned = len(before)
    name, divisor = (r" \,/\, stretch", rf" \,/\, {stretch:.4f}") if stretch != 1 else ("", "")
    return (
        rf"\begin{{gathered}} \theta = pos \,/\, base^{{\,2i / d_\text{{{turned}}}}}{name} = "
        rf"{position} \,/\, {base:.0f}^{{\,{2 * pair} / {n_turned}}}{divisor} = {angle:.4f} \\ "
        r"\begin{pmatrix} \cos \theta & -\sin \theta \\ \sin \theta & \cos \theta \end{pmatrix} "
        rf"\begin{{pmatrix}} {number(x, 4)} \\ {number(y, 4)} \end{{pmatrix}} = "
        rf"\begin{{pmatrix}} {number(new_x, 4)} \\ {number(new_y, 4)} \end{{pmatrix}} \end{{gathered}}"
    )


@st.fragment
def products_section(sentence: SentenceRun) -> None:
    """Draw a query's products with every key that it may attend to, before and after rotation."""
    st.header("One query before and after turning")
    trace = sentence.run.trace
    layer, head, query = _pick_query_of_head(sentence, st.columns(3))
    path = attention_record(trace, attentions(trace)[0], layer).path
    if rotary_layer(sentence.config, trace, layer) is None:
        _no_turn(layer)
        return
    show(
        products_figure(trace, path, head, query, theme=sentence.theme),
        name=f"rotary-products-{path}-head{head}-query{query}",
        caption="The product of the query with each key that it may look at; at the query's own position "
        "both are equal.",
        key="rotary_products",
    )
    computed_by(rotate, f"{path}.q_unrotated, {path}.q")
