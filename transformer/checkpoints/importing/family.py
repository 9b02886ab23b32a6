"""What a family of checkpoints is: how to know one, how to read its configuration and its names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from transformer.checkpoints.importing.config_builder import ConfigReading
from transformer.checkpoints.importing.renames import Transform, as_it_is
from transformer.checkpoints.reading.raw import RawCheckpoint

StandIn = Literal["zeros", "ones", "drawn"]
"""What takes the place of a weight that files may lack: numbers that change nothing, or random ones."""


class Into:
    """The target of a foreign tensor that is stored in another layout than ours, or holds several of ours.

    Args:
        by: what makes ours of it.
        names: ours, with {} for a layer's number, in the order in which `by` gives them.
    """

    def __init__(self, by: Transform, *names: str) -> None:
        self.by = by
        self.names = names


Renames = Mapping[str, str | Into]
"""Foreign name -> ours, {} standing for a layer's number. Several foreign names may lead to one of ours:
the first of them that a file has counts."""


def targets(target: str | Into) -> Into:
    """The target of a rename table in its long form."""
    return Into(as_it_is, target) if isinstance(target, str) else target


def _none(raw: RawCheckpoint) -> Mapping[str, StandIn]:
    return {}


def _as_they_are(raw: RawCheckpoint) -> RawCheckpoint:
    return raw


@dataclass(frozen=True)
class Family:
    """One layout of checkpoints.

    Attributes:
        name: short, without spaces.
        label: for people.
        matches: whether a checkpoint (wrappers' prefixes off) is of this layout.
        read_config: the configuration from the checkpoint and the person's answers; raises CheckpointError
            for what our model does not compute.
        renames: foreign names to ours; None where the names are ours already.
        ignored: foreign names that the model does without, and why that changes nothing.
        prefixes: that some models of the family have before their names ("bert.", "model."); taken off before
            anything else is looked at.
        arrange: gives the tensors the names that `renames` knows, where a table of prefixes isn't enough.
        stand_ins: our names of weights that such a checkpoint may lack, and what then takes their place.
    """

    name: str
    label: str
    matches: Callable[[RawCheckpoint], bool]
    read_config: Callable[[RawCheckpoint, Mapping[str, Any]], ConfigReading]
    renames: Renames | None
    ignored: Mapping[str, str] = field(default_factory=dict)
    prefixes: tuple[str, ...] = ()
    arrange: Callable[[RawCheckpoint], RawCheckpoint] = _as_they_are
    stand_ins: Callable[[RawCheckpoint], Mapping[str, StandIn]] = _none

    def arranged(self, raw: RawCheckpoint) -> RawCheckpoint:
        """The checkpoint with its tensors under the names of `renames`; each keeps its own as `.name`."""
        raw = self.arrange(raw)
        tensors = {self._without_prefix(name): stored for name, stored in raw.tensors.items()}
        return raw if len(tensors) < len(raw.tensors) else replace(raw, tensors=tensors)

    def _without_prefix(self, name: str) -> str:
        prefix = next((prefix for prefix in self.prefixes if name.startswith(prefix)), "")
        return name[len(prefix) :]


def may_be(raw: RawCheckpoint, *model_types: str) -> bool:
    """Whether config.json says one of these model types, or none at all.

    Other models have the same names of tensors and compute something else.
    """
    told = raw.json("config.json").get("model_type")
    return told is None or told in model_types
