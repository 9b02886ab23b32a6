"""The texts that a user has typed, the initial content of the boxes, and the example sentences.

Models without a tokenizer read ids, which have boxes of their own, so that the user's sentences are still
there when another model is chosen.
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

EXAMPLES = ASSETS / "examples.tsv"
"""Tab-separated, one example per line: a shipped model, what to notice, a sentence, correct translations."""
DEFAULT_SENTENCE = "The animal didn't cross the street because it was too tired."
DEFAULT_SYMBOLS = "m 7 a 3 k 2"
"""The initial content of the box for digits and letters."""
DEFAULT_BATCH = "I like the cats.\nMy sister is younger than your brother.\nYesterday I saw a black cat."
"""The Masks page's initial sentences, one per line."""


class Boxes(NamedTuple):
    """The keys of a model's text boxes."""

    text: str
    target: str
    batch: str


WORDS = Boxes("text", "target", "batch")
IDS = Boxes("numbers", "target_numbers", "number_batch")
SYMBOLS = "symbols"
"""The key of the box for the Training page's tasks of digits and letters."""
_DEFAULT_TEXTS = {
    **dict(zip(WORDS, (DEFAULT_SENTENCE, "", DEFAULT_BATCH), strict=True)),
    **dict.fromkeys(IDS, ""),
    SYMBOLS: DEFAULT_SYMBOLS,
}
_FIRST_TEXTS = "first texts"
"""Session key of the initial content of the boxes that depend on the model."""

_OFTEN_SPECIAL = frozenset(range(4))
"""Padding, start, end and unknown in most vocabularies, whether or not the files say so."""
_GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it, modulo 1, are evenly spread, however many."""


def reads_ids(loaded: LoadedModel) -> bool:
    """True for a model without a tokenizer, whose input is typed as ids."""
    return isinstance(loaded.source, IdCoder)


def boxes_of(loaded: LoadedModel) -> Boxes:
    """The boxes for a model's texts."""
    return IDS if reads_ids(loaded) else WORDS


def texts_from_address() -> None:
    """Read the sentences from the address at the first visit, and after Back or Forward."""
    for key, default in _defaults().items():
        if address.is_to_be_read(key):
            st.session_state[key] = address.read(key, default)
        else:
            # Set again, or the box would be empty on the next page.
            st.session_state[key] = st.session_state[key]


def fill_boxes(loaded: LoadedModel) -> None:
    """Fill untouched boxes with what the model knows: an example of its own, or ids if it has no tokenizer.

    To be called once the model is chosen and before its boxes are drawn.
    """
    before, first = _defaults(), _first_texts(loaded)
    for key, text in first.items():
        if st.session_state[key] == before[key] and key not in st.query_params:
            st.session_state[key] = text
    st.session_state[_FIRST_TEXTS] = st.session_state.get(_FIRST_TEXTS, {}) | first


def _first_texts(loaded: LoadedModel) -> dict[str, str]:
    """The initial content of a model's boxes, by key."""
    if reads_ids(loaded):
        return {
            IDS.text: example_ids(loaded, 6),
            IDS.batch: f"{example_ids(loaded, 3)}\n{example_ids(loaded, 6)}",
        }
    return {WORDS.text: first_sentence(loaded.name)}


def _defaults() -> dict[str, str]:
    return _DEFAULT_TEXTS | st.session_state.get(_FIRST_TEXTS, {})


def texts_to_address() -> None:
    """Write the sentences to the address; to be called in each run of a page, or of a fragment with a box."""
    for key, default in _defaults().items():
        address.write(key, st.session_state[key], default)


def use_sentence(boxes: Boxes, text: str, target: str = "") -> None:
    """Put a sentence into its box, as if typed. To be called from a callback."""
    st.session_state[boxes.text], st.session_state[boxes.target] = text, target


def typed_texts(loaded: LoadedModel) -> tuple[str, str]:
    """Source and target, exactly as typed for a model; the target is blank if the model is to generate it.

    Each model's coder treats spaces and invisible characters in its own way.
    """
    boxes = boxes_of(loaded)
    return as_typed(st.session_state[boxes.text]), as_typed(st.session_state[boxes.target])


def texts_in_address(loaded: LoadedModel, values: Mapping[str, str]) -> tuple[str, str]:
    """Source and target of a model, exactly as typed, from an address's values by name."""
    boxes = boxes_of(loaded)
    defaults = _DEFAULT_TEXTS | _first_texts(loaded)
    text, target = (as_typed(values.get(key, defaults[key])) for key in (boxes.text, boxes.target))
    return text, target


def cleaned_text(key: str) -> str:
    """The text of a box, cleaned by `clean`, whichever model is chosen."""
    return clean(st.session_state[key])


def typed_batch(loaded: LoadedModel) -> list[str]:
    """The sentences of the Masks page, one per line, without blank lines."""
    lines = st.session_state[boxes_of(loaded).batch].splitlines()
    return [as_typed(line) for line in lines if clean(line)]


def examples_of(model: str) -> dict[str, str]:
    """Sentences to try with a shipped model, each with what it shows: word order, agreement, a name."""
    return {clean(sentence): shows for owner, shows, sentence, *_ in _examples() if owner == model}


def first_sentence(model: str) -> str:
    """The sentence on which a model opens: the first example of a shipped one, or else the usual one."""
    return next(iter(examples_of(model)), DEFAULT_SENTENCE)


def right_answers_of(model: str) -> dict[str, list[str]]:
    """The correct translations of each example sentence of a shipped model."""
    return {clean(sentence): right for owner, _, sentence, *right in _examples() if owner == model}


def _examples() -> list[list[str]]:
    return [line.split("\t") for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]


def example_ids(loaded: LoadedModel, n: int) -> str:
    """Write n ids of a model's vocabulary as a user would type them, avoiding special ones if possible."""
    config = loaded.model.config
    rows = config.src_vocab_size or config.tgt_vocab_size
    special = {*loaded.source.special_tokens.ids, *loaded.start_ids, *loaded.end_ids}
    for left_out in (special | _OFTEN_SPECIAL, special, set()):
        ordinary = np.delete(np.arange(rows), [index for index in left_out if 0 <= index < rows])
        if len(ordinary):
            break
    places = (int(len(ordinary) * (place * _GOLDEN % 1)) for place in range(1, n + 1))
    return " ".join(str(ordinary[place]) for place in places)
