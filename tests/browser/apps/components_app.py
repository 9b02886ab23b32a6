"""Mounts the client-side views with synthetic arrays; what is typed chooses which, and how large."""

import numpy as np
import streamlit as st

from tests.browser.apps.asked import Asked
from tests.browser.apps.synthetic import held_run, words
from viz.components.decoding_steps import Candidate, OutputStep, decoding_steps
from viz.components.prediction import Board, Place, prediction
from viz.components.token_strip import StripToken, token_strip
from viz.pages.shared.attention_view import viewer
from viz.theme import palette


@st.fragment
def show_viewer() -> None:
    """The attention of a made-up run: how large it is and what is known of it are options."""
    if st.button("another run"):
        st.session_state["turned"] = st.session_state.get("turned", 0) + 1
    held = held_run(
        (ASKED.number("layers", 6), ASKED.number("heads", 8)),
        (ASKED.number("queries", 9), ASKED.number("keys", 13)),
        padding=ASKED.number("padding", 0),
        has_scores=ASKED.number("scores", 0) == 1,
        turned=st.session_state.get("turned", 0),
    )
    choice = viewer(held, key=f"viewer {ASKED.text}")
    st.text(f"chosen: {choice.attention}, layer {choice.layer}, head {choice.head}, cell {choice.cell}")


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


def show_board() -> None:
    """A board to predict on, of one row or more; every third place of it is closed."""
    n_rows, n_columns = ASKED.number("rows", 0), ASKED.number("columns", 7)
    values = (np.arange(max(1, n_rows) * n_columns, dtype=np.float64) + 1).reshape(-1, n_columns) / 7
    values.flat[1::3] = np.nan
    board = Board(
        columns=words(n_columns),
        rows=[f"layer {row}" for row in range(n_rows)],
        axes=("layer", "token"),
        values=values,
        right=values == np.nanmax(values),
        unit="weight",
    )
    key = f"board {ASKED.text}"
    chosen = st.session_state.get(f"{key} chosen")

    def keep(place: Place) -> None:
        st.session_state[f"{key} chosen"] = place

    prediction(
        board,
        colors=COLORS,
        key=key,
        title="Where does it look?",
        chosen=chosen,
        is_revealed=chosen is not None and ASKED.number("reveal", 1) == 1,
        on_predict=keep,
    )
    st.text(f"predicted: {chosen}")


SHOW = {"viewer": show_viewer, "tokens": show_tokens, "steps": show_steps, "board": show_board}
COLORS = palette("light")
st.set_page_config(layout="wide")
ASKED = Asked()
if ASKED.view:
    SHOW[ASKED.view]()
    ASKED.say_shown()
