"""What the names of parts reveal in users' own modules."""

from __future__ import annotations

import re
from typing import Literal

SideName = Literal["src", "tgt"]

_LONGEST = 100
"""Characters examined, from the end of a name: a hostile file may have very long names."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_BEHIND_SIDE = r"((emb|tok|pos|norm).*)?"
_SIDES: tuple[tuple[SideName, re.Pattern[str]], ...] = (
    ("src", re.compile(rf"(src|source){_BEHIND_SIDE}")),
    ("tgt", re.compile(rf"(tgt|trg|target){_BEHIND_SIDE}")),
)
_WEAK_SIDES: tuple[tuple[SideName, re.Pattern[str]], ...] = (
    ("src", re.compile(rf"(enc|encoder|inp|input){_BEHIND_SIDE}")),
    ("tgt", re.compile(rf"(dec|decoder|out|output){_BEHIND_SIDE}")),
)
_EMBEDDINGS = frozenset(("wte", "lut"))
_EMBEDDINGS_END = ("emb", "embed", "embedding", "embeddings")
_LINEAR_LAYERS = frozenset(
    ("generator", "lm", "head", "fc", "linear", "out", "output", "vocab", "readout", "predictor")
)
_LINEAR_LAYERS_BEGIN = ("proj", "logit", "classif", "unemb")
_POSITIONS = frozenset(("pe", "wpe", "time"))


def words(name: str) -> list[str]:
    """The words in a name, separated by dots, underscores, digits or capitals."""
    return [word.lower() for word in _WORD.findall(name[-_LONGEST:])]


def is_positions(name: str) -> bool:
    """True for the name of a position table."""
    return any(
        word in _POSITIONS
        or (word.startswith("pos") and not word.startswith("post"))
        or word.endswith("pos")
        or "position" in word
        for word in words(name)
    )


def is_embedding(name: str) -> bool:
    """True for a name that is used only for embeddings."""
    return any(
        word in _EMBEDDINGS or word.startswith(("emb", "tok")) or word.endswith(_EMBEDDINGS_END)
        for word in words(name)
        if not word.startswith("unemb")
    )


def is_linear(name: str) -> bool:
    """True if the name contains a word used for a model's last linear layer."""
    return any(word in _LINEAR_LAYERS or word.startswith(_LINEAR_LAYERS_BEGIN) for word in words(name))


def is_decoder(name: str) -> bool:
    """True if the module itself is called decoder: an embedding, or the linear layer of a single stack."""
    return name.removesuffix(".weight").rpartition(".")[2] in ("decoder", "dec")


def side_of(name: str) -> SideName | None:
    """The side in a name, None if neither or both; src and tgt take precedence over encoder and out."""
    of_name = words(name)
    # "pos_enc" is a positional encoding, on either side.
    of_name = [
        word
        for before, word in zip(["", *of_name], of_name, strict=False)
        if not (word == "enc" and before.startswith("pos"))
    ]
    for known in (_SIDES, _WEAK_SIDES):
        told = {side for word in of_name for side, pattern in known if pattern.fullmatch(word)}
        if told:
            return told.pop() if len(told) == 1 else None
    return None
