"""Where a broken run differs from the sound one: one bar per stage, and the picture that changes most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from transformer.analysis.changes import Change, changes, first_parted, in_words
from transformer.model.trace import Trace
from viz.figures.attention import attention_heatmap, side_by_side
from viz.pages.lab.mistakes.mistake import Broken, Picture, Reading
from viz.pages.lab.session import Broke
from viz.pages.shared.explain import computed_by
from viz.pages.shared.figure import show
from viz.run_figures.changes import changes_figure, tensors_figure
from viz.session import current_theme
from viz.theme import color_range
from viz.widgets import in_a_row, pick_button

SHOWN = ("attn.weights", "_embedding.positions", "_embedding.out", "norm.result")
"""Endings of the paths that can be drawn as the largest change."""
HEADINGS = ("sound", "broken")
IN_BOTH = "The same head of both runs, in one range of colours: a row is a query, a column is a key."
APART = (
    "The head as it should be: a row is a query, a column is a key.",
    "The same head with the mistake. It reads other tokens, so its rows have other names.",
)
MOST, FIRST = "most", "first"
WHICH = {MOST: "The one that changes most", FIRST: "The first that changes"}


def stage_figure(broke: Broke) -> None:
    """Draw the distance of each stage from the sound run."""
    show(
        changes_figure(broke.changes, theme=current_theme()),
        name="change-by-stage",
        caption="How far each tensor of the broken run is from that of the sound run: |a − b| / (|a| + |b|), "
        "0 where they are equal, 1 where it is missing. The mistake is made at the first bar or just before "
        "it; what follows carries it on.",
        key="stages",
    )
    computed_by(changes)


def pictures(broke: Broke) -> None:
    """Draw the picture that changes most or first, for both runs and with the same colour scale."""
    if broke.broken.reading is not None:
        readings(broke.broken.reading, key="reading")
        return
    if first_parted(broke.changes) is None:
        st.info("No number that is recorded differs: what this mistake breaks is not in this run.")
        return
    chosen = pick_button(in_a_row(), "Which picture", WHICH, key="lab_picture")
    change = most_changed(broke) if chosen == MOST else first_changed(broke)
    st.markdown(f"**{in_words(change.path, change.head).capitalize()}**")
    compared(broke.broken, change, key="picture")


def most_changed(broke: Broke) -> Change:
    """The head, embedding or norm that differs most from the sound run."""
    whole = [c for c in broke.changes if c.path.endswith(SHOWN[1:]) and not c.missing]
    return max([*broke.head_changes, *whole], key=lambda change: change.size)


def first_changed(broke: Broke) -> Change:
    """The first stage that differs in both runs; for attention weights, the head that differs most."""
    first = first_parted([change for change in broke.changes if not change.missing])
    if first is None:
        return most_changed(broke)
    heads = [change for change in broke.head_changes if change.path == first.path]
    return max(heads, key=lambda change: change.size) if heads else first


def compared(broken: Broken, change: Change, *, key: str) -> None:
    """Draw one tensor of both runs side by side."""
    traces, path = (broken.sound.trace, broken.run.trace), change.path
    how_far = f"Change {change.size:.2f} (0 equal, 1 nothing in common), recorded as {path}."
    if change.head is not None:
        st.caption(f"{how_far} What is not a number stays empty.")
        _heads(traces, path, change.head, key=key)
        return
    show(
        tensors_figure(dict(zip(HEADINGS, traces, strict=True)), path, theme=current_theme()),
        name="both-tensors",
        caption=f"{how_far} A row for each token, a column for each number of its vector.",
        key=key,
    )


def _heads(traces: tuple[Trace, Trace], path: str, head: int, *, key: str) -> None:
    """Draw the same head of two runs, with separate labels if they read different tokens."""
    theme = current_theme()
    values = np.stack([trace[path][0, head].float().numpy() for trace in traces])
    low, high = color_range(values, signed=bool((values < 0).any()))
    value_range = (low, max(high, float(np.nanmax(values, initial=0.0))))
    labels = [_attention_tokens(trace, path) for trace in traces]
    if labels[0] == labels[1]:
        figure = side_by_side(
            values, *labels[0], theme=theme, headings=HEADINGS, value_range=value_range, columns=2
        )
        show(figure, name="both-heads", caption=IN_BOTH, key=key)
        return
    for number, (heading, caption) in enumerate(zip(HEADINGS, APART, strict=True)):
        figure = attention_heatmap(
            values[number], *labels[number], theme=theme, value_range=value_range, title=heading
        )
        show(figure, name="head", caption=caption, key=f"{key} {number}")


def _attention_tokens(trace: Trace, path: str) -> tuple[Sequence[str], Sequence[str]]:
    queries = trace.src_tokens if path.startswith("encoder") else trace.tgt_tokens
    keys = trace.src_tokens if path.startswith("encoder") or "cross_attn" in path else trace.tgt_tokens
    return queries[0], keys[0]


def readings(reading: Reading, *, key: str) -> None:
    """Draw correct numbers as they should be labelled, and as the mistake labels them."""
    for name, picture in {"As it should be": reading.sound, "With the mistake": reading.broken}.items():
        st.markdown(f"**{name}: {picture.title}**")
        _picture(picture, key=f"{key} {name}")


def _picture(picture: Picture, *, key: str) -> None:
    values, theme = picture.weights.float().numpy(), current_theme()
    if len(values) == 1:
        figure = attention_heatmap(values[0], picture.rows, picture.columns, theme=theme)
    else:
        figure = side_by_side(values, picture.rows, picture.columns, theme=theme)
    show(
        figure,
        name="reading",
        caption="A row is a query and a column is a key, as they are labelled.",
        key=key,
    )
