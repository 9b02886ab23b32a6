"""Where the norms of a layer are, as far as a user's mapping file tells it by the names that it maps to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from transformer.checkpoints.importing.family import Into
from transformer.checkpoints.importing.layout.operations import with_names

_PLAIN, _OF_OUTPUT = "norm.", "post_norm."
_NORM = re.compile(r"(?<=attn_|ward_)(?:post_)?norm\.")


def fitting(names: Iterable[str]) -> tuple[str, ...]:
    """Values of norm_position with as many norms as our names tell, the likeliest first.

    Without any norm it may be each: its weights may be stand-ins, or their lines missing.
    """
    kinds = _kinds(names)
    if kinds == {_PLAIN}:
        return "post", "pre", "output"
    if kinds:
        return ("output",) if kinds == {_OF_OUTPUT} else ("both",)
    return "post", "pre", "output", "both", "none"


def placed(table: Mapping[str, Into], names: Iterable[str], norm_position: str) -> Mapping[str, Into]:
    """The table of names for a model with this norm_position.

    The only norm of a sublayer may be called self_attn_norm wherever it is; in our model that of the
    sublayer's output is self_attn_post_norm.

    Args:
        table: foreign names to ours.
        names: those of ours for which there are tensors.
        norm_position: as in TransformerConfig.
    """
    if norm_position != "output" or _kinds(names) != {_PLAIN}:
        return table
    return {
        theirs: with_names(into, lambda name: _NORM.sub(_OF_OUTPUT, name)) for theirs, into in table.items()
    }


def _kinds(names: Iterable[str]) -> set[str]:
    return {found[0] for found in map(_NORM.search, names) if found}
