"""The layouts that Headlight ships, a YAML file each in transformer/checkpoints/layouts, and a user's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.family import Family, Patterns, StandIn
from transformer.checkpoints.importing.layout.conditions import holds
from transformer.checkpoints.importing.layout.file import (
    Layout,
    overlaid,
    read_layout,
)
from transformer.checkpoints.importing.layout.held import Held
from transformer.checkpoints.importing.layout.norm_places import placed
from transformer.checkpoints.importing.layout.our_names import pattern_of, weight_names
from transformer.checkpoints.importing.layout.questions import SINUSOIDS
from transformer.checkpoints.importing.layout.reading import Reading
from transformer.checkpoints.importing.layout.section_reader import nearest_name
from transformer.checkpoints.reading.folder_files import MAPPING
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError, shown

FOLDER = Path(__file__).parents[2] / "layouts"
WHAT = "The mapping file"


@cache
def files() -> Mapping[str, Path]:
    """The name of each layout, or part of layouts, and its file; the folders are for readers alone."""
    return {path.stem: path for path in sorted(FOLDER.rglob("*.yaml"), key=lambda path: path.stem)}


@cache
def names() -> tuple[str, ...]:
    """The names of all layouts in files; those that begin with _ are only parts of others."""
    return tuple(name for name in files() if not name.startswith("_"))


@cache
def layout(name: str) -> Layout:
    """A layout that Headlight ships."""
    path = files()[name]

    def base(other: str, reader: Any, node: Any) -> Layout:
        return layout(other)

    return read_layout(path.read_text(), name, path.name, base, trusted=True)


@cache
def family(name: str) -> Family:
    """The family of checkpoints with this layout."""
    return _family(layout(name), matches=lambda raw: holds(layout(name).recognise, raw))


@cache
def labels() -> Mapping[str, str]:
    """model_type in config.json -> the label of the layout that such models have."""
    found: dict[str, str] = {}
    for name in names():
        types = layout(name).recognise.get("model_type", ())
        for model_type in [types] if isinstance(types, str) else types:
            if model_type == name:
                found[model_type] = layout(name).label
            found.setdefault(model_type, layout(name).label)
    return found


def described_by_user(raw: RawCheckpoint) -> Family | None:
    """The family described by the checkpoint's mapping file; None without one.

    Raises:
        CheckpointError: for an invalid mapping file.
    """
    text = raw.texts.get(MAPPING)
    return None if text is None else _own(str(text))


@lru_cache(maxsize=8)
def _own(text: str) -> Family:
    def base(other: str, reader: Any, node: Any) -> Layout:
        if other not in names():
            raise reader.error(node, f"there is no layout {shown(other)}{nearest_name(other, names())}")
        return replace(layout(other), recognise={}, kin="", trait="", likely={}, label="", only={}, refuse=())

    own = _without_prefixes(read_layout(text, "described", WHAT, base))
    known = Patterns(own.names)

    def matches(raw: RawCheckpoint) -> bool:
        found = any(known.find(name) for name in raw.tensors)
        if found and not holds(own.recognise, raw):
            raise CheckpointError(
                f"{WHAT} is not for these files: a condition in its section recognise does not hold."
            )
        return found

    return _family(replace(own, label=own.label or "As its mapping file says"), matches=matches)


def _without_prefixes(own: Layout) -> Layout:
    """The layout with names that may be written with a prefix, which is removed from the tensors', too."""

    def bare(name: str) -> str:
        return name[len(next((one for one in own.prefixes if name.startswith(one)), "")) :]

    names = {bare(name): into for name, into in own.names.items()}
    ignored = {bare(name): why for name, why in own.ignored.items()}
    lines = {bare(name): line for name, line in own.ignored_lines.items()}
    return replace(own, names=names, ignored=ignored, ignored_lines=lines)


def _family(own: Layout, matches: Callable[[RawCheckpoint], bool]) -> Family:
    def resolved(raw: RawCheckpoint) -> Family:
        """The family with the variants that fit a checkpoint; those that depend on answers are left to it."""
        current = replace(own, variants=())
        for when, sections in own.variants:
            if "chosen" in when:
                current = replace(current, variants=(*current.variants, (when, sections)))
            elif holds(when, raw):
                current = overlaid(current, sections)
        return _as_family(current, matches)

    return replace(_as_family(own, matches), resolved=resolved if own.variants else None)


def _as_family(own: Layout, matches: Callable[[RawCheckpoint], bool]) -> Family:
    def read_config(draft: ConfigDraft) -> Family:
        reading = Reading(own, draft)
        reading.read()
        names = placed(reading.layout.names, reading.derived.held.patterns, draft["norm_position"])
        return _as_family(replace(reading.layout, names=names), matches)

    return Family(
        name=own.name.removeprefix("_"),  # of layouts whose names a program arranges
        label=own.label,
        matches=matches,
        read_config=read_config,
        renames=own.names,
        ignored=_ignored(own),
        prefixes=own.prefixes,
        stand_ins=lambda raw: _stand_ins(own, raw),
        kin=own.kin,
        trait=own.trait,
        likely=lambda raw: bool(own.likely) and holds(own.likely, raw),
    )


def _ignored(own: Layout) -> Mapping[str, str]:
    """What the file says, and tables of positions, which are ignored where they hold sinusoids."""
    tables = {
        theirs: SINUSOIDS for theirs, into in own.names.items() if into.names[0].endswith("positions.weight")
    }
    return {**tables, **own.ignored}


def _stand_ins(own: Layout, raw: RawCheckpoint) -> Mapping[str, StandIn]:
    """What the file says; zeros for biases and betas that no layer has."""
    held = Held(own.names, raw).patterns
    zeros: dict[str, StandIn] = {
        name: "zeros" for name in weight_names() if name.endswith((".bias", ".beta")) and name not in held
    }
    told: dict[str, StandIn] = {}
    for ending, kind in own.stand_ins.items():
        told |= {name: kind for name in weight_names() if name == pattern_of(ending) or name.endswith(ending)}
    return zeros | {name: kind for name, kind in told.items() if name not in held}
