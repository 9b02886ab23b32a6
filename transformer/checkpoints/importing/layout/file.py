"""The contents of a layout's file, checked: what Headlight ships and what a user writes are the same format.

::

    label: My GPT
    recognise:
      has: [tok_emb.weight]
    names:
      tok_emb.weight: tgt_embedding.weight
      blocks.{}:
        at: decoder.layers.{}
        attn.qkv: {by: blocks, to: [self_attn.w_q, self_attn.w_k, self_attn.w_v]}
    ignored:
      blocks.{}.attn.mask: a mask, which our model computes
    config:
      n_heads: 4

docs/checkpoints.md describes all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from transformer.checkpoints.importing.family import Into
from transformer.checkpoints.importing.layout.config_section import ConfigReader
from transformer.checkpoints.importing.layout.names_section import NamesReader
from transformer.checkpoints.importing.layout.plain_yaml import MAX_CHARACTERS, Node, read_yaml
from transformer.checkpoints.importing.layout.section_reader import SectionReader, plain_value
from transformer.checkpoints.reading.regular_file import open_regular_file
from transformer.errors import CheckpointError, shown

SECTIONS = (
    *("label", "every", "trait", "kin", "recognise", "likely", "prefixes", "norms", "names", "other_heads"),
    *("ignored", "told_in", "config", "only", "refuse", "harmless", "stand_ins", "notes", "variants"),
)
"""All sections but `like`, which comes first."""
STAND_INS = ("zeros", "ones", "drawn", "doubled_sinusoids")
OTHER_HEAD = "A head for another task than predicting words; Headlight shows the model below it."
"""Why a classifier's tensors are not needed."""


Only = tuple[tuple[Any, ...], str, Mapping[str, Any]]


@dataclass(frozen=True)
class Layout:
    """A layout as its file describes it; sections are explained in docs/checkpoints.md.

    Attributes:
        name: of the file.
        what: what messages call the file.
        like: the layout that it starts from; empty for none.
        label: the name that users see.
        every: its models in words ("every GPT-J"), for the report.
        recognise: conditions on a checkpoint, as in `conditions`.
        norms: names of gamma and beta in norms, where they aren't weight and bias.
        names: foreign names to ours, as in `family.Renames`, with modules expanded to their weights.
        ignored_lines: the lines of the names that a user's file ignores.
        told_in: where the configuration is if not in config.json: files of the folder, or values that a
            trainer saved next to the weights.
        config: the field of TransformerConfig, or one of GROUPS -> a value, or how to find it: a dictionary,
            or a list of them, of which the first whose `when` holds is used.
        only: attribute of config.json -> (allowed values, why others are refused, conditions).
        refuse: (conditions, sentence).
        stand_ins: our weights -> how to fill them if the files lack them.
        variants: (conditions, sections that replace or add to these).
    """

    name: str
    what: str
    trusted: bool = False
    like: str = ""
    label: str = ""
    every: str = ""
    trait: str = ""
    kin: str = ""
    recognise: Mapping[str, Any] = field(default_factory=dict)
    likely: Mapping[str, Any] = field(default_factory=dict)
    prefixes: tuple[str, ...] = ()
    norms: Mapping[str, Node] = field(default_factory=dict)
    names: Mapping[str, Into] = field(default_factory=dict)
    ignored: Mapping[str, str] = field(default_factory=dict)
    ignored_lines: Mapping[str, int] = field(default_factory=dict)
    told_in: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    only: Mapping[str, Only] = field(default_factory=dict)
    refuse: tuple[tuple[Mapping[str, Any], str], ...] = ()
    harmless: tuple[str, ...] = ()
    stand_ins: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[tuple[Mapping[str, Any], str], ...] = ()
    variants: tuple[tuple[Mapping[str, Any], Mapping[str, Node]], ...] = ()


Shipped = Callable[[str, "SectionReader", Node], Layout]
"""Finds the layout whose name stands after `like`."""


def read_layout(text: str, name: str, what: str, shipped: Shipped, *, trusted: bool = False) -> Layout:
    """Read a layout's file.

    Args:
        text: its YAML.
        name: the layout's.
        what: its name in messages: "The mapping file".
        shipped: finds the layout that this one is like.
        trusted: whether it is one of Headlight's own, whose reading may be faster.

    Raises:
        CheckpointError: with the line, the key, and the nearest name to an unknown one.
    """
    reader = _Reader(what, trusted=trusted)
    sections = reader.dictionary(read_yaml(text, what, trusted=trusted), "the file")
    start = Layout(name, what, trusted)
    if "like" in sections:
        like = sections.pop("like")
        start = shipped(reader.text(like, "like"), reader, like)
        start = replace(start, name=name, what=what, trusted=trusted, like=start.name)
    layout = reader.layout(start, sections)
    if not layout.names and "names" in sections:
        raise CheckpointError(
            f"{what} has nothing under names: complete the lines that begin with #, and remove the sign."
        )
    if not layout.names:
        raise CheckpointError(f"{what} has no section names: it says which of our weights each tensor is.")
    return layout


