"""The end of a training: which of its weights become the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.checkpoints.folder import LoadedModel, open_model, save_model
from transformer.training.averaging import average, kept_weights, set_weights, weights_of
from transformer.training.folder import TrainingFolder
from transformer.training.trainer import NonFiniteError
from transformer.training.validation import Scores

LAST = "the last weights"
"""The name of the candidate that the last update left."""

BEST = "the weights of the best validation"
"""The name of the candidate that did best on the way."""


@dataclass(frozen=True)
class Candidate:
    """Weights that may become the model.

    Attributes:
        name: what they are, in words.
        weights: by parameter name.
        scores: on the validation pairs; None where there are none.
    """

    name: str
    weights: dict[str, Tensor]
    scores: Scores | None


def finish(
    loaded: LoadedModel,
    folder: TrainingFolder,
    validate: Callable[[LoadedModel], Scores] | None,
    dtype: torch.dtype,
) -> list[Candidate]:
    """Save the last model, gather what may become the model, and give `loaded` the best of it.

    Without validation pairs the average of the last weights is taken, or else the last ones; so it is where
    those are as good as the best validation's.

    Args:
        loaded: the model after the last update.
        folder: of the training.
        validate: scores a model.
        dtype: that the model will be saved in: it is scored with its weights rounded to that.

    Returns:
        all candidates, the chosen one first.

    Raises:
        NonFiniteError: for weights that are too large for the dtype.
        OSError: when the last model can't be written.
        CheckpointError: when the best one can't be read.
    """
    save_model(folder.last, loaded)
    found = {}
    kept = list(kept_weights(folder.path).values())
    if len(kept) > 1:
        found[f"the average of the last {len(kept)} saved weights"] = average(kept)
    found[LAST] = weights_of(loaded.model)
    if validate is not None and folder.best.exists():
        found[BEST] = weights_of(open_model(str(folder.best)).model)
    candidates = []
    for name, weights in found.items():
        rounded = {key: weight.to(dtype).float() for key, weight in weights.items()}
        if not all(bool(weight.isfinite().all()) for weight in rounded.values()):
            raise NonFiniteError(f"{name} are too large for {dtype}: go on without --half")
        set_weights(loaded.model, rounded)
        candidates.append(Candidate(name, rounded, None if validate is None else validate(loaded)))
    candidates.sort(key=_merit, reverse=True)
    set_weights(loaded.model, candidates[0].weights)
    return candidates


def _merit(candidate: Candidate) -> tuple[float, float]:
    """What candidates are sorted by; those without scores stay in their order, as equal ones do."""
    return (0.0, 0.0) if candidate.scores is None else candidate.scores.merit
