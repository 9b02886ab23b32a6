"""The message about files of unknown layout: what they contain, the nearest layout, what the user can do."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from transformer.checkpoints.importing.family import Family, Patterns, Renames
from transformer.checkpoints.importing.nearest_names import nearest, shape_text
from transformer.checkpoints.reading.raw import LAYER_NUMBER, RawCheckpoint, StoredTensor
from transformer.errors import shown

_LAYER = re.compile(rf"(?:^|(?<=\.)){LAYER_NUMBER}\.")
_MOST_STACKS = 4
_MOST_NAMES = 8
_MOST_TENSORS = 20_000
"""Most tensors whose names are examined."""
_NEAR = 0.3
"""Smallest share of common words at which a layout is called the nearest."""
_NORM = re.compile(r"norm|ln|alpha|gamma|scale")
_ATTENTION = re.compile(
    r"attn|attention|multi_?head"
    r"|(^|[._])(to_?|w_?|fc_?)?(q|k|v|qkv|kv|query|key|value|queries|keys|values)([._]|$)"
)


@dataclass
class Stack:
    """Numbered layers with a common prefix.

    Attributes:
        prefix: the part before the number, with the dot: "blocks.".
        depth: one more than the highest number.
        names: names inside a layer -> the shape of the first such tensor.
    """

    prefix: str
    depth: int = 0
    names: dict[str, tuple[int, ...]] = field(default_factory=dict)


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


def look(tensors: Mapping[str, StoredTensor]) -> Found:
    """Sort tensors into stacks of numbered layers and the rest."""
    stacks: dict[str, Stack] = {}
    outside: dict[str, tuple[int, ...]] = {}
    lengths: Counter[int] = Counter()
    for name, stored in list(tensors.items())[:_MOST_TENSORS]:
        match = _LAYER.search(name)
        if match is None:
            outside[name] = stored.shape
            continue
        stack = stacks.setdefault(name[: match.start()], Stack(name[: match.start()]))
        stack.depth = max(stack.depth, int(match[1]) + 1)
        stack.names.setdefault(name[match.end() :], stored.shape)
        lengths.update(length for length in stored.shape[-2:] if length > 1)
    ordered = sorted(stacks.values(), key=lambda stack: -len(stack.names) * stack.depth)
    return Found(ordered, outside, lengths.most_common(1)[0][0] if lengths else 0)


def describe(raw: RawCheckpoint, families: Iterable[Family]) -> str:
    """Lines for the user: what the files contain, the nearest known layout, and how to describe one's own."""
    found = look(raw.tensors)
    lines = ["No known layout. The files hold:"]
    lines += [_stack(stack) for stack in found.stacks[:_MOST_STACKS]]
    if len(found.stacks) > _MOST_STACKS:
        lines.append(f"- and {len(found.stacks) - _MOST_STACKS} more groups of layers")
    lines += _outside(found)
    lines.append(_nearest_family(raw, families))
    lines.append(
        "If it is a Transformer, you can say which tensor is which: `python -m transformer inspect FILE "
        "--write-map own.yaml` writes a mapping file to fill in, --map own.yaml uses it; see "
        "docs/checkpoints.md."
    )
    return "\n".join(line for line in lines if line)


def _stack(stack: Stack) -> str:
    layers = f"{stack.depth} layers" if stack.depth > 1 else "1 layer"
    parts = {
        "attention": [
            name for name in stack.names if is_attention(name) and not is_norm(name, stack.names[name])
        ],
        "norms": [name for name in stack.names if is_norm(name, stack.names[name])],
    }
    told = [f"{what} {_names(names, stack.names)}" for what, names in parts.items() if names]
    named = {name for names in parts.values() for name in names}
    rest = [name for name in stack.names if name not in named]
    if rest:
        told.append(f"{'also ' if told else ''}{_names(rest, stack.names)}")
    return f"- {layers}, {shown(f'{stack.prefix}{{}}')}: {'; '.join(told)}"


def is_norm(name: str, shape: tuple[int, ...]) -> bool:
    """True if a tensor has a name and the shape of a norm's parameter."""
    return len(shape) == 1 and _NORM.search(name.lower()) is not None


def is_attention(name: str) -> bool:
    """True if the name looks like part of an attention."""
    return _ATTENTION.search(name.lower()) is not None


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


def _nearest_family(raw: RawCheckpoint, families: Iterable[Family]) -> str:
    names = list(raw.tensors)[:_MOST_TENSORS]
    words = _words(names)
    tables = [(family, family.renames) for family in families if family.renames]
    scored = [(_shared(words, _words(table)), family, table) for family, table in tables]
    if not scored:
        return ""
    score, family, table = max(scored, key=lambda one: one[0])
    if score < _NEAR:
        return "No known layout has names like these."
    return f"The nearest is {family.label}. {_difference(names, table)}"


def _difference(names: list[str], table: Renames) -> str:
    patterns = Patterns(table)
    fitting = {match[0] for match in map(patterns.find, names) if match is not None}
    others = [name for name in names if patterns.find(name) is None]
    lacking = [theirs for theirs in table if theirs not in fitting]
    for theirs in lacking:
        near = nearest(theirs.replace("{}", "0"), others, n=1)
        if near:
            return f"It has {shown(theirs)}, and these files have {shown(near[0])}."
    if lacking:
        return f"It has {shown(lacking[0])}, and these files don't."
    return f"These files have {shown(others[0])} besides." if others else "Its shapes are others."


def _words(names: Iterable[str]) -> frozenset[str]:
    parts = (part for name in names for part in name.split("."))
    return frozenset(part for part in parts if part != "{}" and not part.isdigit())


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other) or 1)


def _short(name: str) -> str:
    return shown(name)[1:-1]
