"""The section `names` of a layout's file: which weight of ours each tensor is, and how it is stored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from transformer.checkpoints.importing.config_draft import LARGEST_SIZE
from transformer.checkpoints.importing.family import Into
from transformer.checkpoints.importing.layout.operations import (
    ARGUMENTS,
    DIVIDING,
    OLD_NAMES,
    OPERATIONS,
    Stored,
    with_names,
)
from transformer.checkpoints.importing.layout.our_names import module_names, pattern_of, weight_names
from transformer.checkpoints.importing.layout.plain_yaml import Node
from transformer.checkpoints.importing.layout.section_reader import SectionReader, nearest_name, plain_value
from transformer.errors import shown

_MOST_NUMBERS = 2
MOST_BEGINNINGS = 16
"""Most beginnings that share the names below them."""
_MOST_ROWS = 64
"""Most entries of take_rows, each of which may be a whole table."""
_ENDINGS = (".weight", ".bias", ".gamma", ".beta", ".segments")


class NamesReader(SectionReader):
    """Reads names, and the names of gamma and beta in norms."""

    def renames(self, base: Mapping[str, Into], section: Node, norms: Mapping[str, Node]) -> dict[str, Into]:
        """The table of names; of two names for one weight, the first in the table is used.

        Args:
            base: the table that this one adds to; its entries come first.
            section: the section.
            norms: names of gamma and beta in norms, where they aren't weight and bias.
        """
        gammas = self.texts(norms["gamma"], "gamma") if "gamma" in norms else ("weight",)
        betas = self.texts(norms["beta"], "beta") if "beta" in norms else ("bias",)
        table: dict[str, Into] = {}
        for theirs, into, node in self.targets(section, "", ""):
            kinds = {self.kind(name, node) for name in into.names}
            if len(kinds) > 1:
                raise self.error(
                    node, f"{shown(theirs)} is mapped to weights and to modules: use one or the other"
                )
            if kinds == {"weight"}:
                parts = {theirs: into}
            elif into.names[0].endswith("norm"):
                parts = {f"{theirs}.{gamma}": _part(into, "gamma") for gamma in gammas}
                parts |= {f"{theirs}.{beta}": _part(into, "beta") for beta in betas}
            else:
                parts = {f"{theirs}.{part}": _part(into, part) for part in ("weight", "bias")}
            for name, one in parts.items():
                if name in table:
                    raise self.error(node, f"{shown(name)} is mapped twice")
                table[name] = one
        return {**{name: into for name, into in base.items() if name not in table}, **table}

    def targets(
        self, section: Node, theirs: str, ours: str, *, of_many: bool = False
    ) -> Iterator[tuple[str, Into, Node]]:
        """Names with their targets; a dictionary without `to` holds names that begin alike.

        Args:
            section: the dictionary.
            theirs: what the names in it begin with.
            ours: what ours begin with.
            of_many: whether it is read for each of several beginnings.
        """
        for name, node in self.dictionary(section, theirs or "names").items():
            if name == "at" and theirs:
                continue
            if not isinstance(node.value, dict) or {"to", "by", "rows", "part"} & node.value.keys():
                self.check_foreign(f"{theirs}{name}", node)
                yield f"{theirs}{name}", self.into(f"{theirs}{name}", node, ours), node
                continue
            begins = name.split(", ")
            at = [ours]
            if "at" in node.value:
                at = [f"{one}." for one in self.text(node.value["at"], "at").split(", ")]
            if len(at) not in (1, len(begins)):
                raise self.error(
                    node, f"{shown(name)} needs one name of ours for each after at, or one for all"
                )
            if len(begins) > 1 and (of_many or len(begins) > MOST_BEGINNINGS):
                raise self.error(
                    node, f"{shown(name)}: beginnings share names only once, at most {MOST_BEGINNINGS}"
                )
            for begin, place in zip(begins, at * len(begins), strict=False):  # one place may be for all
                many = of_many or len(begins) > 1
                yield from self.targets(node, f"{theirs}{begin}.", place, of_many=many)

    def into(self, theirs: str, node: Node, prefix: str) -> Into:
        """The target of one name."""
        parts = {"to": node} if not isinstance(node.value, dict) else self.dictionary(node, theirs)
        for name, part in parts.items():
            if name not in ("to", "by", "rows", "part"):
                raise self.error(
                    part, f"{shown(theirs)} has {shown(name)}: it may have to, by, rows and part"
                )
        if "to" not in parts:
            raise self.error(
                node, f"{shown(theirs)} does not say which of our names it is mapped to (to: ...)"
            )
        to = parts["to"].value
        ours = [name.value for name in to] if isinstance(to, list) else [to]
        if not ours or not all(isinstance(name, str) for name in ours):
            given = shown(plain_value(parts["to"]))
            raise self.error(
                parts["to"], f"{shown(theirs)} is mapped to {given}: give a name of ours, or a list"
            )
        names = tuple(prefix + name for name in ours)
        n_theirs, n_ours = theirs.count("{}"), max(name.count("{}") for name in names)
        if n_ours > n_theirs:
            raise self.error(node, f"{shown(theirs)} has fewer {{}} than the name that it is mapped to")
        number = parts["part"].value if "part" in parts else None
        if not isinstance(number, int | None):
            raise self.error(parts["part"], f"{shown(theirs)}: part needs the number of the part, from 0 on")
        joined = n_ours < n_theirs or number is not None
        return Into(Stored(tuple(self.steps(parts, node)), names), *names, joined=joined, part=number)

    def steps(self, parts: Mapping[str, Node], node: Node) -> list[tuple[str, Any]]:
        """The operations after `by`, with their arguments; each of them once."""
        by = parts.get("by", Node("as_it_is", node.line))
        rows = parts.get("rows", Node(None, by.line))
        found: list[tuple[str, Any]] = []
        for one in by.value if isinstance(by.value, list) else [by]:
            argument, name = None, one.value
            if isinstance(name, dict) and len(name) == 1:
                [(name, argument)] = name.items()
            if isinstance(name, str) and name in OLD_NAMES:
                found += [(present, None) for present in OLD_NAMES[name]]
            elif isinstance(name, str) and name in OPERATIONS:
                found.append((name, self.argument(name, argument, rows)))
            else:
                known = [operation for operation in OPERATIONS if operation != "as_it_is"]
                given = plain_value(one)
                near = nearest_name(str(given), known)
                raise self.error(one, f"there is no by: {shown(given)}{near}; known: {', '.join(known)}")
        names = [name for name, _ in found]
        if len(set(names)) < len(names) or len(DIVIDING.intersection(names)) > 1:
            raise self.error(
                by, "each operation may stand there once, and one of those that make several weights"
            )
        return found

    def argument(self, name: str, argument: Node | None, rows: Node) -> Any:
        """An operation's argument, which may stand after `rows`; None for one without."""
        if name not in ARGUMENTS:
            if argument is not None:
                raise self.error(argument, f"{name} has no argument")
            return None
        node, kind = argument or rows, ARGUMENTS[name]
        if kind is list:
            rows_given = node.value if isinstance(node.value, list) else []
            if not 0 < len(rows_given) <= _MOST_ROWS or not all(_is_row(one.value) for one in rows_given):
                raise self.error(node, f"{name} needs the numbers of rows, in order ([1, 2, 0], or 1:-1)")
            return [one.value for one in node.value]
        if type(node.value) not in (int, kind) or not 0 <= node.value < LARGEST_SIZE:
            needed = "the number of rows (rows: 2)" if kind is int else "a number"
            raise self.error(node, f"{name} needs {needed}")
        return node.value

    def check_foreign(self, theirs: str, node: Node) -> None:
        """Reject braces other than {} for numbers, and so many {} that a name could match in many ways."""
        rest = theirs.replace("{}", "")
        if "{" in rest or "}" in rest or "{}{}" in theirs or theirs.count("{}") > _MOST_NUMBERS:
            raise self.error(
                node,
                f"{shown(theirs)} is not a pattern: {{}} is a layer's number, {_MOST_NUMBERS} times at most",
            )

    def kind(self, ours: str, node: Node) -> str:
        """Whether a name of ours is a weight or a module; Headlight's own files are checked by a test."""
        if self.trusted:
            return "weight" if ours.endswith(_ENDINGS) else "module"
        pattern = pattern_of(ours)
        if pattern in weight_names():
            return "weight"
        if pattern in module_names():
            return "module"
        known = (
            weight_names() if pattern.endswith((".weight", ".bias", ".gamma", ".beta")) else module_names()
        )
        raise self.error(node, f"our model has no {shown(ours)}{nearest_name(pattern, known)}")


def _part(into: Into, part: str) -> Into:
    """A parameter of the modules that a module is mapped to."""
    return with_names(into, lambda name: f"{name}.{part}")


def _is_row(value: Any) -> bool:
    """True for the number of a row, negative from the end, and for first:last."""
    if isinstance(value, str):
        return re.fullmatch(r"-?[0-9]{0,9}:-?[0-9]{0,9}", value) is not None and "-:" not in value
    return type(value) is int and abs(value) < LARGEST_SIZE
