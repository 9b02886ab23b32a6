"""Maps a checkpoint's tensors to our model's weights, from names and shapes alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.checkpoints.importing.family import (
    Family,
    Into,
    Patterns,
    Renames,
    StandIn,
    Transform,
    as_it_is,
)
from transformer.checkpoints.importing.left_out import HEAD, task_heads
from transformer.checkpoints.importing.low_rank import check_tied
from transformer.checkpoints.importing.nearest_names import nearest, shape_text
from transformer.checkpoints.importing.report import KeyProblem, KeyReport, TiedKey, UnusedKey
from transformer.checkpoints.reading.raw import RawCheckpoint, StoredTensor
from transformer.checkpoints.weights import ties
from transformer.model.config import TransformerConfig
from transformer.model.transformer import Transformer

FLOATS = frozenset({"F64", "F32", "F16", "BF16"})
_MOST_COMPARED = 40
"""Most problems for which the nearest names are searched; with more, it is a different model altogether."""


class Assignment(NamedTuple):
    """A stored tensor, or its parts in order, and the weights that it becomes.

    Attributes:
        parts: nearly always one.
        pattern: the matching name in the rename table.
        names: ours.
        transform: applied to the concatenated parts.
    """

    parts: tuple[StoredTensor, ...]
    pattern: str
    names: tuple[str, ...]
    transform: Transform


@dataclass
class WeightPlan:
    """How to fill the model.

    Attributes:
        assignments: the stored tensors in use.
        stand_ins: weights that the files lack, and what to fill them with.
        keys: what fits and what does not.
    """

    assignments: list[Assignment] = field(default_factory=list)
    stand_ins: dict[str, StandIn] = field(default_factory=dict)
    keys: KeyReport = field(default_factory=KeyReport)


def skeleton(config: TransformerConfig) -> Transformer:
    """The model on torch's meta device, which allocates no memory for its weights."""
    with torch.device("meta"):
        return Transformer(config)


def joined(parts: Sequence[Tensor]) -> Tensor:
    """(n_1, ...), (n_2, ...), ... -> (n_1 + n_2 + ..., ...); a single tensor is not copied."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))


def plan_weights(raw: RawCheckpoint, family: Family, model: Transformer) -> WeightPlan:
    """Compare a checkpoint, whose tensors the family has arranged, with the model's skeleton."""
    return _Planner(raw, family, model).plan()


