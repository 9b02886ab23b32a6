"""Chooses the final weights of a training run.

The average of the last saved weights often translates better than any of them (paper, section 6.1).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from transformer.checkpoints.folder import open_saved, save_model
from transformer.files import write_tensors
from transformer.loaded import LoadedModel
from transformer.model.transformer import Transformer
from transformer.training.evaluation.validation import ValidationScores
from transformer.training.folder import TrainingFolder
from transformer.training.optimization.trainer import NonFiniteError
from transformer.training.state import StateError

_NAME = re.compile(r"weights-(\d+)\.safetensors")

LAST = "the last weights"
"""Name of the weights after the last update."""

BEST = "the weights of the best validation"
"""Name of the weights with the best validation."""


@dataclass(frozen=True)
class Candidate:
    """Weights that may be chosen.

    Attributes:
        name: name in the card.
        weights: weights by parameter name.
        scores: scores on the validation pairs; None without any.
    """

    name: str
    weights: dict[str, Tensor]
    scores: ValidationScores | None


def finish(
    loaded: LoadedModel,
    folder: TrainingFolder,
    validate: Callable[[LoadedModel], ValidationScores] | None,
    dtype: torch.dtype,
) -> list[Candidate]:
    """Save the last model, score all candidates, and load the best weights into `loaded`.

    Without validation pairs and at equal scores, the average of the last weights is preferred, then the last
    weights.

    Args:
        loaded: the model after the last update.
        folder: the run's folder.
        validate: scores a model; None without validation pairs.
        dtype: dtype to save the model in; candidates are scored with weights rounded to it.

    Returns:
        All candidates, the chosen one first.

    Raises:
        NonFiniteError: when weights overflow the dtype.
        OSError: when the last model can't be written.
        CheckpointError: when the best model can't be read.
    """
    save_model(folder.last, loaded)
    found = {}
    kept = list(saved_weights(folder.path).values())
    if len(kept) > 1:
        found[f"the average of the last {len(kept)} saved weights"] = average(kept)
    found[LAST] = copy_weights(loaded.model)
    if validate is not None and folder.best.exists():
        found[BEST] = copy_weights(open_saved(str(folder.best)).model)
    candidates = []
    for name, weights in found.items():
        rounded = {key: weight.to(dtype).float() for key, weight in weights.items()}
        if not all(bool(weight.isfinite().all()) for weight in rounded.values()):
            raise NonFiniteError(f"{name} are too large for {dtype}: resume without --half")
        set_weights(loaded.model, rounded)
        candidates.append(Candidate(name, rounded, None if validate is None else validate(loaded)))
    candidates.sort(key=_merit, reverse=True)
    set_weights(loaded.model, candidates[0].weights)
    return candidates


def _merit(candidate: Candidate) -> tuple[float, float]:
    """Sort key; candidates without scores keep their order."""
    return (0.0, 0.0) if candidate.scores is None else candidate.scores.merit


def copy_weights(model: Transformer) -> dict[str, Tensor]:
    """Copy the parameters to the CPU: name -> tensor."""
    return {name: parameter.detach().to("cpu", copy=True) for name, parameter in model.named_parameters()}


def set_weights(model: Transformer, weights: dict[str, Tensor]) -> None:
    """Load weights from `copy_weights` or `average`."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])


def saved_weights(folder: Path) -> dict[int, Path]:
    """The weights files in a folder by step, oldest first."""
    found = {int(match[1]): path for path in folder.iterdir() if (match := _NAME.fullmatch(path.name))}
    return dict(sorted(found.items()))


def save_weights(folder: Path, model: Transformer, step: int) -> None:
    """Write the weights of a step.

    Raises:
        OSError: when they can't be written.
    """
    write_tensors(folder / f"weights-{step}.safetensors", dict(model.named_parameters()))


def drop_weights(folder: Path, *, last: int, step: int) -> None:
    """Keep only the `last` files up to `step`; later ones belong to updates that were lost."""
    found = saved_weights(folder)
    stays = [kept for kept in found if kept <= step][-last:] if last else []
    for kept, path in found.items():
        if kept not in stays:
            path.unlink()


def average(paths: list[Path]) -> dict[str, Tensor]:
    """The mean of the weights in one or more files, summed in float64.

    Raises:
        StateError: for a damaged file.
    """
    sums: dict[str, Tensor] = {}
    for path in paths:
        for name, tensor in _read(path).items():
            sums[name] = sums[name] + tensor.double() if name in sums else tensor.double()
    return {name: (total / len(paths)).float() for name, total in sums.items()}


def _read(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise StateError(
            f"{path} can't be read ({error}): remove it and continue with --resume, which averages the other "
            "saved weights."
        ) from error
