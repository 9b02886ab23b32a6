"""What a user has typed, what the boxes begin with, and the examples.

A model without a tokenizer reads ids of tokens. They have boxes of their own, so that sentences are there
again when the next model is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import streamlit as st

from transformer.files import ASSETS
from transformer.loaded import LoadedModel
from transformer.text.ids import IdCoder
from transformer.text.words import clean
from viz import address
from viz.address import as_typed
from viz.session import current_model

EXAMPLES = ASSETS / "examples.tsv"
"""A line each, with tabs between: a shipped model, what is to be seen, a sentence, right translations."""
DEFAULT_SENTENCE = "Yesterday I saw a black cat."
DEFAULT_SYMBOLS = "m 7 a 3 k 2"
"""What the box of digits and letters begins with."""
DEFAULT_BATCH = "I like the cats.\nMy sister is younger than your brother.\nYesterday I saw a black cat."
"""The Masks page's sentences, one per line."""


class Boxes(NamedTuple):
    """The keys of the boxes that a model's texts are typed into."""

    text: str
    target: str
    batch: str


WORDS = Boxes("text", "target", "batch")
NUMBERS = Boxes("numbers", "target_numbers", "number_batch")
SYMBOLS = "symbols"
"""The key of the box for the Training page's tasks of digits and letters."""
_DEFAULT_TEXTS = {
    **dict(zip(WORDS, (DEFAULT_SENTENCE, "", DEFAULT_BATCH), strict=True)),
    **dict.fromkeys(NUMBERS, ""),
    SYMBOLS: DEFAULT_SYMBOLS,
}
_BEGUN = "begun_numbers"
"""What the boxes of numbers began with: it depends on the model."""

_OFTEN_SPECIAL = frozenset(range(4))
"""Padding, beginning, end and unknown in most vocabularies, whether or not the files say so."""
_GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it, modulo 1, spread evenly however many there are."""


def reads_ids(loaded: LoadedModel) -> bool:
    """Whether a model came without a tokenizer, so that ids are typed for it."""
    return isinstance(loaded.source, IdCoder)


def boxes_of(loaded: LoadedModel) -> Boxes:
    """The boxes for what a model reads."""
    return NUMBERS if reads_ids(loaded) else WORDS


def texts_from_address() -> None:
    """Take the sentences from the address where it decides: at the first visit, after Back and Forward."""
    for key, default in _defaults().items():
        if address.is_to_be_read(key):
            st.session_state[key] = address.read(key, default)
        else:
            # Set again, or the box of the page that is opened next would begin empty.
            st.session_state[key] = st.session_state[key]


def begin_numbers(loaded: LoadedModel) -> None:
    """Let untouched boxes of numbers begin with ids that a model without a tokenizer has.

    To be called once the model is chosen, before its boxes are drawn.
    """
    if not reads_ids(loaded):
        return
    before = _defaults()
    begun = _first_numbers(loaded)
    for key, text in begun.items():
        if st.session_state[key] == before[key]:
            st.session_state[key] = text
    st.session_state[_BEGUN] = begun


def _first_numbers(loaded: LoadedModel) -> dict[str, str]:
    """What untouched boxes of numbers begin with."""
    return {
        NUMBERS.text: example_ids(loaded, 6),
        NUMBERS.batch: f"{example_ids(loaded, 3)}\n{example_ids(loaded, 6)}",
    }


def _defaults() -> dict[str, str]:
    return _DEFAULT_TEXTS | st.session_state.get(_BEGUN, {})


def texts_to_address() -> None:
    """Write the sentences into the address: in each run of the page, and in a fragment that has a box."""
    for key, default in _defaults().items():
        address.write(key, st.session_state[key], default)


def use_sentence(boxes: Boxes, text: str, target: str = "") -> None:
    """Put a sentence into its box, as if it had been typed. To be called from a callback."""
    st.session_state[boxes.text], st.session_state[boxes.target] = text, target


def current_texts() -> tuple[str, str]:
    """What was typed for the current model: source and target; blank targets are the model's to make.

    Just as typed: each model's coder reads spaces and invisible characters in its own way.
    """
    boxes = boxes_of(current_model())
    return as_typed(st.session_state[boxes.text]), as_typed(st.session_state[boxes.target])


def texts_said(loaded: LoadedModel, said: Mapping[str, str]) -> tuple[str, str]:
    """What an address has in the boxes of a model: source and target, just as typed."""
    boxes = boxes_of(loaded)
    defaults = _DEFAULT_TEXTS | (_first_numbers(loaded) if reads_ids(loaded) else {})
    text, target = (as_typed(said.get(key, defaults[key])) for key in (boxes.text, boxes.target))
    return text, target


def cleaned_text(key: str) -> str:
    """What was typed into a box, whatever the current model reads; see `clean`."""
    return clean(st.session_state[key])


def current_batch() -> list[str]:
    """The sentences of the Masks page, one per line, without the blank lines."""
    lines = st.session_state[boxes_of(current_model()).batch].splitlines()
    return [as_typed(line) for line in lines if clean(line)]


def examples_of(model: str) -> dict[str, str]:
    """Sentences to try with a shipped model, and what each of them shows: word order, agreement, a name."""
    return {clean(sentence): shows for owner, shows, sentence, *_ in _examples() if owner == model}


def right_answers_of(model: str) -> dict[str, list[str]]:
    """The right translations of each sentence that is an example of a shipped model."""
    return {clean(sentence): right for owner, _, sentence, *right in _examples() if owner == model}


def _examples() -> list[list[str]]:
    return [line.split("\t") for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]


def example_ids(loaded: LoadedModel, n: int) -> str:
    """Write n ids of a model's vocabulary, as they are typed; none is special, where there are others."""
    config = loaded.model.config
    rows = config.src_vocab_size or config.tgt_vocab_size
    special = {*loaded.source.special_tokens.ids, *loaded.start_ids, *loaded.end_ids}
    for left_out in (special | _OFTEN_SPECIAL, special, set()):
        ordinary = np.delete(np.arange(rows), [index for index in left_out if 0 <= index < rows])
        if len(ordinary):
            break
    places = (int(len(ordinary) * (place * _GOLDEN % 1)) for place in range(1, n + 1))
    return " ".join(str(ordinary[place]) for place in places)
