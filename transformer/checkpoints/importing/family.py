"""What a family of checkpoints is: how to know one, how to read its configuration and its names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from transformer.checkpoints.importing.config_builder import DerivedConfig
from transformer.checkpoints.importing.renames import Renames
from transformer.checkpoints.reading.raw import RawCheckpoint

StandIn = Literal["zeros", "ones", "drawn"]
"""What takes the place of a weight that files may lack: numbers that change nothing, or random ones."""


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
    read_config: Callable[[RawCheckpoint, Mapping[str, Any]], DerivedConfig]
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