class _Planner:
    def __init__(self, raw: RawCheckpoint, family: Family, model: Transformer) -> None:
        self.raw = raw
        self.family = family
        self.config = model.config
        self.tied = ties(model)
        self.shapes = {name: tuple(weight.shape) for name, weight in model.state_dict().items()}
        own_names = {name: Into(as_it_is, name) for name in self.shapes}
        self.renames = own_names if family.renames is None else family.renames
        self.filled: dict[str, StoredTensor] = {}
        self.result = WeightPlan()
        self.unexpected: list[KeyProblem] = []
        self.misshaped: list[KeyProblem] = []
        self.unused: list[UnusedKey] = []
        self.copies: list[TiedKey] = []

    def plan(self) -> WeightPlan:
        # A weight stored twice is filled from the name that comes first in the table, a tied one by its first
        # name in the model.
        order = {theirs: index for index, theirs in enumerate(self.renames)}
        matches = sorted(
            self._matches(), key=lambda match: (match.names[0] in self.tied, order[match.pattern])
        )
        for match in matches:
            self._assign(match)
        check_tied(self._tied_parts(matches))
        missing = list(self._missing())
        used = {part.name for match in matches for part in match.parts}
        # A family may give one tensor several names; report each tensor once.
        self.unexpected = list({key.name: key for key in self.unexpected if key.name not in used}.values())
        self._explain_heads(used)
        self.unused = list({key.name: key for key in self.unused if key.name not in used}.values())
        spare = [problem.name for problem in self.unexpected]
        lacking = [problem.name for problem in missing]
        self.result.keys = KeyReport(
            missing=_with_nearest(missing, spare),
            unexpected=_with_nearest(self.unexpected, lacking),
            misshaped=_with_nearest(self.misshaped, spare),
            unused=tuple(self.unused),
            tied=tuple(self.copies),
        )
        return self.result

    def _tied_parts(self, matches: Iterable[Assignment]) -> Iterator[StoredTensor]:
        """Stored tensors of weights that the model ties, with copies of them."""
        tied = {*self.tied, *self.tied.values()}
        return (part for match in matches if not tied.isdisjoint(match.names) for part in match.parts)

    def _explain_heads(self, used: set[str]) -> None:
        """Move heads for other tasks from the unexpected tensors to the unused ones."""
        shapes = {stored.name: stored.shape for stored in self.raw.tensors.values()}
        spare = {key.name: shapes[key.name] for key in self.unexpected}
        config = self.config
        taken = (config.src_vocab_size, config.tgt_vocab_size, config.d_ff, config.max_len)
        heads = task_heads(spare, used, config.d_model, taken) if spare else set()
        self.unused += [UnusedKey(key.name, HEAD) for key in self.unexpected if key.name in heads]
        self.unexpected = [key for key in self.unexpected if key.name not in heads]

    def _matches(self) -> Iterator[Assignment]:
        """Stored tensors that have targets in the model; the others are reported."""
        renames, ignored = Patterns(self.renames), Patterns(self.family.ignored)
        in_parts: dict[tuple[str, ...], dict[int, Assignment]] = defaultdict(dict)
        for name, stored in self.raw.tensors.items():
            found, reason = renames.find(name), ignored.find(name)
            match = None if found is None else self._match(stored, *found)
            if match is not None and found is not None and any(n in self.shapes for n in match.names):
                into = self.renames[match.pattern]
                if into.part is not None:
                    in_parts[match.names][into.part] = match
                elif into.joined:
                    in_parts[(match.pattern, *match.names)][int(found[1][-1])] = match
                else:
                    yield match
            elif reason is not None:
                self.unused.append(UnusedKey(stored.name, self.family.ignored[reason[0]]))
            elif stored.name in self.raw.aliases:
                first = self.raw.aliases[stored.name]
                self.unused.append(UnusedKey(stored.name, f"It is {first} under another name."))
            else:
                detail = "no part of this model" if match is None else "no part of it in this configuration"
                self.unexpected.append(KeyProblem(stored.name, f"{shape_text(stored.shape)}: {detail}"))
        for by_number in in_parts.values():
            in_order = [by_number[number] for number in sorted(by_number)]
            yield in_order[0]._replace(parts=tuple(match.parts[0] for match in in_order))

    def _match(self, stored: StoredTensor, pattern: str, numbers: tuple[str, ...]) -> Assignment:
        into = self.renames[pattern]
        names = tuple(name.format(*numbers) for name in into.names)
        return Assignment((stored,), pattern, names, into.by)

    def _assign(self, match: Assignment) -> None:
        stored, wrong = match.parts[0], self._misfit(match)
        names = tuple(self.tied.get(name, name) for name in match.names)
        if names[0] in self.filled:
            first = self.filled[names[0]].name
            if first != stored.name:
                self.copies.append(TiedKey(stored.name, first, equal=None))
        elif wrong:
            self.misshaped.append(KeyProblem(stored.name, wrong))
            self.filled |= dict.fromkeys(names, stored)
        else:
            self.result.assignments.append(match._replace(names=names))
            self.filled |= dict.fromkeys(names, stored)

    def _misfit(self, match: Assignment) -> str:
        """Why a stored tensor does not fit its targets; empty if it does."""
        stored, names = match.parts[0], match.names
        other = next((part.dtype for part in match.parts if part.dtype not in FLOATS), None)
        if other is not None:
            return f"holds {other}, not floating-point numbers"
        due = [self.shapes.get(name) for name in names]
        has = shape_text(stored.shape) + (f", of {len(match.parts)} parts," if len(match.parts) > 1 else "")
        try:
            whole = joined([torch.empty(part.shape, device="meta") for part in match.parts])
            parts = match.transform(whole, self.config)
        except (RuntimeError, IndexError) as error:
            return f"{has} can't be split ({str(error).splitlines()[0]})"
        got = [tuple(part.shape) for part in parts]
        if got == due:
            return ""
        if got == [tuple(stored.shape)]:
            return f"{has} instead of {shape_text(due[0] or ())}"
        listed = (f"{name} {shape_text(shape or ())}" for name, shape in zip(names, due, strict=True))
        return f"{has} does not make {', '.join(listed)}"

    def _missing(self) -> Iterator[KeyProblem]:
        """Weights without a tensor, once per foreign name; stand-ins are chosen where allowed."""
        standing_in, ours = self.family.stand_ins(self.raw), _foreign_names(self.renames)
        stand_ins, known = Patterns(standing_in), Patterns(ours)
        prefix = self._prefix()
        told: set[str] = set()
        for name, shape in self.shapes.items():
            if name in self.filled or name in self.tied:
                continue
            stand_in, pattern = stand_ins.find(name), known.find(name)
            if stand_in is not None:
                self.result.stand_ins[name] = standing_in[stand_in[0]]
                continue
            # 0 is the first of a weight's parts, if it has parts.
            theirs = prefix + (name if pattern is None else ours[pattern[0]].format(*pattern[1], 0))
            if theirs not in told:
                told.add(theirs)
                weight = shape_text(shape) if theirs == name else f"{name} {shape_text(shape)}"
                yield KeyProblem(theirs, f"{weight} has no numbers")

    def _prefix(self) -> str:
        """The commonest prefix in the files before the family's names."""
        prefixes = Counter(
            stored.name[: -len(name)]
            for name, stored in self.raw.tensors.items()
            if stored.name.endswith(name)
        )
        return prefixes.most_common(1)[0][0] if prefixes else ""


def _foreign_names(renames: Renames) -> dict[str, str]:
    """Our names -> the first foreign name in the table that maps to each."""
    foreign: dict[str, str] = {}
    for theirs, into in renames.items():
        for ours in into.names:
            foreign.setdefault(ours, theirs)
    return foreign


def _with_nearest(problems: list[KeyProblem], others: list[str]) -> tuple[KeyProblem, ...]:
    compared = [
        KeyProblem(problem.name, problem.detail, nearest(problem.name, others))
        for problem in problems[:_MOST_COMPARED]
    ]
    return (*compared, *problems[_MOST_COMPARED:])
