"""What trainers save around the weights: found, told apart, or refused with a name for what it is."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.transformer.checkpoints.reading.crafted import AttributeDict, read_saved
from transformer.checkpoints.reading.contents import read_contents
from transformer.checkpoints.reading.limits import LOCAL_LIMITS
from transformer.errors import CheckpointError


def trained() -> tuple[dict[str, Tensor], dict[str, Any]]:
    """A module's weights and its optimizer's state: a step and two moments for each weight."""
    module = nn.Linear(3, 5)
    optimizer = torch.optim.AdamW(module.parameters())
    module(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    return module.state_dict(), optimizer.state_dict()


WEIGHTS, OPTIMIZER = trained()
BOTH = {"weight", "bias"}
ARGS = argparse.Namespace(arch="transformer", heads=4, mean=(0.5, 0.5))
PLAIN_ARGS = {"arch": "transformer", "heads": 4, "mean": [0.5, 0.5]}
HPARAMS = {"n_heads": 4, "betas": (0.9, 0.98), "tasks": {"sort"}}
OWN_HPARAMS = AttributeDict(nhead=4, activation=nn.functional.gelu, root=Path("data"))
NO_JSON = {"best": float("inf"), "seed": 2**64 - 1, "nothing": None, "flag": True}


def named(*prefixes: str) -> dict[str, Tensor]:
    return {f"{prefix}{name}": weight for prefix in prefixes for name, weight in WEIGHTS.items()}


TRAINERS: dict[str, tuple[Any, Iterable[str], dict[str, int], dict[str, Any]]] = {
    "Lightning": (
        {
            "epoch": 3, "state_dict": named("model."), "loops": {"fit_loop": {"best": torch.ones(1)}},
            "callbacks": {"ModelCheckpoint": {"best_model_score": torch.tensor(1.5), "path": "a.ckpt"}},
            "optimizer_states": [OPTIMIZER], "hyper_parameters": HPARAMS,
        },
        named("model."), {"loops": 1, "callbacks": 1, "optimizer_states": 6},
        {
            "hyper_parameters": {"n_heads": 4, "betas": [0.9, 0.98], "tasks": ["sort"]},
            "callbacks": {"ModelCheckpoint": {"path": "a.ckpt"}},
        },
    ),
    "Lightning with its own dictionary": (
        {
            "pytorch-lightning_version": "2.1.0", "state_dict": named("model."),
            "callbacks": {"EarlyStopping{'monitor': 'val_loss'}": {"best_score": torch.tensor(0.5)}},
            "optimizer_states": [OPTIMIZER], "hparams_name": "kwargs", "hyper_parameters": OWN_HPARAMS,
        },
        named("model."), {"callbacks": 1, "optimizer_states": 6},
        {"hyper_parameters": {"nhead": 4, "activation": "gelu", "root": "data"}},
    ),
    "fairseq": (
        {
            "args": ARGS, "model": named("encoder."), "last_optimizer_state": OPTIMIZER,
            "optimizer_history": [{"criterion_name": "CrossEntropy", "num_updates": 7}],
            "extra_state": {"train_iterator": {"epoch": 2}, "val_loss": np.float64(4.5)},
        },
        named("encoder."), {"last_optimizer_state": 6},
        {"args": PLAIN_ARGS, "extra_state": {"train_iterator": {"epoch": 2}, "val_loss": 4.5}},
    ),
    "nanoGPT": (
        {
            "model": named("_orig_mod."), "optimizer": OPTIMIZER, "model_args": {"n_layer": 2, "bias": False},
            "iter_num": 250, "best_val_loss": torch.tensor(1.5), "config": {"dataset": "shakespeare_char"},
        },
        named("_orig_mod."), {"optimizer": 6, "best_val_loss": 1},
        {"model_args": {"n_layer": 2, "bias": False}},
    ),
    "timm": (
        {
            "epoch": 3, "state_dict": WEIGHTS, "optimizer": OPTIMIZER, "args": ARGS,
            "amp_scaler": {"scale": 1.0}, "state_dict_ema": WEIGHTS, "metric": np.float64(75.0),
        },
        BOTH, {"optimizer": 6, "state_dict_ema": 2}, {"args": PLAIN_ARGS, "metric": 75.0},
    ),
    **{
        f"a loop with {key}": (
            {"epoch": 3, "args": {"n_heads": 4}, key: WEIGHTS, "optimizer": OPTIMIZER},
            BOTH, {"optimizer": 6}, {"epoch": 3, "args": {"n_heads": 4}},
        )
        for key in ("state_dict", "model_state_dict", "model")
    },
    # Without any usual key, everything is a weight except what a trainer's names mark as its own.
    "several modules": (
        {"encoder": WEIGHTS, "decoder": WEIGHTS, "optimizer": OPTIMIZER, "rng_state": torch.get_rng_state()},
        named("encoder.", "decoder."), {"optimizer": 6, "rng_state": 1}, {},
    ),
    "optimizers by other names, however deep": (
        {"net": WEIGHTS, "opt": OPTIMIZER, "gan": [OPTIMIZER] * 2, "run": {"adam": OPTIMIZER, "step": 3}},
        BOTH, {"opt": 6, "gan": 12, "run": 6}, {},
    ),
    "the same next to weights without a usual key": (
        {"weights": WEIGHTS, "opt": OPTIMIZER, "gan": [OPTIMIZER] * 2, "run": {"adam": OPTIMIZER}},
        named("weights."), {"opt": 6, "gan.0": 6, "gan.1": 6, "run.adam": 6}, {},
    ),
    "parts called like an optimizer's": (
        {"net": {"state": WEIGHTS, "head": WEIGHTS}, "param_groups": 2},
        named("state.", "head."), {}, {"param_groups": 2},
    ),
    # In a state dict, every tensor is a weight.
    "weights called like a trainer's parts": (
        {"model.weight": torch.ones(2), "scheduled": torch.ones(3), "ema": torch.ones(1)},
        {"model.weight", "scheduled", "ema"}, {}, {},
    ),
    "one inside the other": (
        {"model": {"state_dict": WEIGHTS, "version": 2}, "best": 0.25}, BOTH, {},
        {"best": 0.25, "version": 2},
    ),
    "numbers that JSON has not": ({"model": WEIGHTS, **NO_JSON}, BOTH, {}, NO_JSON),
}  # fmt: skip
"""A trainer's file: its content, the model's tensors, what is left out, and some of the extras."""


@pytest.mark.parametrize("name", TRAINERS)
def test_a_trainers_file(tmp_path: Path, name: str) -> None:
    value, tensors, left_out, extras = TRAINERS[name]
    found = read_saved(value, tmp_path)
    assert found.tensors.keys() == set(tensors)
    assert found.left_out == left_out
    assert {key: found.extras[key] for key in extras} == extras


def test_the_settings_of_an_optimizer_are_kept(tmp_path: Path) -> None:
    found = read_saved({"weights": WEIGHTS, "opt": OPTIMIZER}, tmp_path)
    assert found.extras["opt"]["param_groups"][0]["lr"] == 0.001


def test_a_folder_of_hugging_faces_trainer(tmp_path: Path) -> None:
    """The folder also contains its optimizer, random states and arguments, none of which is opened."""
    torch.save(WEIGHTS, tmp_path / "pytorch_model.bin")
    torch.save(OPTIMIZER, tmp_path / "optimizer.pt")
    torch.save({"cpu": torch.get_rng_state()}, tmp_path / "rng_state.pth")
    torch.save(argparse.Namespace(lr=0.1), tmp_path / "training_args.bin")
    assert read_contents(tmp_path, LOCAL_LIMITS).files[0].tensors.keys() == BOTH
    with pytest.raises(CheckpointError, match="holds the state of an optimizer and no weights"):
        read_contents(tmp_path / "optimizer.pt", LOCAL_LIMITS)
    with pytest.raises(CheckpointError, match="holds no weights, only 'lr'"):
        read_contents(tmp_path / "training_args.bin", LOCAL_LIMITS)


def test_an_optimizer_alone_holds_no_weights(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="holds no weights, only"):
        read_saved({"opt": OPTIMIZER}, tmp_path)


def test_long_paths_to_many_optimizers_are_refused(tmp_path: Path) -> None:
    optimizer = {"state": {0: torch.ones(1)}, "param_groups": []}
    with pytest.raises(CheckpointError, match="characters in addition to its tensors"):
        read_saved({"k" * 500: [optimizer] * 40_000}, tmp_path)


UNFIT = {
    "empty": (torch.empty(0), "gives the tensor {} a size of zero"),
    "empty in one direction": (torch.ones(3, 0), "gives the tensor {} a size of zero"),
    "expanded": (torch.ones(2, 3).expand(4, 2, 3), "has the tensor {}, which is expanded"),
    "transposed": (torch.arange(6.0).view(2, 3).t(), "has the tensor {}, which is a transposed"),
    "every second": (torch.arange(12.0)[::2], "has the tensor {}, which is a transposed"),
}
"""Tensors that can't be weights, and what the error says about them."""


@pytest.mark.parametrize("beside", [tensor for tensor, _ in UNFIT.values()], ids=list(UNFIT))
def test_what_is_left_out_may_have_any_shape(tmp_path: Path, beside: Tensor) -> None:
    weights, optimizer = trained()
    optimizer["state"][0]["exp_avg"] = beside
    value = {"state_dict": weights, "callbacks": {"a": beside}, "optimizer_states": [optimizer]}
    found = read_saved(value, tmp_path)
    assert {name: placed.shape for name, placed in found.tensors.items()} == {"weight": (5, 3), "bias": (5,)}
    assert found.left_out == {"callbacks": 1, "optimizer_states": 6}


@pytest.mark.parametrize("weight, message", UNFIT.values(), ids=list(UNFIT))
def test_a_weight_of_such_a_shape_is_named(tmp_path: Path, weight: Tensor, message: str) -> None:
    value = {
        "state_dict": {"encoder": {"layers": [torch.ones(2), weight]}},
        "callbacks": {"a": torch.empty(0)},
    }
    with pytest.raises(CheckpointError, match=message.format("'encoder.layers.1'")) as refused:
        read_saved(value, tmp_path)
    assert "save it" in str(refused.value)