def overlaid(layout: Layout, sections: Mapping[str, Node]) -> Layout:
    """The layout with a variant's sections."""
    return _Reader(layout.what, trusted=layout.trusted).layout(layout, sections)


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
        raise CheckpointError(f"The mapping file {shown(Path(path).name)} {why}") from error


class _Reader(NamesReader, ConfigReader):
    """Reads all sections."""

    def layout(self, base: Layout, sections: Mapping[str, Node]) -> Layout:
        """The base with these sections, which replace or add to its own."""
        self.check_names(sections, SECTIONS, "section")
        norms = self.dictionary(sections["norms"], "norms") if "norms" in sections else base.norms
        changes: dict[str, Any] = {"norms": norms}
        base = self.without_ignored(base, sections)
        for name, node in sections.items():
            before = changes.get(name, getattr(base, name, None))
            if name in ("label", "every", "trait", "kin"):
                changes[name] = self.text(node, name)
            elif name in ("prefixes", "harmless", "told_in"):
                changes[name] = (*(before or ()), *self.texts(node, name))
            elif name in ("recognise", "likely"):
                changes[name] = {**(before or {}), **self.conditions(node)}
            elif name == "names":
                changes[name] = self.renames(before or {}, node, norms)
            elif name in ("refuse", "notes"):
                changes[name] = (*(before or ()), *self.sentences(node, name))
            elif name == "variants":
                changes[name] = (*(before or ()), *self.variants(node))
        for name, read in self._tables.items():
            if name in sections:
                field = "ignored" if name == "other_heads" else name
                changes[field] = {**changes.get(field, getattr(base, field)), **dict(read(sections[name]))}
        return replace(base, **changes)

    def without_ignored(self, base: Layout, sections: Mapping[str, Node]) -> Layout:
        """The base without the names that these sections ignore, with the lines of a user's."""
        if "ignored" not in sections:
            return base
        ignored = self.dictionary(sections["ignored"], "ignored")
        names = {name: base.names[name] for name in base.names if name not in ignored}
        lines = {} if self.trusted else {name: node.line for name, node in ignored.items()}
        return replace(base, names=names, ignored_lines={**base.ignored_lines, **lines})

    @property
    def _tables(self) -> Mapping[str, Callable[[Node], Iterator[tuple[str, Any]]]]:
        """Sections that are tables, whose entries replace those of the same name."""
        return {
            "other_heads": self.other_heads,
            "ignored": self.ignored,
            "config": self.config,
            "only": self.only,
            "stand_ins": self.stand_ins,
        }

    def other_heads(self, section: Node) -> Iterator[tuple[str, str]]:
        """The weights and biases of heads for other tasks."""
        for head in self.texts(section, "other_heads"):
            yield from ((f"{head}.{part}", OTHER_HEAD) for part in ("weight", "bias"))

    def ignored(self, section: Node) -> Iterator[tuple[str, str]]:
        """Foreign names, and why they are not needed."""
        for theirs, node in self.dictionary(section, "ignored").items():
            self.check_foreign(theirs, node)
            if not isinstance(node.value, str):
                raise self.error(node, f"say why the model does not need {shown(theirs)}")
            yield theirs, node.value

    def only(self, section: Node) -> Iterator[tuple[str, Only]]:
        """Attributes of config.json, their allowed values, why others are refused, and when."""
        for name, node in self.dictionary(section, "only").items():
            parts = self.dictionary(node, name)
            if parts.keys() - {"when"} != {"is", "why"}:
                raise self.error(node, f"{shown(name)} needs is (the allowed values) and why")
            allowed = plain_value(parts["is"])
            when = self.conditions(parts["when"]) if "when" in parts else {}
            allowed = tuple(allowed) if isinstance(allowed, list) else (allowed,)
            if not allowed:
                raise self.error(parts["is"], f"{shown(name)} needs at least one allowed value")
            yield name, (allowed, self.text(parts["why"], "why"), when)

    def stand_ins(self, section: Node) -> Iterator[tuple[str, str]]:
        """Names of ours, or their endings, and how to fill them."""
        for name, node in self.dictionary(section, "stand_ins").items():
            if node.value not in STAND_INS:
                raise self.error(
                    node, f"{shown(name)} is {shown(plain_value(node))}: choose one of {', '.join(STAND_INS)}"
                )
            if node.value == "doubled_sinusoids" and not name.endswith("positions.weight"):
                raise self.error(node, f"{shown(name)} is no table of positions (positions.weight)")
            yield name, node.value

    def sentences(self, section: Node, what: str) -> Iterator[tuple[Mapping[str, Any], str]]:
        """Conditions, and a sentence for the user."""
        for node in self.items(section, what):
            parts = {"why": node} if isinstance(node.value, str) else self.dictionary(node, what)
            if "why" not in parts or not parts.keys() <= {"when", "why"}:
                raise self.error(node, f"each of {what} needs when and why")
            when = self.conditions(parts["when"]) if "when" in parts else {}
            yield when, self.text(parts["why"], "why")

    def variants(self, section: Node) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Node]]]:
        """Conditions, and sections."""
        for node in self.items(section, "variants"):
            parts = dict(self.dictionary(node, "a variant"))
            if "when" not in parts:
                raise self.error(node, "a variant needs when")
            yield self.conditions(parts.pop("when")), parts
