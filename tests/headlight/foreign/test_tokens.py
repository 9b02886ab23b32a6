"""Tokens of another library's tokenizer are shown as the text that they spell."""

from __future__ import annotations

import pytest

import headlight
from tests.headlight.widgets import HEADS, weights
from tests.viz.mounted import unpack_frame


@pytest.mark.parametrize(
    "given, expected",
    [
        (["Ġthe", "Ġca", "fÃ©", "<|endoftext|>"], ["▁the", "▁ca", "fé", "<|endoftext|>"]),
        (["▁the", "cat", "Ġ"], ["▁the", "cat", "Ġ"]),
        (["the", "##s", "[SEP]"], ["the", "##s", "[SEP]"]),
        (["æĹ¥æľ¬", "èªŀ", "</s>"], ["日本", "語", "</s>"]),
        (["Ð¼Ð¸ÑĢ", "<｜end▁of▁sentence｜>"], ["мир", "<｜end▁of▁sentence｜>"]),
        (["æĹ", "¥", "æľ¬", "è"], ["<0xE6><0x97>", "<0xA5>", "本", "<0xE8>"]),
        (["<|user|>", "yes", "Ċ"], ["<|user|>", "yes", "<0x0A>"]),
        (["thÃ©</w>", "vert</w>"], ["thé", "vert"]),
        (["groß", "»", "älter"], ["groß", "»", "älter"]),
        (["čas", "ā", "ģ"], ["čas", "ā", "ģ"]),
    ],
)
def test_tokens_are_shown_as_ours_are(given: list[str], expected: list[str]) -> None:
    values = weights(1, HEADS, len(given), len(given))
    for prettify in (True, False):
        data, _ = unpack_frame(headlight.show_attention([values], given, prettify_tokens=prettify).frame)
        assert data["sides"]["encoder"]["tokens"] == (expected if prettify else given)


def test_special_tokens_are_told_from_bytes() -> None:
    given = ["<s>", "<0x0A>", "æĹ", "¥", "[SEP]"]
    data, _ = unpack_frame(headlight.show_attention([weights(1, HEADS, 5, 5)], given).frame)
    assert data["sides"]["encoder"]["tokens"] == ["<s>", "<0x0A>", "<0xE6><0x97>", "<0xA5>", "[SEP]"]
    assert data["sides"]["encoder"]["special"] == [0, 4]
