"""A mapping file: from tensor names to ours, and the settings that weights don't reveal.

::

    names:
      tok_emb.weight: tgt_embedding.weight
      blocks.{}.attn.qkv:
        by: three_blocks
        to:
          - decoder.layers.{}.self_attn.w_q
          - decoder.layers.{}.self_attn.w_k
          - decoder.layers.{}.self_attn.w_v
    ignored:
      blocks.{}.attn.mask: a mask, which our model computes
    config:
      n_heads: 4

The full format is in docs/checkpoints.md.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from transformer.checkpoints.importing.config_draft import LARGEST_SIZE
from transformer.checkpoints.importing.families.own_layout.names import module_names, pattern_of, weight_names
from transformer.checkpoints.importing.families.own_layout.plain_yaml import MAX_CHARACTERS, Node, read_yaml
from transformer.checkpoints.importing.family import (
    Into,
    Transform,
    as_it_is,
    interleaved_by_head,
    module_renames,
    rotated_pairs_side_by_side,
    table_of_positions,
    three_blocks,
    three_blocks_of_columns,
    transposed,
    without_first_rows,
)
from transformer.checkpoints.reading.regular_file import open_regular_file
from transformer.errors import CheckpointError, shown
from transformer.model.config import TransformerConfig

WHAT = "The mapping file"
_SECTIONS = ("names", "ignored", "config")
_MOST_NUMBERS = 2
_FIELDS = {field.name: field.type for field in fields(TransformerConfig) if field.name != "dropout"}
_KINDS: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "None": (type(None),),
    "tuple[float, ...]": (tuple,),
}
"""Types of a field -> types that its value may have; all other fields are text."""

TRANSFORMS: Mapping[str, Transform] = {
    "as_it_is": as_it_is,
    "transposed": transposed,
    "three_blocks": three_blocks,
    "three_blocks_of_columns": three_blocks_of_columns,
    "interleaved_by_head": interleaved_by_head,
    "rotated_pairs_side_by_side": rotated_pairs_side_by_side,
    "table_of_positions": table_of_positions,
}
"""Names in mapping files for the layouts of stored tensors; see `family`. `without_first_rows`, which needs a
number of rows, is accepted too."""

_OF_BIASES: Mapping[Transform, Transform] = {transposed: as_it_is, three_blocks_of_columns: three_blocks}
"""A bias has no columns: its layout when its matrix is stored by columns."""


@dataclass(frozen=True)
class MappingFile:
    """The contents of a mapping file.

    Attributes:
        names: as in `family.Renames`, with modules expanded to their weights.
        ignored: foreign names that the model does not need, and why.
        config: the given fields of TransformerConfig.
    """

    names: Mapping[str, Into]
    ignored: Mapping[str, str]
    config: Mapping[str, Any]


def text_of(path: str | Path) -> str:
    """The text of a mapping file.

    Raises:
        CheckpointError: when it can't be read, or is too large for a mapping file.
    """
    try:
        with open_regular_file(Path(path).expanduser()) as file:
            if file.size > MAX_CHARACTERS:
                raise CheckpointError(
                    f"has {file.size:,} bytes; a mapping file has {MAX_CHARACTERS:,} at most."
                )
            return file.read(0, file.size).decode()
    except (CheckpointError, UnicodeDecodeError, OSError, RuntimeError) as error:
        why = "is no UTF-8 text." if isinstance(error, UnicodeDecodeError) else str(error)
        raise CheckpointError(f"The mapping file {shown(str(path))} {why}") from error


def read_mapping_file(text: str) -> MappingFile:
    """Read a mapping file.

    Raises:
        CheckpointError: with the line, the key, and the nearest name to an unknown one.
    """
    root = read_yaml(text, WHAT)
    sections = _dictionary(root, "the file")
    for name, node in sections.items():
        if name not in _SECTIONS:
            raise _error(node, f"there is no section {shown(name)}{_nearest(name, _SECTIONS)}")
    if "names" not in sections:
        raise CheckpointError(f"{WHAT} has no section names: it says which of our weights each tensor is.")
    return MappingFile(
        names=dict(_names(sections["names"])),
        ignored=dict(_ignored(sections.get("ignored", Node({}, 0)))),
        config=dict(_config(sections.get("config", Node({}, 0)))),
    )


def _names(section: Node) -> Iterator[tuple[str, Into]]:
    for theirs, node in _dictionary(section, "names").items():
        _check_foreign(theirs, node)
        into, n_numbers = _target(theirs, node), theirs.count("{}")
        if any(name.count("{}") > n_numbers for name in into.names):
            raise _error(node, f"{shown(theirs)} has fewer {{}} than the name that it is mapped to")
        kinds = {_kind(name, node) for name in into.names}
        if kinds == {"weight"}:
            yield theirs, into
        elif kinds == {"module"}:
            for name, part in module_renames({theirs: into}).items():
                is_bias = name.endswith((".bias", ".beta"))
                yield name, Into(_OF_BIASES.get(part.by, part.by) if is_bias else part.by, *part.names)
        else:
            raise _error(node, f"{shown(theirs)} is mapped to weights and to modules: use one or the other")


def _target(theirs: str, node: Node) -> Into:
    if isinstance(node.value, str):
        return Into(as_it_is, node.value)
    parts = _dictionary(node, theirs)
    for name, part in parts.items():
        if name not in ("to", "by", "rows"):
            raise _error(part, f"{shown(theirs)} has {shown(name)}: it may have to, by and rows")
    if "to" not in parts:
        raise _error(node, f"{shown(theirs)} does not say which of our names it is mapped to (to: ...)")
    to = parts["to"].value
    ours = [name.value for name in to] if isinstance(to, list) else [to]
    if not ours or not all(isinstance(name, str) for name in ours):
        raise _error(parts["to"], f"{shown(theirs)} is mapped to {shown(to)}: give a name of ours, or a list")
    return Into(_transform(parts, node), *ours)


def _transform(parts: Mapping[str, Node], node: Node) -> Transform:
    by = parts.get("by", Node("as_it_is", node.line))
    if by.value == "without_first_rows":
        rows = parts.get("rows", Node(None, by.line))
        if type(rows.value) is not int or rows.value < 0:
            raise _error(rows, "without_first_rows needs the number of rows (rows: 2)")
        return without_first_rows(rows.value)
    if not isinstance(by.value, str) or by.value not in TRANSFORMS:
        known = (*TRANSFORMS, "without_first_rows")
        near = _nearest(str(by.value), known)
        raise _error(by, f"there is no layout {shown(by.value)}{near}; known: {', '.join(known)}")
    return TRANSFORMS[by.value]


def _check_foreign(theirs: str, node: Node) -> None:
    """Reject braces other than {} for layer numbers, and so many {} that a name could match in many ways."""
    rest = theirs.replace("{}", "")
    if "{" in rest or "}" in rest or "{}{}" in theirs or theirs.count("{}") > _MOST_NUMBERS:
        raise _error(
            node,
            f"{shown(theirs)} is not a pattern: {{}} is a layer's number, {_MOST_NUMBERS} times at most",
        )


def _kind(ours: str, node: Node) -> str:
    pattern = pattern_of(ours)
    if pattern in weight_names():
        return "weight"
    if pattern in module_names():
        return "module"
    known = weight_names() if pattern.endswith((".weight", ".bias", ".gamma", ".beta")) else module_names()
    raise _error(node, f"our model has no {shown(ours)}{_nearest(pattern, known)}")


def _ignored(section: Node) -> Iterator[tuple[str, str]]:
    for theirs, node in _dictionary(section, "ignored").items():
        _check_foreign(theirs, node)
        if not isinstance(node.value, str):
            raise _error(node, f"say why the model does not need {shown(theirs)}")
        yield theirs, node.value


def _config(section: Node) -> Iterator[tuple[str, Any]]:
    for name, node in _dictionary(section, "config").items():
        if name not in _FIELDS:
            raise _error(node, f"our model has no {shown(name)}{_nearest(name, _FIELDS)}")
        yield name, _value(name, node)


def _value(name: str, node: Node) -> Any:
    """A value of its field's type; sizes that no model can have are rejected."""
    value = node.value
    if isinstance(value, list):
        value = tuple(item.value for item in value)
    kinds = str(_FIELDS[name]).split(" | ")
    if type(value) not in {kind for one in kinds for kind in _KINDS.get(one, (str,))}:
        raise _error(node, f"{name} is {shown(value)}, which is not of the type {_FIELDS[name]}")
    if type(value) is int and not (1 if name == "d_model" else -1) <= value <= LARGEST_SIZE:
        raise _error(node, f"{name} is {shown(value)}: no model can have that")
    return value


def _dictionary(node: Node, what: str) -> dict[str, Node]:
    if node.value is None:
        return {}
    if not isinstance(node.value, dict):
        raise _error(node, f"{what if what.isidentifier() else shown(what)} must hold names with values")
    return node.value


def _nearest(name: str, known: Any) -> str:
    found = difflib.get_close_matches(name[:200], sorted(known), n=1, cutoff=0.5)
    return f"; the nearest is {found[0]}" if found else ""


def _error(node: Node, problem: str) -> CheckpointError:
    return CheckpointError(f"{WHAT}, line {node.line}: {problem}.")
