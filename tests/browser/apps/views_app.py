"""Shows one view at a time: the text box gives its name, its size and what is chosen in it at first.

    view=run&kind=rotary&text=The dog saw a cat.&layer=1&cell=3,2
    view=tree&beam=4&steps=9

See the functions in `SHOW` for the options of each view.
"""

from collections.abc import Callable

import numpy as np
import streamlit as st

from tests.browser.apps.asked import Asked, pick, picked
from tests.browser.apps.synthetic import held_run, next_logits, words
from tests.browser.apps.synthetic_search import made_up_search
from tests.support.runs import TEXT, held_of
from viz.components.beam_tree import Chosen, TreeSelection, beam_tree
from viz.components.decoding_steps import decoding_steps
from viz.components.next_tokens import Reshaping, next_tokens
from viz.components.prediction import Board, Place, prediction
from viz.components.shared.output_step import Candidate, OutputStep
from viz.components.token_strip import StripToken, token_strip
from viz.pages.shared.attention_view import viewer
from viz.theme import palette
from viz.viewer.viewer_run import ViewerRun


def show_viewer() -> None:
    """The viewer of a synthetic run."""
    show_held(
        lambda: held_run(
            (ASKED.number("layers", 6), ASKED.number("heads", 8)),
            (ASKED.number("queries", 9), ASKED.number("keys", 13)),
            padding=ASKED.number("padding", 0),
            has_scores=ASKED.number("scores", 0) == 1,
            turned=st.session_state.get("turned", 0),
        )
    )


def show_run() -> None:
    """The viewer of a small model's run."""
    run = ASKED.word("kind", ""), ASKED.word("text", TEXT), ASKED.word("target", "")
    knows_all = ASKED.word("known", "all") == "all"
    show_held(lambda: held_of(*run, ASKED.number("sharpness", 1), knows_all=knows_all))


@st.fragment
def show_held(held: Callable[[], ViewerRun]) -> None:
    if st.button("another run"):
        st.session_state["turned"] = st.session_state.get("turned", 0) + 1
    choice = viewer(held(), key=f"viewer {ASKED.text}")
    st.text(f"chosen: {choice.attention}, layer {choice.layer}, head {choice.head}, cell {choice.cell}")
    st.text(f"heads {choice.heads}, mass {choice.mass}, families {choice.families}")


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
    """A prediction board with one row or more; every third place is closed."""
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


@st.fragment
def show_tree() -> None:
    """The tree of a synthetic search."""
    nodes, hypotheses, cuts = made_up_search(ASKED.number("beam", 4), ASKED.number("steps", 9))
    of_last_step = next(i for i, node in enumerate(nodes) if node.depth == len(cuts) - 1)

    def choose(selection: TreeSelection) -> None:
        pick(selection)
        if isinstance(selection, Chosen):
            st.session_state[f"node {ASKED.text}"] = selection.node

    beam_tree(
        nodes,
        hypotheses,
        given=1,
        cuts=cuts,
        more=[0] * len(cuts),
        selected=st.session_state.get(f"node {ASKED.text}", of_last_step),
        colors=COLORS,
        key=f"tree {ASKED.text}",
        on_select=choose,
    )
    st.text(f"picked {picked()}")


@st.fragment
def show_next() -> None:
    """Next-token candidates from a made-up vocabulary."""
    next_tokens(
        next_logits(ASKED.number("tokens", 6_000)),
        words(40),
        open_tokens=[i != 3 for i in range(40)],
        chosen=1,
        settings=Reshaping(),
        colors=COLORS,
        key=f"next {ASKED.text}",
        on_select=pick,
    )
    st.text(f"picked {picked()}")


SHOW = {
    "viewer": show_viewer,
    "run": show_run,
    "tokens": show_tokens,
    "steps": show_steps,
    "board": show_board,
    "tree": show_tree,
    "next": show_next,
}
COLORS = palette("light")
st.set_page_config(layout="wide")
ASKED = Asked()
if ASKED.view:
    SHOW[ASKED.view]()
    ASKED.say_shown()
