"""A family of checkpoints: how to recognise one, read its configuration and rename its tensors.

A rename table says which of our weights each foreign tensor becomes, and by which transform: a small named
function of one tensor and the model's configuration, which returns one tensor per target name, as views where
possible.

Families are recognised and rejected without torch, whose import takes longer than all the rest: here and in
the families' modules it is imported for type checkers only, or inside functions.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.reading.raw import LAYER_NUMBER, RawCheckpoint
from transformer.model.config import TransformerConfig

if TYPE_CHECKING:
    from torch import Tensor

StandIn = Literal["zeros", "ones", "drawn", "doubled_sinusoids"]
"""How to fill a weight that files may lack: with what changes nothing, random numbers or a computed table."""

Transform: TypeAlias = "Callable[[Tensor, TransformerConfig], Sequence[Tensor]]"


class Into:
    """The target of a foreign tensor: one of our weights, or several, and how they are stored.

    Args:
        by: the transform.
        names: ours, with {} for the layer number, in the order in which `by` returns them.
        joined: whether the tensor is one of several parts; `by` receives the parts stacked by row. Heads are
            often stored this way.
        part: the number of the part; None if the last {} in its name is the number.
    """

    def __init__(self, by: Transform, *names: str, joined: bool = False, part: int | None = None) -> None:
        self.by = by
        self.names = names
        self.joined = joined
        self.part = part


Renames = Mapping[str, Into]
"""Foreign name -> ours, with {} for the layer number. Several foreign names may map to one of ours; the first
that a file contains is used."""


@dataclass(frozen=True)
class Family:
    """A kind of checkpoint.

    Attributes:
        name: short, without spaces.
        label: the name that users see.
        matches: whether a checkpoint, without wrapper prefixes, has this layout.
        read_config: fills in the configuration; raises CheckpointError for what our model does not compute.
            May return the family with other names, where these depend on answers.
        renames: foreign names to ours; None if the names are ours already.
        ignored: foreign names that our model does not need, and why.
        prefixes: prefixes in some models of the family ("bert.", "model."); removed first.
        arrange: gives the tensors the names in `renames`, where removing `prefixes` isn't enough.
        stand_ins: our weights that such a checkpoint may lack, and what to fill them with.
        kin: shared by families whose tensors may have the same names, such as "llama". If several of them
            match a checkpoint without config.json, the user is asked the question LAYOUT, whose answers are
            the families' names.
        trait: what it computes differently, for the question LAYOUT.
        likely: whether sizes or values make this family likely among its kin; likely ones are offered
            first, then the others in the order of `families`.
        resolved: the family as it is for one checkpoint, whose names decide between variants; None if it has
            none.
    """

    name: str
    label: str
    matches: Callable[[RawCheckpoint], bool]
    read_config: Callable[[ConfigDraft], Family | None]
    renames: Renames | None
    ignored: Mapping[str, str] = field(default_factory=dict)
    prefixes: tuple[str, ...] = ()
    arrange: Callable[[RawCheckpoint], RawCheckpoint] = lambda raw: raw
    stand_ins: Callable[[RawCheckpoint], Mapping[str, StandIn]] = lambda raw: {}
    kin: str = ""
    trait: str = ""
    likely: Callable[[RawCheckpoint], bool] = lambda raw: False
    resolved: Callable[[RawCheckpoint], Family] | None = None

    def arranged(self, raw: RawCheckpoint) -> RawCheckpoint:
        """Rename the checkpoint's tensors to the names in `renames`; `.name` stays as stored."""
        raw = self.arrange(raw)
        tensors = {self._without_prefix(name): stored for name, stored in raw.tensors.items()}
        return raw if len(tensors) < len(raw.tensors) else replace(raw, tensors=tensors)

    def _without_prefix(self, name: str) -> str:
        prefix = next((prefix for prefix in self.prefixes if name.startswith(prefix)), "")
        return name[len(prefix) :]


def may_be(raw: RawCheckpoint, *model_types: str) -> bool:
    """True if config.json names one of these model types, or none.

    Other models have the same tensor names but compute something else.
    """
    told = raw.json("config.json").get("model_type")
    return told is None or told in model_types


class Patterns:
    """Finds the pattern that a name matches; each {} is a layer number."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._plain: set[str] = set()
        self._numbered: dict[str, list[tuple[str, re.Pattern[str]]]] = defaultdict(list)
        for pattern in patterns:
            if "{}" in pattern:
                self._numbered[_shape(pattern)].append((pattern, _regex(pattern)))
            else:
                self._plain.add(pattern)

    def find(self, name: str) -> tuple[str, tuple[str, ...]] | None:
        """The pattern, and the numbers in place of its {}; None if no pattern matches."""
        if name in self._plain:
            return name, ()
        for pattern, regex in self._numbered.get(_shape(name), ()):
            match = regex.fullmatch(name)
            if match:
                return pattern, match.groups()
        return None


def _shape(name: str) -> str:
    """The name with {} for every number."""
    return re.sub(r"[0-9]+|{}", "{}", name)


@lru_cache(maxsize=4096)
def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(LAYER_NUMBER.join(map(re.escape, pattern.split("{}"))))


def as_it_is(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """One tensor, unchanged."""
    return (tensor,)
