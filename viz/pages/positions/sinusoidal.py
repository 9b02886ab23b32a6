"""The sinusoidal encoding, with sliders: its formula, curves, map, similarities and wavelengths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from numpy.typing import NDArray

from transformer.loaded import LoadedModel
from transformer.model.config import SinusoidLayout
from transformer.model.positions import sinusoidal_encoding
from transformer.model.positions import wavelengths as encoding_wavelengths
from viz.figures import positions as figures
from viz.figures.numbers import number
from viz.pages.shared.explain import computed_by, explain
from viz.pages.shared.figure import show
from viz.theme import Theme
from viz.widgets import forget_choice, pick

WIDTHS = (8, 16, 32, 64, 128, 256, 512)
BASES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
FIRST_DIMENSIONS = (6, 7, 20, 32)
PAIRS = {
    "interleaved": "Dimensions 2i and 2i + 1",
    "halves": "In this model all sines come before all cosines: dimensions i and i + d_model / 2",
    "halves_to_base": "In this model all sines come before all cosines, and the last wavelength is exactly "
    "2π · base: dimensions i and i + d_model / 2",
}
_HALVES = ("i", r"i + d_\text{model} / 2")
PARTS = {"interleaved": ("2i", "2i+1"), "halves": _HALVES, "halves_to_base": _HALVES}
_HALF_SINES = "the first half are sines, the second half cosines"
SINES = {
    "interleaved": "even ones are sines, odd ones cosines",
    "halves": _HALF_SINES,
    "halves_to_base": _HALF_SINES,
}
_POWER = r"2i / d_\text{model}"
POWERS = {"interleaved": _POWER, "halves": _POWER, "halves_to_base": r"i / (d_\text{model} / 2 - 1)"}
"""By the layout of the encoding."""


@dataclass(frozen=True)
class Encoding:
    """The encoding that the sliders describe, and the chosen position and pair in it.

    Attributes:
        values: (length, d_model).
        base: base of the wavelengths.
        position: the chosen row.
        pair: the chosen pair of dimensions.
        layout: where sines and cosines are.
        theme: the colours of its figures.
    """

    values: NDArray[np.float32]
    base: int
    position: int
    pair: int
    layout: SinusoidLayout
    theme: Theme

    @property
    def length(self) -> int:
        """Number of positions."""
        return len(self.values)

    @property
    def width(self) -> int:
        """Number of dimensions, d_model."""
        return self.values.shape[1]

    @property
    def wavelengths(self) -> NDArray[np.float64]:
        """Wavelength of each pair, in positions."""
        lengths: NDArray[np.float64] = encoding_wavelengths(self.width, self.base, self.layout).numpy()
        return lengths

    @property
    def power(self) -> str:
        """The exponent of the chosen pair, with its numbers filled in."""
        if self.layout == "halves_to_base":
            return f"{self.pair} / {max(self.width // 2 - 1, 1)}"
        return f"{2 * self.pair} / {self.width}"

    @property
    def dimensions(self) -> tuple[int, int]:
        """The dimensions of the chosen pair's sine and cosine."""
        if self.layout != "interleaved":
            return self.pair, self.pair + self.width // 2
        return 2 * self.pair, 2 * self.pair + 1


def encoding_sections(loaded: LoadedModel, theme: Theme) -> dict[str, Callable[[], None]]:
    """The sections about the encoding in the layout of a model, by name; each has the sliders."""
    config = loaded.model.config
    layout = config.sinusoid_layout if config.positions == "sinusoidal" else "interleaved"
    parts = {"Encoding": _curves, "Map": _map, "Similarity": _similarity, "Wavelengths": _wavelengths}
    return {name: partial(_section, part, layout, theme) for name, part in parts.items()}


@st.fragment
def _section(part: Callable[[Encoding], None], layout: SinusoidLayout, theme: Theme) -> None:
    """Draw the sliders and one part; a slider redraws only this section."""
    part(_sliders(layout, theme))


