"""Mounts the client-side views with synthetic arrays; what is typed chooses which, and how large."""

from typing import Literal

import numpy as np
import streamlit as st

from tests.browser.apps.asked import Asked, pick, picked
from tests.browser.apps.synthetic import attention, words
from viz.components.attention_grid import GridCell, attention_grid
from viz.components.attention_lines import attention_lines
from viz.components.attention_matrix import MatrixCell, attention_matrix
from viz.components.decoding_steps import Candidate, OutputStep, decoding_steps
from viz.components.token_strip import StripToken, token_strip
from viz.pooling import pool_maps
from viz.theme import palette


@st.fragment
def show_grid() -> None:
    n_layers, n_heads = ASKED.number("layers", 6), ASKED.number("heads", 8)
    n_queries, n_keys = ASKED.number("queries", 24), ASKED.number("keys", 24)
    causal = ASKED.number("causal", 0) == 1
    weights = attention(n_layers, n_heads, n_queries, n_keys, causal=causal)
    if st.button("reverse"):
        weights = np.ascontiguousarray(weights[:, ::-1])
    allowed = np.tril(np.ones((n_queries, n_keys), bool)) if causal else None

    def remember(cell: GridCell) -> None:
        st.session_state["chosen"] = cell
        pick(cell)

    attention_grid(
        pool_maps(weights, allowed, side=ASKED.number("side", 64)),
        query_tokens=words(n_queries),
        key_tokens=words(n_keys),
        layer_labels=[f"layer {layer}" for layer in range(n_layers)],
        head_labels=[f"head {head}" for head in range(n_heads)],
        colors=COLORS,
        selected=st.session_state.get("chosen", GridCell(0, 0)),
        on_select=remember,
        key=f"grid {ASKED.text}",
    )
    chosen = st.session_state.get("chosen")
    st.text(f"picked {picked()}; remembered {chosen}")


KINDS: dict[str, Literal["weights", "scores"]] = {
    "weights": "weights",
    "scores": "scores",
}


@st.fragment
def show_matrix() -> None:
    n_queries, n_keys = ASKED.number("queries", 12), ASKED.number("keys", 12)
    causal = ASKED.number("causal", 0) == 1
    kind = KINDS[ASKED.word("kind", "weights")]
    head = st.session_state.setdefault("head", 2)
    if st.button("next head"):
        head = st.session_state["head"] = (head + 1) % 8
    weights = attention(1, 8, n_queries, n_keys, causal=causal)[0, head]
    closed = (
        np.triu(np.ones((n_queries, n_keys), np.uint8), 1)
        if causal
        else np.zeros((n_queries, n_keys), np.uint8)
    )
    closed[:, n_keys - ASKED.number("padding", 0) :] += 2
    values = np.where(closed > 0, 0, weights)
    if kind == "scores":
        values = np.where(closed > 0, -np.inf, np.log(weights + 1e-4) + 4)

    def remember(cell: MatrixCell | None) -> None:
        st.session_state["cell"] = cell
        pick(cell)

    attention_matrix(
        values.astype(np.float32),
        query_tokens=words(n_queries),
        key_tokens=words(n_keys),
        colors=COLORS,
        kind=kind,
        closed=closed,
        reasons=["masked: future", "masked: padding", "masked: future and padding"],
        value_label="score (q · k / √d)" if kind == "scores" else "attention weight",
        selected=st.session_state.get("cell"),
        on_select=remember,
        key=f"matrix {ASKED.text}",
    )
    st.text(f"picked {picked()}; remembered {st.session_state.get('cell')}")


def show_tokens() -> None:
    texts = words(ASKED.number("tokens", 14))
    tokens = [
        StripToken(text, 4 + i, unknown=text in {"raccoon", "<b>x"}, special=text == "<eos>", word=i // 2)
        for i, text in enumerate(texts)
    ]
    pairs = ["".join(texts[i : i + 2]) for i in range(0, len(texts), 2)]
    token_strip(tokens, words=pairs, colors=COLORS, key=f"tokens {ASKED.text}")


def show_steps() -> None:
    texts = words(ASKED.number("tokens", 9))
    forced = ASKED.number("forced", 0) == 1
    steps = []
    for i, text in enumerate(texts):
        best = [Candidate(text if j == 0 else f"word{j}", 0.9 / 2 ** (j + 1 + i % 3)) for j in range(5)]
        steps.append(OutputStep(text, best[0].probability, 1, best))
    if forced:
        steps[2] = OutputStep("<script>x", 0.00012, 187, steps[2].best)

    decoding_steps(steps, colors=COLORS, key=f"steps {ASKED.text}", forced=forced)


def show_lines() -> None:
    n_heads = ASKED.number("heads", 4)
    n_queries, n_keys = ASKED.number("queries", 9), ASKED.number("keys", 12)
    attention_lines(
        attention(1, n_heads, n_queries, n_keys, causal=False)[0],
        query_tokens=words(n_queries),
        key_tokens=words(n_keys),
        head_labels=[f"head {head}" for head in range(n_heads)],
        colors=COLORS,
        key=f"lines {ASKED.text}",
    )


SHOW = {
    "lines": show_lines,
    "grid": show_grid,
    "matrix": show_matrix,
    "tokens": show_tokens,
    "steps": show_steps,
}
COLORS = palette("light")
st.set_page_config(layout="wide")
ASKED = Asked()
if ASKED.view:
    SHOW[ASKED.view]()
    ASKED.say_shown()
