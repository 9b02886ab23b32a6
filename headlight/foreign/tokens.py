"""The tokens of another library's tokenizer, checked and rewritten as the text that they spell."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import TypeAlias

from transformer.text.spelling import MARK, SURROGATES, byte_of_character, bytes_in_alphabet, legible
from viz.viewer.sides import foreign_side

Tokens: TypeAlias = Sequence[str]

_SPACE, _NEWLINE = "Ġ", "Ċ"
"""A space and the end of a line in GPT-2's tokens."""
_END = "</w>"
"""How CLIP's and XLM's tokens end a word."""


def read_tokens(
    tokens: Tokens | None, count: int, what: str, of: str, *, generated: bool = False
) -> tuple[str, ...]:
    """Check that there is one token for each query or key.

    Args:
        tokens: the tokens.
        count: their number.
        what: their name in messages.
        of: what they are the tokens of, in messages.
        generated: True if there may be one more, the last, that `generate` wrote and never read.

    Raises:
        TypeError: ids or a text were passed.
        ValueError: there are more or fewer tokens, or none.
    """
    if tokens is None:
        raise ValueError(f"There are no {what}: pass the {count} tokens of the {of}.")
    listed = () if isinstance(tokens, str) else tuple(tokens)
    if not listed or not all(isinstance(token, str) for token in listed):
        raise TypeError(
            f"{what} must be a list of tokens, such as tokenizer.convert_ids_to_tokens(input_ids[0]) gives."
        )
    if generated and len(listed) == count + 1:
        return listed[:-1]
    if len(listed) != count:
        cut = " If the others are padding, cut them from the weights too." if len(listed) < count else ""
        raise ValueError(f"There are {len(listed)} {what} for {count} {of}.{cut}")
    return listed


def pretty(tokens: Tokens) -> tuple[str, ...]:
    """Rewrite tokens in GPT-2's alphabet as the text that they spell, with ▁ for a space."""
    special = foreign_side(tokens).special
    texts = [token if i in special else token.removesuffix(_END) or token for i, token in enumerate(tokens)]
    if not _is_spelled_in_bytes([text for i, text in enumerate(texts) if i not in special]):
        return tuple(texts)
    return tuple(text if i in special else legible(byte_of_character(text)) for i, text in enumerate(texts))


def text_of(tokens: Tokens) -> str:
    """The text of tokens without the special ones, about as it was typed."""
    special = foreign_side(tokens).special
    own = [token for i, token in enumerate(tokens) if i not in special]
    if any(MARK in token for token in own):
        return "".join(own).replace(MARK, " ").strip()
    return " ".join(own).replace(" ##", "")


def _is_spelled_in_bytes(tokens: Tokens) -> bool:
    """True if the tokens are in GPT-2's alphabet, in which a character stands for a byte.

    Without a space or the end of a line, the bytes have to spell more characters of several bytes than bytes
    that are no character: accented letters of ordinary tokens spell hardly any.
    """
    text = "".join(tokens)
    if MARK in text:
        return False
    if _SPACE in text or any(set(token) == {_NEWLINE} for token in tokens):
        return True
    spelled = b"".join(filter(None, map(bytes_in_alphabet, tokens)))
    # The decoder keeps a character that is cut off at the end.
    read = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(spelled)
    broken = len(SURROGATES.findall(read))
    return sum(not character.isascii() for character in read) > 2 * broken
