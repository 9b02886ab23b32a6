"""Small checkpoint files like those of users, for the tests of the page that opens them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

HOSTILE_NAMES = (
    "<img src=x onerror=alert(1)>",
    "![](http://example.com/x.png)",
    "**bold** $x$ :red[a]",
    "cat\u202egod",
)
HOSTILE_NORM = "![norm](http://example.com/x.png)"
D_MODEL, N_HEADS, N_ENCODER_LAYERS, N_DECODER_LAYERS = 16, 4, 1, 2
SRC_VOCAB_SIZE, TGT_VOCAB_SIZE = 23, 29

MISSING = "transformer.decoder.layers.1.linear1.weight"
MISSPELT = "transformer.decoder.layers.1.linear1.wieght"


class Translator(nn.Module):
    """A typical module around torch.nn.Transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.src_embedding = nn.Embedding(SRC_VOCAB_SIZE, D_MODEL)
        self.tgt_embedding = nn.Embedding(TGT_VOCAB_SIZE, D_MODEL)
        self.transformer = nn.Transformer(D_MODEL, N_HEADS, N_ENCODER_LAYERS, N_DECODER_LAYERS, 32)
        self.generator = nn.Linear(D_MODEL, TGT_VOCAB_SIZE)


def translator() -> Translator:
    """A translator with the same weights each time, large enough that no head has uniform attention."""
    module = Translator()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            middle = 1.0 if bool((parameter == 1).all()) else 0.0
            parameter.copy_(middle + 0.3 * torch.randn(parameter.shape, generator=generator))
    return module


def weights() -> dict[str, Tensor]:
    """The translator's state dict."""
    return translator().state_dict()


def torch_file(path: Path) -> Path:
    """The translator's state dict, saved with torch.save."""
    torch.save(weights(), path)
    return path


def numberless_file(path: Path, name: str = MISSING, number: float = torch.nan) -> Path:
    """A file in which one tensor is partly NaN or infinite, so that the output is not finite."""
    tensors = weights()
    tensors[name][5] = number
    torch.save(tensors, path)
    return path


def whole_module(path: Path) -> Path:
    """A module saved with torch.save: a pickle that names classes and has the tensors inside them."""
    torch.save(translator(), path)
    return path


class _Command:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch /tmp/headlight-marker",)


def file_with_a_command(path: Path) -> Path:
    """Weights, and an object that runs a command where such files are trusted."""
    torch.save({"model": weights(), "beside": _Command()}, path)
    return path


def file_with_averages(path: Path) -> Path:
    """The trained weights, and a second set with the same names and shapes."""
    torch.save({"model": weights(), "ema": weights()}, path)
    return path


def broken_file(path: Path) -> Path:
    """A file with one tensor misnamed, so that the model can't be run."""
    tensors = weights()
    tensors[MISSPELT] = tensors.pop(MISSING)
    torch.save(tensors, path)
    return path


def hostile_file(path: Path) -> Path:
    """Unused tensors whose names are markup, and a norm with such a name, about which a question is asked."""
    of_no_use = {name: torch.ones(2) for name in HOSTILE_NAMES}
    save_file({**weights(), **of_no_use, f"{HOSTILE_NORM}.weight": torch.ones(D_MODEL)}, path)
    return path
