"""State of the Decode page: searches and sampled sentences, shared; and each user's place in a search.

The place (the prefix that the search starts from, the step, the node, the sampler's settings) has no widget:
`viz.address` stores it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from transformer.decoding.beam_tree import BeamTree
from transformer.decoding.request import Target
from transformer.loaded import GenerationSettings
from transformer.model_input import beginning, no_repeat_ngram_size
from transformer.run import Run, draw_target, encode_sentence, force, search
from transformer.text.coder import EncodedSentence
from transformer.text.words import clean
from viz.address import remembered, whole_numbers
from viz.components.next_tokens import Reshaping
from viz.session import TOP_K, ModelChoice, load_model, run_cache
from viz.text_session import right_answers_of

MOST_SEARCHES = 64
BEAM_SIZE, ALPHA = 4, 1.0
"""The initial settings where the model has none of its own."""
_PREFIX, _EARLIER = "beam_prefix", "earlier prefixes"


@dataclass(frozen=True)
class Search:
    """Everything that determines a search: hashable, and so its cache key.

    Attributes:
        choice: the model.
        text: the source or prompt.
        prefix: ids that every target starts with.
        beam_size: hypotheses kept at each step.
        alpha: strength of the length penalty.
        no_repeat: length of n-grams that may not repeat, if `settings` is None.
        settings: the model's own settings, if the search uses them.
    """

    choice: ModelChoice
    text: str
    prefix: tuple[int, ...]
    beam_size: int
    alpha: float
    no_repeat: int = 0
    settings: GenerationSettings | None = None


def first_search(choice: ModelChoice, text: str) -> Search:
    """The search that the page shows first."""
    loaded = load_model(choice)
    own = loaded.settings
    if own.are_greedy:
        return Search(choice, text, (), BEAM_SIZE, ALPHA, no_repeat_ngram_size(loaded))
    return Search(choice, text, (), own.beam_size, own.length_penalty, settings=own)


@st.cache_resource(max_entries=MOST_SEARCHES, show_spinner=False)
def tree_of(asked: Search) -> BeamTree:
    """The beam search of a sentence.

    Raises:
        SentenceError: the sentence can't be run.
    """
    return search(
        load_model(asked.choice),
        _source(asked.choice, asked.text),
        beam_size=asked.beam_size,
        alpha=asked.alpha,
        prefix=asked.prefix,
        settings=asked.settings,
        no_repeat=asked.no_repeat,
    )


@st.cache_resource(max_entries=MOST_SEARCHES, show_spinner=False)
def sampled_target(
    choice: ModelChoice, text: str, prefix: tuple[int, ...], settings: Reshaping, seed: int
) -> Target:
    """A target sampled from a prefix on.

    Raises:
        SentenceError: the sentence can't be run.
    """
    return draw_target(
        load_model(choice),
        _source(choice, text),
        seed=seed,
        temperature=settings.temperature,
        top_k=settings.top_k,
        top_p=settings.top_p,
        prefix=prefix,
    )


def run_of_ids(choice: ModelChoice, text: str, ids: tuple[int, ...], *, ends: bool = True) -> Run:
    """The run of a sentence with a target of these ids, from the cache or computed now.

    Args:
        choice, text: the model, and its source or prompt.
        ids: the target's ids, without start and end tokens.
        ends: True if the target ends after them.

    Raises:
        SentenceError: the sentence can't be run; the message is for users.
    """
    loaded, source = load_model(choice), _source(choice, text)
    run: Run = run_cache().get(
        ("ids", choice, text, ids, ends),
        lambda: force(loaded, source, loaded.target.describe_ids(ids), top_k=TOP_K, ends=ends),
    )
    return run


def _source(choice: ModelChoice, text: str) -> EncodedSentence:
    return encode_sentence(load_model(choice), "source", text, "sentence")


def right_translations(choice: ModelChoice, text: str) -> list[str]:
    """The correct translations of a model's example sentence; empty for any other sentence."""
    return right_answers_of(choice.name).get(clean(text), [])


def longest_prefix(choice: ModelChoice, text: str) -> int:
    """The length of the longest prefix that a search can start from, which leaves room for one token.

    Raises:
        SentenceError: the sentence can't be run.
    """
    return beginning(load_model(choice), _source(choice, text)).limit - 1


def current_prefix(choice: ModelChoice, text: str, longest: int) -> tuple[int, ...]:
    """The prefix that this user has chosen for a sentence's targets, at most `longest` ids.

    Ids that can't be in a prefix are dropped.
    """
    written = remembered(_PREFIX, "", (choice, text))
    if not written:
        st.session_state[_EARLIER] = []
    loaded = load_model(choice)
    size = loaded.model.config.tgt_vocab_size
    excluded = {*loaded.target.special_tokens.suppressed, *loaded.end_ids}
    ids = [token for token in whole_numbers(written) if token < size and token not in excluded]
    return tuple(ids[:longest])


def search_after(prefix: Sequence[int]) -> None:
    """Restart the search from this prefix; `go_back` undoes it. To be called from a callback."""
    st.session_state.setdefault(_EARLIER, []).append(st.session_state[_PREFIX])
    st.session_state[_PREFIX] = ",".join(map(str, prefix))


def go_back() -> None:
    """Undo the last `search_after`. To be called from a callback."""
    earlier = st.session_state.get(_EARLIER, [])
    st.session_state[_PREFIX] = earlier.pop() if earlier else ""


def search_from_the_beginning() -> None:
    """Restart the search without a prefix. To be called from a callback."""
    st.session_state[_PREFIX] = ""
