"""The whole state of a training in one file, written whole or not at all.

The file is safetensors: tensors and a line of JSON, nothing that could run when it is opened.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from transformer.training.trainer import Trainer

_MODEL, _ADAM, _RANDOM = "model.", "adam.", "random."


class StateError(ValueError):
    """A state that can't be gone on from; the message says why and what to do."""


def save_state(path: Path, trainer: Trainer, progress: dict[str, Any]) -> None:
    """Write weights, optimizer, random generators and progress; the file that was there stays until then.

    Args:
        path: of the file; its folder exists.
        trainer: between two updates.
        progress: plain values.

    Raises:
        OSError: when it can't be written, for a full disk say; the file that was there is as it was.
    """
    tensors: dict[str, Tensor] = {f"{_MODEL}{name}": w for name, w in trainer.model.named_parameters()}
    for name, parameter in trainer.model.named_parameters():
        for key, value in trainer.optimizer.state[parameter].items():
            tensors[f"{_ADAM}{name}.{key}"] = value
    for name, state in _random_states().items():
        tensors[f"{_RANDOM}{name}"] = state
    kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    part = path.with_name(f"{path.name}.part")
    try:
        save_file(kept, part, {"progress": json.dumps(progress | {"step": trainer.step})})
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)
    except SafetensorError as error:
        raise OSError(None, str(error)) from error
    finally:
        part.unlink(missing_ok=True)


def load_state(path: Path, trainer: Trainer) -> dict[str, Any]:
    """Bring a trainer to the state in a file; returns the progress that was saved with it.

    Raises:
        StateError: for a file that is missing, damaged, or of another model.
    """
    try:
        with safe_open(path, framework="pt") as file:
            progress: dict[str, Any] = json.loads(file.metadata()["progress"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    except FileNotFoundError as error:
        raise StateError(f"There is no {path}: nothing to go on from.") from error
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise StateError(
            f"{path} can't be read ({error}): go on from another state, or start anew."
        ) from error
    parameters = dict(trainer.model.named_parameters())
    saved = {name.removeprefix(_MODEL): t.shape for name, t in tensors.items() if name.startswith(_MODEL)}
    if saved != {name: parameter.shape for name, parameter in parameters.items()}:
        raise StateError(f"{path} is of a model with other sizes: give the options that it was begun with.")
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[f"{_MODEL}{name}"])
            prefix = f"{_ADAM}{name}."
            trainer.optimizer.state[parameter] = {
                full.removeprefix(prefix): _beside(tensor, parameter)
                for full, tensor in tensors.items()
                if full.startswith(prefix) and "." not in full.removeprefix(prefix)
            }
    trainer.step = progress["step"]
    _set_random_states(tensors)
    return progress


def _beside(tensor: Tensor, parameter: Tensor) -> Tensor:
    return tensor.to(parameter.device)


def _random_states() -> dict[str, Tensor]:
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states |= {f"cuda{i}": state for i, state in enumerate(torch.cuda.get_rng_state_all())}
    return states


def _set_random_states(tensors: dict[str, Tensor]) -> None:
    torch.set_rng_state(tensors[f"{_RANDOM}cpu"])
    if torch.cuda.is_available():
        for i in range(torch.cuda.device_count()):
            if f"{_RANDOM}cuda{i}" in tensors:
                torch.cuda.set_rng_state(tensors[f"{_RANDOM}cuda{i}"], i)
