"""Two texts compared: the words that differ are named, and marked so that the text itself is unchanged."""

from __future__ import annotations

import re

import pytest

from viz.pages.shared.changed_words import differences, marked

MARK = re.compile(r":blue-background\[\*\*(.*?)\*\*\]")
ISOLATES = str.maketrans("", "", "\u2068\u2069")


@pytest.mark.parametrize(
    "before, now, expected",
    [
        ("troppo stanco.", "troppo larga.", "“stanco” → “larga”"),
        ("a b c", "a c", "“b” left out"),
        ("a c", "a b c", "“b” added"),
        ("a b c d e f g h", "1 b 2 d 3 f 4 h", "“a” → “1”, “c” → “2”, “e” → “3” and 1 more"),
        ("L'animale è qui", "L'animale è qui", ""),
        ("x *a* y", "x *`* y", r"“a” → “\`”"),
    ],
)
def test_differences_are_named_word_by_word(before: str, now: str, expected: str) -> None:
    assert differences(before, now).translate(ISOLATES) == expected


@pytest.mark.parametrize(
    "before, now, gone, new",
    [
        ("era troppo stanco.", "era troppo larga.", ["stanco"], ["larga"]),
        ("non ha attraversato la strada", "non attraversò la strada", ["ha attraversato"], ["attraversò"]),
        ("a b c", "a c", ["b"], []),
        ("L'animale", "Un animale", ["L'"], ["Un"]),
        ("lo stesso", "lo stesso", [], []),
        ("", "nuovo", [], ["nuovo"]),
    ],
)
def test_words_without_a_counterpart_are_marked_in_their_text(
    before: str, now: str, gone: list[str], new: list[str]
) -> None:
    shown = marked(before, now)
    assert [MARK.findall(text) for text in shown] == [gone, new]
    texts = [MARK.sub(r"\1", text).translate(ISOLATES) for text in shown]
    assert texts == [before or "(nothing)", now]


def test_a_text_is_never_markdown() -> None:
    """A list, a heading or a directive in an output is shown as it was written."""
    old, new = marked("1. *a*  :red[b]", "1. *c*  :red[b]")
    assert old == "\u20681. \\*:blue-background[**a**]\\*  \\:red\\[b\\]\u2069"
    assert MARK.findall(new) == ["c"]
