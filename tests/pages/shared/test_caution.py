"""Warnings next to an output: every page that takes a sentence says which words the model doesn't know."""

from __future__ import annotations

import pytest

from tests.pages.app import open_app


@pytest.mark.parametrize("page, more", [("explore", {}), ("decode", {}), ("learn", {"lesson": "tokens"})])
def test_words_that_the_vocabulary_lacks_are_named_once(page: str, more: dict[str, str]) -> None:
    app = open_app(page, text="My xylograph eats <zebroid, xylograph!", **more)
    assert not app.exception
    (warning,) = [one.value for one in app.warning if "vocabulary" in one.value]
    assert "`xylograph`" in warning
    assert "`<`" in warning, "what was typed is no Markdown"
    assert warning.count("xylograph") == 1
    assert "my" not in warning.lower().split("vocabulary:")[1].split()


def test_known_words_need_no_warning() -> None:
    assert not open_app("explore", text="my dog sleeps.").warning
