"""Embeddings stored under the generator's name alone, or with other rows than config.json says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.family import Family, Patterns
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import shown

_SIZES = {"src_embedding.weight": "src_vocab_size", "tgt_embedding.weight": "tgt_vocab_size"}
_EMBEDDINGS = tuple(_SIZES)
_GENERATOR = "generator.weight"


def has_generator(names: Iterable[str], families: Iterable[Family]) -> bool:
    """Whether a tensor is called as some family's generator, with any prefix."""
    endings = tuple(f".{name}" for family in families for name in _foreign_names(family).get(_GENERATOR, ()))
    return any(f".{name}".endswith(endings) for name in names)


def with_tied_names(raw: RawCheckpoint, family: Family) -> RawCheckpoint:
    """Give the generator's matrix the embedding's name too, if the files have no embedding.

    Programs that store a tied matrix once may keep either name. Nothing is added where config.json says that
    the two are not tied, where a model of the family may lack its embedding, or where a tensor of an unknown
    name may be it.

    Args:
        raw: the checkpoint with its tensors under the family's names.
        family: its family.
    """
    if family.renames is None or raw.json("config.json").get("tie_word_embeddings") is False:
        return raw
    theirs = _foreign_names(family)
    embeddings = [name for ours in _EMBEDDINGS for name in theirs.get(ours, ())]
    matrix = next((raw.tensors[name] for name in theirs.get(_GENERATOR, ()) if name in raw.tensors), None)
    if matrix is None or len(matrix.shape) != 2 or any(name in raw.tensors for name in embeddings):
        return raw
    known, may_lack = Patterns(family.renames), Patterns(family.stand_ins(raw))
    found = {name: known.find(name) for name in raw.tensors}
    has_layers = any(pattern and pattern[1] for pattern in found.values())
    if not has_layers or any(raw.tensors[name].shape == matrix.shape and not found[name] for name in found):
        return raw
    added = {
        theirs[ours][0]: matrix for ours in _EMBEDDINGS if ours in theirs and may_lack.find(ours) is None
    }
    return replace(raw, tensors={**added, **raw.tensors}) if added else raw


def take_rows(draft: ConfigDraft, family: Family) -> None:
    """Take the rows of a resized embedding as its vocabulary, where config.json has the size before."""
    theirs = _foreign_names(family)
    for ours, size in _SIZES.items():
        setting = draft.settings.get(size)
        if setting is None or setting.source != "config":
            continue
        stored = next(
            (draft.raw.tensors[one] for one in theirs.get(ours, ()) if one in draft.raw.tensors), None
        )
        if stored is None or len(stored.shape) != 2 or setting.value in stored.shape:
            continue
        rows = stored.shape[0]
        draft.put(size, rows, "shapes", f"axis 0 of {stored.name}, where {setting.why} says {setting.value}")
        draft.note(
            f"The embedding {shown(stored.name)} has {rows:,} rows, and config.json says {setting.value:,}: "
            "the vocabulary was resized, and its rows are taken."
        )


def _foreign_names(family: Family) -> dict[str, list[str]]:
    """The embeddings and the generator -> their names in the files."""
    theirs: dict[str, list[str]] = {}
    for name, into in (family.renames or {}).items():
        ours = into.names
        if len(ours) == 1 and ours[0] in (*_EMBEDDINGS, _GENERATOR):
            theirs.setdefault(ours[0], []).append(name)
    return theirs
