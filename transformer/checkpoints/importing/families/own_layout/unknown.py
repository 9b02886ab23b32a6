"""The message about files of unknown layout: what they contain, the nearest layout, what the user can do."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from transformer.checkpoints.importing.families.own_layout.name_words import (
    is_attention,
    is_norm_name,
    module,
    words,
)
from transformer.checkpoints.importing.families.own_layout.nearest_layout import nearest_layout
from transformer.checkpoints.importing.family import Family
from transformer.checkpoints.importing.nearest_names import shape_text
from transformer.checkpoints.reading.raw import LAYER_NUMBER, RawCheckpoint, StoredTensor
from transformer.errors import shown

_LAYER = re.compile(rf"(?:^|(?<=\.)){LAYER_NUMBER}\.")
_MOST_LEVELS = 3
"""Most numbers in a name that may be a layer's."""
_MOST_STACKS = 4
_MOST_NAMES = 8
_MOST_TENSORS = 20_000
"""Most tensors whose names are examined."""
HOW_TO_MAP = (
    "`python -m transformer inspect {} --write-map own.yaml` writes a mapping file to fill in, "
    "--map own.yaml uses it"
)


@dataclass
class Stack:
    """Numbered layers with a common prefix.

    Attributes:
        prefix: the part before the number, with the dot: "blocks.".
        numbers: those of the layers, in order.
        names: names inside a layer -> the shape of the first such tensor.
    """

    prefix: str
    numbers: Sequence[int] = ()
    names: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """How many layers there are."""
        return len(self.numbers)


@dataclass
class Found:
    """What the files contain, by names and shapes alone.

    Attributes:
        stacks: the largest first, by names times layers.
        outside: tensors outside all stacks, with their shapes.
        d_model: the likely width of the model; 0 if unknown.
    """

    stacks: list[Stack]
    outside: dict[str, tuple[int, ...]]
    d_model: int

    def first_layers(self) -> list[str]:
        """The names of each stack's tensors as in its layer 0, and those outside."""
        inside = (f"{stack.prefix}0.{name}" for stack in self.stacks for name in stack.names)
        return [*inside, *self.outside]


def look(tensors: Mapping[str, StoredTensor]) -> Found:
    """Sort tensors into stacks of numbered layers and the rest."""
    examined = dict(islice(tensors.items(), _MOST_TENSORS))
    splits = {name: list(islice(_LAYER.finditer(name), _MOST_LEVELS)) for name in examined}
    layers: dict[str, dict[str, list[str]]] = {}
    for name, matches in splits.items():
        for match in matches:
            of_prefix = layers.setdefault(name[: match.start()], {})
            of_prefix.setdefault(match[1], []).append(name[match.end() :])
    prefixes = {prefix for prefix, numbered in layers.items() if _are_layers(numbered)}
    stacks: dict[str, Stack] = {}
    outside: dict[str, tuple[int, ...]] = {}
    lengths: Counter[int] = Counter()
    for name, stored in examined.items():
        number = [one for one in splits[name] if name[: one.start()] in prefixes]
        if not number:
            outside[name] = stored.shape
            continue
        prefix = name[: number[0].start()]
        stack = stacks.setdefault(prefix, Stack(prefix, sorted(map(int, layers[prefix]))))
        stack.names.setdefault(name[number[0].end() :], stored.shape)
        lengths.update({length for length in stored.shape if length > 1})
    ordered = sorted(stacks.values(), key=lambda stack: -len(stack.names) * stack.depth)
    return Found(ordered, outside, lengths.most_common(1)[0][0] if lengths else 0)


def _are_layers(numbered: Mapping[str, list[str]]) -> bool:
    """True if a list's entries are alike and have several parts: nn.Sequential numbers unlike ones too."""
    entries = [set(names) for names in numbered.values()]
    largest = max(entries, key=len)
    parts = {name.rpartition(".")[0] for name in largest}
    return len(parts) > 1 and all(2 * len(entry & largest) >= len(entry) for entry in entries)


def describe(raw: RawCheckpoint, families: Iterable[Family]) -> str:
    """Lines for the user: what the files contain, the nearest known layout, and how to describe one's own."""
    found = look(raw.tensors)
    lines = ["No known layout. The files hold:"]
    lines += [_stack(stack) for stack in found.stacks[:_MOST_STACKS]]
    if len(found.stacks) > _MOST_STACKS:
        lines.append(f"- and {len(found.stacks) - _MOST_STACKS} more groups of layers")
    lines += _outside(found)
    lines.append(nearest_layout(raw, found.first_layers(), families))
    lines.append(
        f"If it is a Transformer, you can say which tensor is which: {HOW_TO_MAP.format('FILE')}; see "
        "docs/checkpoints.md."
    )
    return "\n".join(lines)


def unlisted(
    model_type: str, raw: RawCheckpoint, same_names: Sequence[Family], families: Iterable[Family]
) -> str:
    """Sentences about a config.json whose model_type is unknown: the nearest layout, and how to describe it.

    Args:
        model_type: what config.json says.
        raw: the checkpoint, without wrappers.
        same_names: the families that the tensors' names alone would make it.
        families: all of them.
    """
    if same_names:
        same = same_names[0].label
        nearest = (
            f"Its tensors have the names of the layout {same}, but another type may compute something else."
        )
    else:
        nearest = nearest_layout(raw, look(raw.tensors).first_layers(), families)
    return (
        f"Headlight has no layout for model_type {shown(model_type)} of config.json. {nearest} If "
        f"Headlight's model computes the same, a mapping file opens it: {HOW_TO_MAP.format('FOLDER')}."
    )


def _stack(stack: Stack) -> str:
    layers = f"{stack.depth} layers" if stack.depth > 1 else "1 layer"
    norms = [name for name in stack.names if _is_norm(name, stack.names[name])]
    attention = [name for name in stack.names if name not in norms and is_attention(words(name))]
    parts = {"attention": attention, "norms": norms}
    told = [f"{what} {_names(names, stack.names)}" for what, names in parts.items() if names]
    if parts["attention"] and not parts["norms"]:
        told.append("no norm with weights")
    named = {name for names in parts.values() for name in names}
    rest = [name for name in stack.names if name not in named]
    if rest:
        told.append(f"{'also ' if told else ''}{_names(rest, stack.names)}")
    return f"- {layers}, {shown(f'{stack.prefix}{{}}')}: {'; '.join(told)}"


def _is_norm(name: str, shape: tuple[int, ...]) -> bool:
    before, last = module(name)
    return len(shape) == 1 and (is_norm_name(words(before)) or last in ("gamma", "alpha", "scale"))


def _names(names: list[str], shapes: Mapping[str, tuple[int, ...]]) -> str:
    named = [name for name in names if not name.endswith(".bias")] or names
    listed = [f"{_short(name)} ({shape_text(shapes[name])})" for name in named[:_MOST_NAMES]]
    return ", ".join(listed) + (" …" if len(named) > _MOST_NAMES else "")


def _outside(found: Found) -> list[str]:
    width = found.d_model
    tables = [name for name, shape in found.outside.items() if len(shape) == 2 and width and width in shape]
    lines = []
    if width and found.stacks:
        lines.append(f"- the width of the model is likely {width}")
    if tables:
        lines.append(f"- with that width, outside of the layers: {_names(tables, found.outside)}")
    rest = [name for name in found.outside if name not in tables]
    if rest and (not found.stacks or not tables):
        lines.append(f"- outside of numbered layers: {_names(rest, found.outside)}")
    return lines


def _short(name: str) -> str:
    return shown(name)[1:-1]
