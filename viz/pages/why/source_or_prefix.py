"""From the source, or from what is already written: how much of each word of the output."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import streamlit as st

from transformer.analysis.attribution.source_share import SourceShare, source_share
from viz.figures.bars import token_bars
from viz.figures.labels import visible
from viz.figures.numbers import number
from viz.markdown import quoted
from viz.pages.shared.explain import computed_by, prose
from viz.pages.shared.figure import show, wide
from viz.pages.why.asked import Asked
from viz.run_figures.came_from import source_share_figure


def source_or_prefix_part(asked: Asked) -> None:
    """Draw this part of the section."""
    st.header("From the source, or from what is already written?")
    if asked.run.decoder_input is None:
        st.caption("This model has no decoder: its words follow no prefix.")
        return
    found: SourceShare = asked.answer(
        "source share",
        "Asking the source's share",
        lambda _: source_share(asked.loaded, asked.run, asked.questions),
    )
    side = "source" if asked.run.encoder_input is not None else "prompt"
    words = [visible(one.label) for one in asked.questions]
    marked = np.flatnonzero(found.needs_no_source_word)
    removed = "the model reads an empty source" if side == "source" else "`<unk>` replaces each of its words"
    prose(
        f"ALTI+ divides each word between the {side} and the words written before it: which vectors it was "
        f"mixed from. A more direct test: how much less probable is the word without the {side}? For that, "
        f"{removed}; tokens that frame it, such as `<eos>`, stay."
    )
    named = ", ".join(quoted(words[place]) for place in marked)
    st.markdown(
        f"Less than twice as probable with the words of the {side} as without, so none of them is needed "
        f"(triangles below): {named}.{mixed_but_not_needed(found, words, side)}"
        if marked.size
        else f"The {side} makes every word at least twice as probable."
    )
    figure = source_share_figure(found, asked.questions, theme=asked.theme)
    if figure is not None and found.coverage is not None:
        with wide("why_share_words", words):
            show(
                figure,
                name="source-or-prefix",
                caption="One bar per word of the output: what it was mixed from. The triangle is about "
                f"another question: it marks words that the {side}'s words make less than twice as probable.",
                key="why_share",
            )
        with wide("why_coverage_words", found.source_words):
            show(
                token_bars(
                    found.coverage,
                    found.source_words,
                    theme=asked.theme,
                    quantity="coverage (output tokens)",
                    axis=f"word of the {side}",
                ),
                name="coverage",
                caption=f"What each word of the {side} gave to the whole output: its shares in all output "
                "tokens, added together. A word with almost nothing may not have been translated.",
                key="why_coverage",
            )
    st.markdown(
        f"The {side} explains **{found.explained:.0%}** of what is surprising about the output without it: "
        f"its log-probability is {number(float(found.log_probabilities.sum()), 1)} nats with the {side} and "
        f"{number(float((found.log_probabilities - found.gains).sum()), 1)} without. Near 0 % or below, the "
        f"output hardly depends on the {side}."
    )
    computed_by(source_share)


def mixed_but_not_needed(found: SourceShare, words: Sequence[str], side: str) -> str:
    """Explain a triangle over a bar that is mostly the source's."""
    if found.source is None:
        return ""
    mixed = np.where(found.needs_no_source_word, found.source, 0)
    word = int(mixed.argmax())
    if mixed[word] <= 1 / 2:
        return ""
    without = math.exp(found.log_probabilities[word] - found.gains[word])
    return (
        f" By ALTI+, {quoted(words[word])} is {mixed[word]:.0%} {side} all the same: the model reads the "
        f"{side} there, but without any word of it the probability would still be {without:.0%}."
    )
