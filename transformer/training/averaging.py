"""The mean of a training's last weights: it translates better than each of them (paper, section 6.1)."""

from __future__ import annotations

import re
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from transformer.files import write_tensors
from transformer.model.transformer import Transformer
from transformer.training.state import StateError

_NAME = re.compile(r"weights-(\d+)\.safetensors")


def weights_of(model: Transformer) -> dict[str, Tensor]:
    """Copy the parameters by name, each one once, to the CPU."""
    return {name: parameter.detach().to("cpu", copy=True) for name, parameter in model.named_parameters()}


def set_weights(model: Transformer, weights: dict[str, Tensor]) -> None:
    """Give a model the weights that `weights_of` or `average` returned."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])


def kept_weights(folder: Path) -> dict[int, Path]:
    """The files of weights in a folder, by step, the oldest first."""
    found = {int(match[1]): path for path in folder.iterdir() if (match := _NAME.fullmatch(path.name))}
    return dict(sorted(found.items()))


def keep_weights(folder: Path, model: Transformer, step: int) -> None:
    """Write the weights of a step.

    Raises:
        OSError: when they can't be written.
    """
    write_tensors(folder / f"weights-{step}.safetensors", dict(model.named_parameters()))


def drop_weights(folder: Path, *, last: int, step: int) -> None:
    """Remove all but the last files up to a step, and those of later steps: of updates that were lost."""
    found = kept_weights(folder)
    stays = [kept for kept in found if kept <= step][-last:] if last else []
    for kept, path in found.items():
        if kept not in stays:
            path.unlink()


def average(paths: list[Path]) -> dict[str, Tensor]:
    """The mean of weights in files, summed in float64.

    Args:
        paths: at least one, of the same model.

    Raises:
        StateError: for a file that is damaged.
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
            f"{path} can't be read ({error}): remove it, and go on with --resume; the average is then taken "
            "over the other saved weights."
        ) from error
