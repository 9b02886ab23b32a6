"""The bytes that tokens spell, and their readable form."""

from __future__ import annotations

import re
import unicodedata

MARK = "▁"
SURROGATES = re.compile("[\ud800-\udfff]")
"""Surrogates (halves of characters), which text libraries refuse."""

_SHOWN = frozenset((*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)))
_HIDDEN = sorted(frozenset(range(256)) - _SHOWN)
_BYTES = {chr(byte): byte for byte in _SHOWN} | {chr(256 + n): byte for n, byte in enumerate(_HIDDEN)}
"""GPT-2's alphabet -> byte: visible Latin-1 characters are themselves, other bytes are U+0100 and up."""


def byte_of_character(token: str) -> bytes:
    """The bytes that a token in GPT-2's alphabet spells; UTF-8 for a token outside it."""
    spelled = bytes_in_alphabet(token)
    return token.encode() if spelled is None else spelled


def bytes_in_alphabet(token: str) -> bytes | None:
    """The bytes that a token in GPT-2's alphabet spells; None for a token outside it."""
    if all(character in _BYTES for character in token):
        return bytes(_BYTES[character] for character in token)
    return None


def legible(spelled: bytes) -> str:
    """Bytes as readable text: ▁ for a space, <0x0A> for invisible or incomplete characters."""
    text = spelled.decode(errors="surrogateescape")
    return "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character == " ":
        return MARK
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Zs"):
        return "".join(f"<0x{byte:02X}>" for byte in character.encode(errors="surrogateescape"))
    return character
