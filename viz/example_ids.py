"""Ids to try with a model that came without a tokenizer."""

from __future__ import annotations

from transformer.checkpoints.folder import LoadedModel

_OFTEN_SPECIAL = frozenset(range(4))
"""Padding, beginning, end and unknown in most vocabularies, whether or not the files say so."""
_GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it, modulo 1, spread evenly however many there are."""


def example_ids(loaded: LoadedModel, n: int) -> str:
    """Write n ids of a model's vocabulary, as they are typed; none is special, where there are others."""
    config, specials = loaded.model.config, loaded.source.specials
    rows = config.src_vocab_size or config.tgt_vocab_size
    named = (specials.pad, specials.bos, specials.eos, specials.unk, specials.mask)
    special = {*specials.never, *loaded.start_ids, *loaded.end_ids, *(i for i in named if i is not None)}
    left_out, ordinary = _most_left_out(rows, special)
    places = (int(ordinary * (place * _GOLDEN % 1)) for place in range(1, n + 1))
    return " ".join(str(_skipping(left_out, place)) for place in places)


def _most_left_out(rows: int, special: set[int]) -> tuple[list[int], int]:
    """The ids to leave out, in order, and how many remain: at least one."""
    for candidates in (special | _OFTEN_SPECIAL, special):
        left_out = sorted(index for index in candidates if 0 <= index < rows)
        if len(left_out) < rows:
            return left_out, rows - len(left_out)
    return [], rows


def _skipping(left_out: list[int], place: int) -> int:
    """The id at a place (from 0) among those that are not left out."""
    index = place
    for skipped in left_out:
        index += skipped <= index
    return index
