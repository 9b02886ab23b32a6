"""Whatever the library raises on a text, panics included, is reported as an error of the sentence."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from transformer.checkpoints.tokenizers.building import build
from transformer.checkpoints.tokenizers.library import LibraryCoder, LibraryTokenizer
from transformer.errors import SentenceError
from transformer.text.coder import SpecialTokens


def coder() -> LibraryCoder:
    """Make a coder whose pattern is too slow for a run of q; no probe has tried it."""
    split = {"type": "Split", "pattern": {"Regex": "(q+)+$"}, "behavior": "Isolated", "invert": False}
    model = {"type": "WordLevel", "vocab": {"5": 0, "[UNK]": 1}, "unk_token": "[UNK]"}
    plain = {"version": "1.0", "added_tokens": [], "model": model, "pre_tokenizer": split}
    built = build({"tokenizer.json": json.dumps(plain)}, "llama")
    assert isinstance(built, LibraryTokenizer)
    special_tokens = SpecialTokens(pad=None, bos=None, eos=None, unk=1)
    return LibraryCoder(built, rows=2, special_tokens=special_tokens, language=None)


def test_a_panic_at_a_typed_text_is_an_error_of_the_sentence() -> None:
    with pytest.raises(SentenceError, match="tokenizer fails on this text"):
        coder().encode("q" * 40 + "!")
    assert coder().encode("5").ids == [0]


def test_ids_that_the_library_fails_on_are_an_error_of_the_sentence() -> None:
    with pytest.raises(SentenceError, match="tokenizer fails on this text"):
        coder().decode([-1])


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_a_stopped_program_stops(stop: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped:
        def decode(self, ids: Sequence[int], *, skip_special_tokens: bool) -> str:
            raise stop

    stopped = coder()
    monkeypatch.setattr(stopped, "_tokenizer", Stopped())
    with pytest.raises(stop):
        stopped.decode([0])
