"""Which stored tensors become which weights, by a layout's names."""

from __future__ import annotations

from collections.abc import Mapping

from transformer.checkpoints.importing.family import Into, Patterns
from transformer.checkpoints.importing.layout.operations import Shape, Stored
from transformer.checkpoints.importing.layout.our_names import pattern_of
from transformer.checkpoints.reading.raw import RawCheckpoint, StoredTensor
from transformer.errors import CheckpointError, shown


class Held:
    """Which stored tensors become which weights, by a layout's names.

    Attributes:
        tensors: our names -> (the stored tensor, how it is converted); the first name in the table counts.
        rivals: our names -> two tensors with different bytes that are mapped to them.
        n_parts: our names -> how many numbered parts the weight is stored in.
        patterns: our names with {} for the layer's number.
    """

    def __init__(self, names: Mapping[str, Into], raw: RawCheckpoint) -> None:
        order = {theirs: index for index, theirs in enumerate(names)}
        found = Patterns(names)
        matches = [(found.find(name), stored) for name, stored in raw.tensors.items()]
        known = [(match, stored) for match, stored in matches if match is not None]
        self.tensors: dict[str, tuple[StoredTensor, Into]] = {}
        self.rivals: dict[str, tuple[StoredTensor, StoredTensor]] = {}
        self.n_parts: dict[str, int] = {}
        for (pattern, numbers), stored in sorted(known, key=lambda one: order[one[0][0]]):
            into = names[pattern]
            for ours in into.names:
                name = ours.format(*numbers)
                first, _ = self.tensors.setdefault(name, (stored, into))
                if not (
                    into.joined
                    or raw.aliases.get(stored.name, stored.name) == raw.aliases.get(first.name, first.name)
                ):
                    self.rivals.setdefault(name, (first, stored))
                self.n_parts[name] = self.n_parts.get(name, 0) + 1 if into.joined else 1
        self.patterns = {pattern_of(name) for name in self.tensors}

    def refuse_rivals(self, what: str) -> None:
        """Raises CheckpointError if different tensors are mapped to one weight of ours."""
        for ours, (one, other) in self.rivals.items():
            raise CheckpointError(
                f"{what} leads two tensors to {ours}: {shown(one.name)} and {shown(other.name)}. Only one "
                "can be that weight: map the other to its own (a gated feed-forward has w_1 and w_3), or "
                "list it under ignored if it isn't needed."
            )

    def shape(self, ours: str) -> Shape:
        """The shape that a weight of ours gets, with None for lengths not told; () without such a tensor."""
        if ours not in self.tensors:
            return ()
        stored, into = self.tensors[ours]
        lengths = stored.shape
        if into.joined and lengths:
            lengths = (lengths[0] * self.n_parts[ours], *lengths[1:])
        if not isinstance(into.by, Stored):
            return lengths
        generic = next(name for name in into.names if pattern_of(name) == pattern_of(ours) or name == ours)
        return into.by.shape(lengths, generic)
