"""The Decode page in a test, with an example, and the search that it shows."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from tests.pages.app import open_app
from transformer.checkpoints.opening import open_model
from transformer.decoding.beam_tree import BeamTree
from transformer.run import encode_sentence, search

SENTENCE = "my sister is younger than your brother."
RIGHT = "mia sorella è più giovane di tuo fratello."
FORCING = ("forcing_forced", "forcing_free")
"""The viewers of both runs."""


def open_decode(section: str = "Search", **address: str) -> AppTest:
    app = open_app("decode", text=SENTENCE, section=section, **address)
    assert not app.exception
    return app


def tree_of(beam_size: int = 4, alpha: float = 1.0, prefix: tuple[int, ...] = ()) -> BeamTree:
    loaded = open_model("toy-en-it")
    source = encode_sentence(loaded, "source", SENTENCE, "sentence")
    return search(loaded, source, beam_size=beam_size, alpha=alpha, prefix=prefix)
