"""Rotary positions: how the loaded model turns queries and keys, and what that does to their products."""

from __future__ import annotations

import math

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from transformer.analysis.attention_maps import attention_record, attentions, n_layers
from transformer.analysis.positions import rotary_layer
from transformer.model.config import TransformerConfig
from transformer.model.positions import rotate
from transformer.run import Run
from viz.figures.numbers import number
from viz.pages.shared.explain import computed_by, explain
from viz.pages.shared.figure import show
from viz.run_figures.positions import angles_figure, products_figure, wavelengths_figure
from viz.session import current_model, current_theme
from viz.widgets import HEAD, pick, pick_query


@st.fragment
def rotary_section(run: Run) -> None:
    """Draw the angles and one head's products; what is picked draws only this section again."""
    config = current_model().model.config
    attention = attentions(run.trace)[0]
    layer, head, query, pair = _pick(run, n_layers(run.trace, attention))
    record = attention_record(run.trace, attention, layer)
    rotary = rotary_layer(config, run.trace, layer)
    if rotary is None:
        st.info(f"Layer {layer} turns nothing: its attention is told no positions. Choose another layer.")
        return
    n_turned = 2 * len(rotary.lengths)
    before = run.trace[f"{record.path}.q_unrotated"][0, head, query].numpy()
    angle = query * 2 * math.pi / float(rotary.lengths[pair])
    stretch = float(rotary.lengths[pair] / rotary.unstretched[pair])
    explain(
        what="Each head's numbers are taken in pairs, and each pair of a query or key is turned by an angle: "
        "the position times the pair's own speed (Su et al. 2021). The product of two turned vectors depends "
        f"on how far apart they stand, and not on where.{_on_parts(config)}",
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
        look="the first pairs, which turn from one token to the next, and the last ones, which hardly turn "
        "in a whole sentence: products of those say what a token is, and those of the first where it stands.",
        computed=rotate,
        path=f"{record.path}.q_unrotated, {record.path}.q",
    )
    show(
        angles_figure(rotary, theme=current_theme(), marked=(query, pair)),
        name="rotary-angles",
        caption="A row is a position, a column is a pair: 1 is not turned, −1 is half a turn. The frame is "
        "the formula's.",
        key="rotary_angles",
    )
    show(
        wavelengths_figure(rotary, theme=current_theme()),
        name="rotary-wavelengths",
        caption="Positions until a pair has turned once; the dashed line is the length of this sentence."
        + _on_stretching(config, rotary.base),
        key="rotary_wavelengths",
    )
    _products(run, record.path, head, query)


def _pick(run: Run, layers: int) -> tuple[int, int, int, int]:
    config = current_model().model.config
    columns = st.columns(4)
    n_pairs = (config.rotary_dims or config.d_head) // 2
    tokens = (run.trace.tgt_tokens or run.trace.src_tokens)[0]
    return (
        HEAD.pick_layer(columns[0].selectbox, layers),
        HEAD.pick_head(columns[1].selectbox, config.n_heads),
        pick_query(columns[2].selectbox, tokens, len(tokens) - 1),
        pick(
            columns[3].selectbox,
            "Pair i",
            range(n_pairs),
            key="rotary_pair",
        ),
    )


def _on_parts(config: TransformerConfig) -> str:
    """Which numbers and layers are turned, where it is not all of them alike."""
    said = ""
    if config.rotary_dims:
        said = f" This model turns the first {config.rotary_dims} of a head's {config.d_head} numbers only."
    if config.position_bases:
        bases = ", ".join(f"{base:g}" if base else "none" for base in config.position_bases)
        said += f" Its layers have bases of their own: {bases}."
    return said


def _on_stretching(config: TransformerConfig, base: float) -> str:
    """Why pairs turn more slowly than they were first trained to; empty where none does."""
    if config.rotary_stretch == 1 or base != config.position_base:
        return ""
    times = f"{config.rotary_stretch:g} times longer than the base makes them"
    which = (
        f"wavelengths of {config.stretch_full:,.0f} positions and more are {times}, those up to "
        f"{config.stretch_start:,.0f} stay, and between the two they are mixed (Peng et al. 2023)"
        if config.stretch_full
        else f"all wavelengths are {times} (Chen et al. 2023)"
    )
    return f" So that the model can read longer texts than it was first trained on, {which}."


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
    """One pair of a query turned, with its numbers, in LaTeX; `stretch` is how many times slower it turns."""
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


def _products(run: Run, path: str, head: int, query: int) -> None:
    """The query's products with every key that it may look at, with and without the turning."""
    st.subheader("One query before and after turning")
    show(
        products_figure(run.trace, path, head, query, theme=current_theme()),
        name=f"rotary-products-{path}-head{head}-query{query}",
        caption="The product of the query with each key that it may look at; at the query's own position the "
        "two are the same.",
        key="rotary_products",
    )
    computed_by(rotate, f"{path}.q_unrotated, {path}.q")
