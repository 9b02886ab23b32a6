"""Checks that the files' names and shapes fit the model, and that tied weights are equal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from transformer.analysis.doctor.findings import Finding, Severity, fine, places, rounded
from transformer.checkpoints.importing.report import KeyProblem, KeyReport, TiedKey
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.model.config import TransformerConfig

_PIECE = 1 << 22
"""Number of values compared at a time."""


def key_findings(keys: KeyReport, n_tensors: int) -> list[Finding]:
    """Check that every weight of the model has a tensor, and every tensor a weight.

    Args:
        keys: report on how the files' names match the model.
        n_tensors: number of tensors in the files.
    """
    findings = [
        *_misfits(
            keys.missing,
            "problem",
            "Tensors that are missing",
            "These weights of the model have no numbers: it can't be run.",
            "Save the whole model. If the nearest names are the same tensors under other names, rename "
            "them; if there are many, the layout or an answer about it is not the right one.",
        ),
        *_misfits(
            keys.misshaped,
            "problem",
            "Tensors of another shape",
            "These weights don't fit the sizes that the rest of the files tells: the model can't be run.",
            "A tensor was led to a weight that it isn't, weights and config.json belong to two different "
            "models, a size was answered that is not this model's, or its layers differ in width from each "
            "other, which Headlight's model has none of.",
        ),
        *_misfits(
            keys.unexpected,
            "warning",
            "Tensors that are not expected",
            "They are left out. If they belong to the model, it computes something else than it was "
            "trained for.",
            "If they are another task's head or a trainer's, all is well. If they are a part that this "
            "model should have, its configuration is not the right one.",
        ),
    ]
    return findings or fine(
        "Every weight has its tensor, every tensor its place", f"{n_tensors:,} tensors of the files"
    )


def tied_findings(keys: KeyReport, raw: RawCheckpoint, config: TransformerConfig) -> list[Finding]:
    """Check that matrices that the model shares but the files store twice are equal.

    Args:
        keys: report on how the files' names match the model.
        raw: the checkpoint.
        config: the model's configuration, which says whether any weights are tied.
    """
    differing = [copy for copy in (_compared(tied, raw) for tied in keys.tied) if copy.largest != 0]
    if not differing:
        if not keys.tied and not _ties(config):
            return fine("No weights are tied")
        number = f"{len(keys.tied):,} stored twice, with the same numbers" if keys.tied else "stored once"
        return fine("Tied weights are tied", number)
    return [
        Finding(
            "warning",
            "Tied weights that are not",
            f"largest difference {rounded(max(copy.largest for copy in differing), digits=3)}, the numbers "
            f"themselves are up to {rounded(max(copy.scale for copy in differing), digits=3)}",
            "The configuration says that these are one matrix, but the files hold two different ones. Here "
            "and in older versions of transformers the second of each pair is used alone; transformers 5 has "
            "both, so its numbers are others.",
            "If the model was trained with two matrices, say so in its config.json (tie_word_embeddings: "
            "false). If it was trained with one, the other is a stale copy: save the model again.",
            places(f"{copy.name} and {copy.to}" for copy in differing),
        )
    ]


def _ties(config: TransformerConfig) -> bool:
    shared = config.kind == "encoder-decoder" and config.share_embeddings
    return shared or (config.has_generator and config.tie_generator)


@dataclass(frozen=True)
class _Compared:
    """Two stored tensors with their largest difference (infinite for NaN) and their largest value."""

    name: str
    to: str
    largest: float
    scale: float


def _compared(tied: TiedKey, raw: RawCheckpoint) -> _Compared:
    by_name = {stored.name: stored for stored in raw.tensors.values()}
    one, other = by_name[tied.name], by_name[tied.to]
    if one.path == other.path and one.offset == other.offset:
        return _Compared(tied.name, tied.to, 0.0, 0.0)
    if one.shape != other.shape:
        return _Compared(tied.name, tied.to, float("inf"), float("inf"))
    largest = scale = 0.0
    pieces = zip(
        map_tensor(one).reshape(-1).split(_PIECE), map_tensor(other).reshape(-1).split(_PIECE), strict=True
    )
    for left, right in pieces:
        if not torch.equal(left, right):
            difference = (left.double() - right.double()).abs().nan_to_num(nan=float("inf"))
            largest = max(largest, float(difference.max()))
            scale = max(scale, float(left.abs().nan_to_num().max()), float(right.abs().nan_to_num().max()))
    return _Compared(tied.name, tied.to, largest, scale)


def _misfits(
    problems: Sequence[KeyProblem], severity: Severity, title: str, meaning: str, advice: str
) -> Iterator[Finding]:
    if problems:
        yield Finding(
            severity, title, f"{len(problems):,}", meaning, advice, places(map(_described, problems))
        )


def _described(problem: KeyProblem) -> str:
    near = f"; nearest: {', '.join(problem.nearest)}" if problem.nearest else ""
    return f"{problem.name} ({problem.detail}{near})"
