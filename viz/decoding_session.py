"""What the Decode page keeps: searches and drawn sentences, shared; and where a person is in theirs.

A person's place (the prefix that the search began behind, the step, the node, the sampler's settings) has no
widget: `viz.address` keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from transformer.decoding.beam_tree import BeamTree
from transformer.model_input import beginning
from transformer.run import Run, draw_target, encode_sentence, force, search
from transformer.text.words import clean
from viz.address import remembered
from viz.session import (
    TOP_K,
    ModelChoice,
    current_choice,
    load_model,
    run_cache,
)
from viz.text_session import right_answers_of

MOST_SEARCHES = 64
_PREFIX, _EARLIER = "beam_prefix", "earlier prefixes"


@st.cache_resource(max_entries=MOST_SEARCHES, show_spinner=False)
def search_of(
    choice: ModelChoice, text: str, prefix: tuple[int, ...], beam_size: int, alpha: float
) -> BeamTree:
    """The beam search of a sentence behind a prefix of its target.

    Raises:
        SentenceError: for a sentence that can't be run.
    """
    loaded = load_model(choice)
    source = encode_sentence(loaded, "source", text, "sentence")
    return search(loaded, source, beam_size=beam_size, alpha=alpha, prefix=prefix)


@st.cache_resource(max_entries=MOST_SEARCHES, show_spinner=False)
def drawn_target(
    choice: ModelChoice,
    text: str,
    prefix: tuple[int, ...],
    temperature: float,
    top_k: int,
    top_p: float,
    seed: int,
) -> tuple[tuple[int, ...], bool]:
    """A target drawn at random behind a prefix: its ids, and whether it came to an end.

    Raises:
        SentenceError: for a sentence that can't be run.
    """
    loaded = load_model(choice)
    source = encode_sentence(loaded, "source", text, "sentence")
    ids, ended = draw_target(
        loaded, source, seed=seed, temperature=temperature, top_k=top_k, top_p=top_p, prefix=prefix
    )
    return tuple(ids), ended


def run_of_ids(choice: ModelChoice, text: str, ids: tuple[int, ...], *, ends: bool = True) -> Run:
    """The run of a sentence with a target of these ids, from the cache or now.

    Args:
        choice: the model.
        text: the source or prompt.
        ids: of the target, without what begins and ends it.
        ends: whether the target ends with the last of them.

    Raises:
        SentenceError: for a sentence that can't be run; the message is for people.
    """
    loaded = load_model(choice)
    source = encode_sentence(loaded, "source", text, "sentence")
    return run_cache().get(
        ("ids", choice, text, ids, ends),
        lambda: force(loaded, source, loaded.target.of_ids(ids), top_k=TOP_K, ends=ends),
    )


def right_translations(text: str) -> list[str]:
    """The right translations of a sentence that is one of the current model's examples; else none."""
    return right_answers_of(current_choice().name).get(clean(text), [])


def longest_prefix(choice: ModelChoice, text: str) -> int:
    """The most tokens of a sentence's target that a search can begin behind: one is still to come.

    Raises:
        SentenceError: for a sentence that can't be run.
    """
    loaded = load_model(choice)
    return beginning(loaded, encode_sentence(loaded, "source", text, "sentence")).limit - 1


def current_prefix(choice: ModelChoice, text: str, longest: int) -> tuple[int, ...]:
    """The ids that this person lets the targets of the sentence begin with; none that make no prefix.

    Of more than `longest` the first.
    """
    written = remembered(_PREFIX, "", (choice, text))
    if not written:
        st.session_state[_EARLIER] = []
    loaded = load_model(choice)
    size = loaded.model.config.tgt_vocab_size
    never = {*loaded.target.specials.never, *loaded.end_ids}
    ids = [int(part) for part in written.split(",") if part.isdecimal() and len(part) < 10]
    words = [token for token in ids if token < size and token not in never]
    return tuple(words[:longest])


def begin_behind(prefix: Sequence[int]) -> None:
    """Let the search begin behind these ids; `go_back` undoes it. To be called from a callback."""
    st.session_state.setdefault(_EARLIER, []).append(st.session_state[_PREFIX])
    st.session_state[_PREFIX] = ",".join(map(str, prefix))


def go_back() -> None:
    """Let the search begin where it did before the last `begin_behind`. To be called from a callback."""
    earlier = st.session_state.get(_EARLIER, [])
    st.session_state[_PREFIX] = earlier.pop() if earlier else ""


def begin_anew() -> None:
    """Let the search begin at its first token again. To be called from a callback."""
    st.session_state[_PREFIX] = ""