def _sliders(layout: SinusoidLayout, theme: Theme) -> Encoding:
    first, second, third = st.columns(3)
    length = first.slider("Length (positions)", 2, 256, 50, key="pe_length", bind="query-params")
    width = pick(second.select_slider, "d_model (dimensions)", WIDTHS, value=128, key="pe_width")
    base = pick(third.select_slider, "Base", BASES, value=10_000, key="pe_base", format_func="{:,}".format)
    left, right = st.columns(2)
    forget_choice("pe_position", lambda position: position < length)
    forget_choice("pe_pair", lambda pair: pair < width // 2)
    position = left.slider(
        "Position pos", 0, length - 1, min(7, length - 1), key="pe_position", bind="query-params"
    )
    pair = right.slider(
        "Pair of dimensions i", 0, width // 2 - 1, min(3, width // 2 - 1), key="pe_pair", bind="query-params"
    )
    values = sinusoidal_encoding(length, width, base, layout).numpy()
    return Encoding(values, base, position, pair, layout, theme)


def _formula(encoding: Encoding) -> str:
    pos, base = encoding.position, encoding.base
    wavelength = float(encoding.wavelengths[encoding.pair])
    angle = pos * 2 * np.pi / wavelength
    rows = [
        rf"PE(pos, {part}) &= \{name}\left(pos \,/\, base^{{\,{POWERS[encoding.layout]}}}\right) \\ "
        rf"PE({pos}, {dimension}) &= \{name}\left({pos} \,/\, {base}^{{\,{encoding.power}}}\right) "
        rf"= \{name}({angle:.4f}) = {number(float(encoding.values[pos, dimension]), 4)}"
        for name, dimension, part in zip(
            ("sin", "cos"), encoding.dimensions, PARTS[encoding.layout], strict=True
        )
    ]
    return r"\begin{aligned}" + r" \\ ".join(rows) + r"\end{aligned}"


def _curves(encoding: Encoding) -> None:
    st.header("The encoding of the paper")
    explain(
        what=f"Each of the {encoding.length} positions gets {encoding.width} numbers, its positional "
        f"encoding. {PAIRS[encoding.layout]} form a pair: the sine and the cosine of the same angle. The "
        "angle grows with the position, faster in the first pairs than in the last.",
        formula=_formula(encoding),
        look="how the first dimensions tell neighbours apart while the last ones hardly move: together "
        "they tell the position as the hands of a clock tell the time, from the second hand to the "
        "hour hand.",
        computed=sinusoidal_encoding,
    )
    st.subheader("Curves of single dimensions")
    forget_choice("pe_dimensions", lambda chosen: all(dimension < encoding.width for dimension in chosen))
    dimensions = st.multiselect(
        f"Dimensions ({SINES[encoding.layout]})",
        range(encoding.width),
        [dimension for dimension in FIRST_DIMENSIONS if dimension < encoding.width],
        key="pe_dimensions",
        bind="query-params",
        max_selections=12,
    )
    if not dimensions:
        st.info("Choose at least one dimension.")
        return
    _show(
        figures.encoding_curves(encoding.values, dimensions, theme=encoding.theme, marked=encoding.position),
        "curves",
        f"The value of each dimension at each position; the dotted line marks pos = {encoding.position}.",
    )
    computed_by(sinusoidal_encoding)


def _map(encoding: Encoding) -> None:
    st.header("Every position, every dimension")
    _show(
        figures.encoding_map(encoding.values, theme=encoding.theme, marked=encoding.position),
        "map",
        "A row is the vector added to the token at that position: orange is positive, blue negative. "
        f"Position {encoding.position} is framed.",
    )
    computed_by(sinusoidal_encoding)


def _similarity(encoding: Encoding) -> None:
    st.header("Similarity of two positions")
    angles = 2 * np.pi / encoding.wavelengths
    one_apart = float(np.cos(angles).mean())
    explain(
        what="The cosine of the angle between the encodings of two positions depends only on their "
        "distance: an offset looks the same at the beginning and at the end of a sentence.",
        formula=r"\cos(PE(pos), PE(pos + k)) = \frac{2}{d_\text{model}} \sum_i \cos\left("
        rf"\frac{{k}}{{base^{{{POWERS[encoding.layout]}}}}}\right) \qquad k = 1: \; {number(one_apart, 4)}",
        look="how fast the similarity falls over the first few offsets, and that each diagonal of the map "
        "has one colour. With a small base the waves repeat within the sentence, and distant positions "
        "become similar again.",
        computed=figures.cosine_similarity,
    )
    left, right = st.columns(2)
    theme = encoding.theme
    with left:
        figure = figures.similarity_by_offset(encoding.values, theme=theme)
        _show(figure, "similarity-by-offset", "Cosine similarity of two positions by their distance.")
    with right:
        figure = figures.position_similarity(encoding.values, theme=theme)
        _show(figure, "similarity-map", "Cosine similarity of every pair of positions.")


def _wavelengths(encoding: Encoding) -> None:
    st.header("Wavelengths")
    lengths = encoding.wavelengths
    slow = int((lengths > encoding.length).sum())
    explain(
        what=f"Each pair of dimensions turns at its own speed: the first repeats after {lengths[0]:.2f} "
        f"positions, the last after {lengths[-1]:,.0f}. {slow} of the {len(lengths)} pairs do not "
        f"complete a turn within {encoding.length} positions.",
        formula=rf"\lambda_i = 2\pi \cdot base^{{{POWERS[encoding.layout]}}}, \qquad "
        rf"\lambda_{{{encoding.pair}}} = 2\pi \cdot "
        rf"{encoding.base}^{{{encoding.power}}} = {lengths[encoding.pair]:,.2f}",
        look="where the line crosses the dashed one: pairs below it repeat within the sentence, pairs above "
        "it tell its beginning from its end.",
        computed=encoding_wavelengths,
    )
    _show(
        figures.wavelengths(lengths, encoding.length, theme=encoding.theme),
        "wavelengths",
        "Positions until a pair repeats; the dashed line marks the length chosen above.",
    )


def _show(figure: go.Figure, name: str, caption: str) -> None:
    show(figure, name=f"positions-{name}", caption=caption, key=f"pe_{name}")
