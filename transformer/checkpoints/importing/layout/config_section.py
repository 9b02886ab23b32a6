"""The section `config` of a layout's file: values, or where to find them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from transformer.checkpoints.importing.config_draft import LARGEST_SIZE
from transformer.checkpoints.importing.layout.plain_yaml import Node
from transformer.checkpoints.importing.layout.section_reader import SectionReader, nearest_name, plain_value
from transformer.errors import shown
from transformer.model.config import TransformerConfig

_FIELDS = {field.name: field.type for field in fields(TransformerConfig) if field.name != "dropout"}
_KINDS: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "None": (type(None),),
    "tuple[float, ...]": (tuple,),
    "tuple[int, ...]": (tuple,),
}
"""Types of a field -> types that its value may have; all other fields are text."""
GROUPS = (
    *("rotary", "bases_of_layers", "windows", "generator", "scores_divided_by", "rounded_embedding_scale"),
)
"""Entries of `config` that fill in several fields."""
_SPEC = {
    **dict.fromkeys(("key", "present", "bare", "widest"), "texts"),
    **dict.fromkeys(("question", "why", "place_of", "in", "base_key", "part_key", "entry"), "text"),
    **dict.fromkeys(("power", "times", "minus", "width", "base", "part"), "number"),
    **dict.fromkeys(("choices", "answers", "bases"), "table"),
    **dict.fromkeys(("default", "if_null", "value", "ask", "usual", "tied", "axis"), "plain"),
    **dict.fromkeys(("when", "layers"), "table"),
    "likely": "any",
}
"""What an entry that is found, not given, may have, and of which kind."""


class ConfigReader(SectionReader):
    """Reads settings."""

    def config(self, section: Node) -> Iterator[tuple[str, Any]]:
        """Settings with their values, or with lists of ways to find them."""
        for name, node in self.dictionary(section, "config").items():
            alternatives = node.value if isinstance(node.value, list) else [node]
            is_found = any(isinstance(one.value, dict) for one in alternatives)
            if name not in (*_FIELDS, *GROUPS) and not any(
                isinstance(one.value, dict) and "question" in one.value for one in alternatives
            ):
                raise self.error(node, f"our model has no {shown(name)}{nearest_name(name, _FIELDS)}")
            if not is_found:
                yield name, self.value(name, node)
                continue
            yield name, [self.spec(name, one) for one in alternatives]

    def spec(self, name: str, node: Node) -> dict[str, Any]:
        """One way to find a setting."""
        parts = self.dictionary(node, name)
        self.check_kinds(parts, _SPEC, f"{name} entry")
        spec = {key: plain_value(part) for key, part in parts.items()}
        if "axis" in spec and [type(one) for one in _listed(spec["axis"])] != [str, int]:
            raise self.error(parts["axis"], f"{name}: axis needs a tensor and the number of an axis")
        if "question" in spec and not spec.get("answers"):
            raise self.error(parts["question"], f"{name}: a question needs answers")
        if isinstance(parts.get("likely", node).value, list):
            spec["likely"] = [self.likely(name, one) for one in parts["likely"].value]
        return spec | {"when": self.conditions(parts["when"])} if "when" in parts else spec

    def likely(self, name: str, node: Node) -> dict[str, Any]:
        """An answer that is likely under conditions."""
        parts = self.dictionary(node, name)
        if parts.keys() != {"when", "value"}:
            raise self.error(node, f"{name}: each of several likely answers needs when and value")
        return {"when": self.conditions(parts["when"]), "value": plain_value(parts["value"])}

    def value(self, name: str, node: Node) -> Any:
        """A value of its field's type; sizes that no model can have are rejected."""
        value = plain_value(node)
        value = tuple(value) if isinstance(value, list) else value
        kinds = str(_FIELDS[name]).split(" | ")
        if type(value) not in {kind for one in kinds for kind in _KINDS.get(one, (str,))}:
            raise self.error(node, f"{name} is {shown(value)}, which is not of the type {_FIELDS[name]}")
        if type(value) is int and not (1 if name == "d_model" else -1) <= value <= LARGEST_SIZE:
            raise self.error(node, f"{name} is {shown(value)}: no model can have that")
        return value


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
