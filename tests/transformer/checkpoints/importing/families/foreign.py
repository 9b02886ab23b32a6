"""Checkpoints made of state dicts, as the reader returns them, and models imported from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tests.transformer.checkpoints.importing.families.figures import FIGURES
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.importing.report import ImportReport
from transformer.checkpoints.opening import fill
from transformer.checkpoints.reading.raw import RawCheckpoint, StoredTensor
from transformer.model.transformer import Transformer

DTYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.bool: "BOOL",
}


def raw_of(
    folder: Path, state_dict: Mapping[str, Tensor], config: Mapping[str, Any] | None = None
) -> RawCheckpoint:
    """The checkpoint of a state dict: values in one file of the folder, tied tensors stored once."""
    path = folder / "tensors.bin"
    tensors: dict[str, StoredTensor] = {}
    aliases: dict[str, str] = {}
    homes: dict[tuple[Any, ...], str] = {}
    with path.open("wb") as file:
        for name, tensor in state_dict.items():
            key = (tensor.data_ptr(), tensor.shape)
            if key in homes:
                tensors[name] = StoredTensor(**{**vars(tensors[homes[key]]), "name": name})
                aliases[name] = homes[key]
                continue
            homes[key] = name
            file.write(b"\0" * (-file.tell() % 8))
            offset = file.tell()
            file.write(tensor.detach().contiguous().flatten().view(torch.uint8).numpy().tobytes())
            shape = tuple(tensor.shape)
            tensors[name] = StoredTensor(name, DTYPES[tensor.dtype], shape, path, offset, tensor.nbytes)
    texts: dict[str, str | bytes] = {} if config is None else {"config.json": json.dumps(config)}
    n_bytes = sum(stored.n_bytes for stored in tensors.values())
    return RawCheckpoint(folder, "safetensors", tensors, aliases, {}, {}, texts, n_bytes, (path,))


def imported(
    raw: RawCheckpoint, answers: Mapping[str, Any] | None = None
) -> tuple[Transformer, ImportReport]:
    """The model made from a checkpoint whose names must all fit."""
    planned = plan_import(raw, answers or {})
    keys = planned.report.keys
    assert keys.fits, (keys.missing, keys.misshaped)
    assert not keys.unexpected, keys.unexpected
    FIGURES.note_import(planned.report)
    return fill(planned).eval().requires_grad_(False), planned.report


@torch.no_grad()
def randomized(module: nn.Module, seed: int = 0) -> nn.Module:
    """The module in eval mode with all parameters random, so that no bias, gamma or beta can be forgotten."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in module.parameters():
        middle = 1.0 if bool((parameter == 1).all()) else 0.0
        parameter.copy_(middle + 0.2 * torch.randn(parameter.shape, generator=generator))
    return module.eval()


def random_ids(vocab_size: int, *shape: int, first: int = 3, seed: int = 0) -> Tensor:
    """Word ids; those below `first` are reserved for padding and the like."""
    return torch.randint(first, vocab_size, shape, generator=torch.Generator().manual_seed(seed))


def padded(ids: Tensor, pad_id: int, length: int) -> Tensor:
    """The same ids, with the last sentence cut to `length` and padded."""
    ids = ids.clone()
    ids[-1, length:] = pad_id
    return ids


def close(actual: Tensor, expected: Tensor, tolerance: float = 1e-5) -> bool:
    """Assert that all values agree, relative to the largest expected value if that exceeds 1."""
    assert actual.shape == expected.shape, (actual.shape, expected.shape)
    FIGURES.note_error(actual, expected)
    worst = (actual - expected).abs().max().item() / max(1.0, expected.abs().max().item())
    assert worst <= tolerance, worst
    return True
