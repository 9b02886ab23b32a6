"""The section `config` of a layout's file: values, or where to find them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from transformer.checkpoints.importing.config_draft import LARGEST_SIZE
from transformer.checkpoints.importing.layout.plain_yaml import Node, plain
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
_IN_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "None": "null",
    "tuple[float, ...]": "a list of numbers",
    "tuple[int, ...]": "a list of whole numbers",
}
GROUPS: Mapping[str, tuple[str, ...]] = {
    "rotary": (),
    "bases_of_layers": ("base", "layers"),
    "windows": (),
    "generator": (),
    "scores_divided_by": ("answers",),
    "rounded_embedding_scale": ("why",),
}
"""Entries of `config` that fill in several fields -> what they need."""
ENTRIES = {
    **dict.fromkeys(("key", "present", "bare", "widest"), "texts"),
    **dict.fromkeys(("question", "why", "place_of", "in", "base_key", "part_key", "entry", "over"), "text"),
    **dict.fromkeys(("power", "times", "minus", "width", "base", "part"), "number"),
    **dict.fromkeys(("choices", "answers", "bases"), "table"),
    **dict.fromkeys(("default", "if_null", "value", "ask", "usual", "tied", "axis"), "plain"),
    **dict.fromkeys(("when", "layers"), "table"),
    "frequencies": "text",
    "likely": "any",
}
"""What an entry that is found, not given, may have, and of which kind."""


OF_LAYERS = {
    "key": "texts",
    **dict.fromkeys(("n_key", "from_key"), "text"),
    **dict.fromkeys(("every", "all_but_every", "all_but_first_of_every"), "number"),
    **dict.fromkeys(("is", "else"), "plain"),
}
"""What may say which layers are meant, see `windows.marked`, and of which kind."""
_NONE = Node({}, 0)
_MOST_AXES = 8


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
            if not is_found and name in GROUPS:
                raise self.error(node, f"{name} needs names with values")
            if not is_found:
                yield name, self.value(name, plain_value(node), node)
                continue
            yield name, [self.spec(name, one) for one in alternatives]

    def spec(self, name: str, node: Node) -> dict[str, Any]:
        """One way to find a setting."""
        parts = self.dictionary(node, name)
        self.check_kinds(parts, ENTRIES, f"{name} entry")
        if name in _FIELDS:
            self.check_values(name, parts)
        else:
            numbers = {key: part for key, part in parts.items() if key in ("value", "default", "if_null")}
            self.check_kinds(numbers, dict.fromkeys(numbers, "number"), f"{name} entry")
            lacking = [key for key in GROUPS.get(name, ()) if key not in parts]
            if lacking:
                raise self.error(node, f"{name} needs {' and '.join(lacking)}")
        if "part" in parts and not 0 < parts["part"].value <= 1:
            raise self.error(parts["part"], f"{name}: part is a share of each head, above 0 and at most 1")
        layers = self.dictionary(parts.get("layers", _NONE), name)
        self.check_kinds(layers, OF_LAYERS, "layers entry")
        if "key" in layers and not {"is", "else"} <= layers.keys():
            raise self.error(layers["key"], f"{name}: layers with a key needs is and else")
        spec = {key: plain_value(part) for key, part in parts.items()}
        if any(not _is_number(base) for base in spec.get("bases", ())):
            raise self.error(parts["bases"], f"{name}: bases needs numbers, with texts for the user")
        if "axis" in spec and not _is_axis(spec["axis"]):
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

    def check_values(self, name: str, parts: Mapping[str, Node]) -> None:
        """Reject values that a setting can't have, wherever an entry gives them."""
        told = [parts[key] for key in ("default", "if_null") if key in parts and "choices" not in parts]
        for part in [] if name == "activation" else told:
            self.value(name, plain_value(part), part)
        asked = _listed(plain_value(parts["ask"])) if "ask" in parts and _FIELDS[name] in _KINDS else []
        for value in asked:
            self.value(name, value, parts["ask"])
        usual = parts.get("usual", _NONE)
        if "usual" in parts and not (name == "pad_id" and isinstance(usual.value, str)):
            self.value(name, plain_value(usual), usual)
        given = [(plain_value(parts["value"]), parts["value"])] if "value" in parts else []
        given += [(part.value, part) for part in self.dictionary(parts.get("choices", _NONE), name).values()]
        answers = self.dictionary(parts.get("answers", _NONE), name)
        given += [(plain(told), part) for told, part in answers.items()]
        for value, part in given:
            if not (isinstance(value, str) and value.startswith("=")):  # another setting's value
                self.value(name, value, part)

    def value(self, name: str, value: Any, node: Node) -> Any:
        """A value of its field's type; sizes that no model can have are rejected."""
        value = tuple(value) if isinstance(value, list) else value
        kinds = str(_FIELDS[name]).split(" | ")
        if type(value) not in {kind for one in kinds for kind in _KINDS.get(one, (str,))}:
            wanted = " or ".join(_IN_WORDS.get(kind) or f"one of {_choices(name)}" for kind in kinds)
            raise self.error(node, f"{name} is {shown(value)}: it must be {wanted}")
        if type(value) is int and not (1 if name == "d_model" else -1) <= value <= LARGEST_SIZE:
            raise self.error(node, f"{name} is {shown(value)}: no model can have that")
        return value


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _choices(name: str) -> str:
    """The names that a setting may have."""
    kind = get_type_hints(TransformerConfig)[name]
    named = (one for one in (kind, *get_args(kind)) if get_origin(one) is Literal)
    return ", ".join(str(choice) for one in named for choice in get_args(one))


def _is_number(text: str) -> bool:
    return isinstance(plain(text), int | float) and not isinstance(plain(text), bool)


def _is_axis(value: Any) -> bool:
    return [type(one) for one in _listed(value)] == [str, int] and 0 <= value[1] < _MOST_AXES
