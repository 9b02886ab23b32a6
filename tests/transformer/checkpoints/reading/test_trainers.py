"""What trainers save around the weights: found, told apart, or refused with a name for what it is."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from transformer.checkpoints.reading.contents import read_contents
from transformer.checkpoints.reading.limits import LOCAL_LIMITS
from transformer.checkpoints.reading.raw import WeightsFile
from transformer.errors import CheckpointError


def read(value: Any, tmp_path: Path) -> WeightsFile:
    torch.save(value, tmp_path / "last.ckpt")
    return read_contents(tmp_path / "last.ckpt", LOCAL_LIMITS).files[0]


def trained() -> tuple[dict[str, Tensor], dict[str, Any]]:
    """A module's weights and its optimizer's state: a step and two moments for each weight."""
    module = nn.Linear(3, 5)
    optimizer = torch.optim.AdamW(module.parameters())
    module(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    return module.state_dict(), optimizer.state_dict()


def test_a_file_of_lightning(tmp_path: Path) -> None:
    weights, optimizer = trained()
    found = read(
        {
            "epoch": 3,
            "state_dict": {f"model.{name}": weight for name, weight in weights.items()},
            "loops": {"fit_loop": {"best": torch.ones(1)}},
            "callbacks": {"ModelCheckpoint": {"best_model_score": torch.tensor(1.5), "path": "a.ckpt"}},
            "optimizer_states": [optimizer],
            "hyper_parameters": {"n_heads": 4, "betas": (0.9, 0.98), "tasks": {"sort"}},
        },
        tmp_path,
    )
    assert found.tensors.keys() == {"model.weight", "model.bias"}
    assert found.left_out == {"loops": 1, "callbacks": 1, "optimizer_states": 6}
    assert found.extras["hyper_parameters"] == {"n_heads": 4, "betas": [0.9, 0.98], "tasks": ["sort"]}
    assert found.extras["callbacks"] == {"ModelCheckpoint": {"path": "a.ckpt"}}


class AttributeDict(dict[str, Any]):
    """The dictionary class in which Lightning stores a module's arguments."""


def test_a_file_of_lightning_with_its_own_dictionary(tmp_path: Path) -> None:
    weights, optimizer = trained()
    found = read(
        {
            "epoch": 3,
            "pytorch-lightning_version": "2.1.0",
            "state_dict": {f"model.{name}": weight for name, weight in weights.items()},
            "callbacks": {"EarlyStopping{'monitor': 'val_loss'}": {"best_score": torch.tensor(0.5)}},
            "optimizer_states": [optimizer],
            "hparams_name": "kwargs",
            "hyper_parameters": AttributeDict(nhead=4, activation=nn.functional.gelu, root=Path("data")),
        },
        tmp_path,
    )
    assert found.tensors.keys() == {"model.weight", "model.bias"}
    assert found.extras["hyper_parameters"] == {"nhead": 4, "activation": "gelu", "root": "data"}


def test_a_file_of_fairseq(tmp_path: Path) -> None:
    weights, optimizer = trained()
    value = {
        "args": argparse.Namespace(arch="transformer", encoder_attention_heads=4, data="bin"),
        "model": {f"encoder.{name}": weight for name, weight in weights.items()},
        "optimizer_history": [{"criterion_name": "CrossEntropy", "num_updates": 7}],
        "extra_state": {"train_iterator": {"epoch": 2}, "val_loss": np.float64(4.5)},
        "last_optimizer_state": optimizer,
    }
    found = read(value, tmp_path)
    assert found.tensors.keys() == {"encoder.weight", "encoder.bias"}
    assert found.extras["args"]["encoder_attention_heads"] == 4
    assert found.extras["extra_state"]["val_loss"] == 4.5
    assert found.left_out == {"last_optimizer_state": 6}


def test_a_file_of_nanogpt(tmp_path: Path) -> None:
    weights, optimizer = trained()
    value = {
        "model": {f"_orig_mod.{name}": weight for name, weight in weights.items()},
        "optimizer": optimizer,
        "model_args": {"n_layer": 2, "n_head": 2, "bias": False},
        "iter_num": 250,
        "best_val_loss": torch.tensor(1.5),
        "config": {"dataset": "shakespeare_char"},
    }
    found = read(value, tmp_path)
    assert found.tensors.keys() == {"_orig_mod.weight", "_orig_mod.bias"}
    assert found.extras["model_args"]["n_head"] == 2
    assert found.left_out == {"optimizer": 6, "best_val_loss": 1}


def test_a_file_of_timm(tmp_path: Path) -> None:
    weights, optimizer = trained()
    value = {
        "epoch": 3,
        "arch": "vit_tiny",
        "state_dict": weights,
        "optimizer": optimizer,
        "args": argparse.Namespace(lr=0.1, mean=(0.5, 0.5)),
        "amp_scaler": {"scale": 1.0},
        "state_dict_ema": weights,
        "metric": np.float64(75.0),
    }
    found = read(value, tmp_path)
    assert found.tensors.keys() == weights.keys()
    assert found.choices == ("state_dict", "state_dict_ema")
    assert found.left_out == {"optimizer": 6, "state_dict_ema": 2}
    assert (found.extras["args"], found.extras["metric"]) == ({"lr": 0.1, "mean": [0.5, 0.5]}, 75.0)


def test_a_folder_of_hugging_faces_trainer(tmp_path: Path) -> None:
    """The folder also contains its optimizer, random states and arguments, none of which is opened."""
    weights, optimizer = trained()
    torch.save(weights, tmp_path / "pytorch_model.bin")
    torch.save(optimizer, tmp_path / "optimizer.pt")
    torch.save({"cpu": torch.get_rng_state()}, tmp_path / "rng_state.pth")
    torch.save(argparse.Namespace(lr=0.1), tmp_path / "training_args.bin")
    assert read_contents(tmp_path, LOCAL_LIMITS).files[0].tensors.keys() == weights.keys()
    with pytest.raises(CheckpointError, match="holds the state of an optimizer and no weights"):
        read_contents(tmp_path / "optimizer.pt", LOCAL_LIMITS)
    with pytest.raises(CheckpointError, match="holds no weights, only 'lr'"):
        read_contents(tmp_path / "training_args.bin", LOCAL_LIMITS)


def test_several_modules_side_by_side(tmp_path: Path) -> None:
    """Without any usual key, everything is a weight except what a trainer's names mark as its own."""
    weights, optimizer = trained()
    value = {
        "encoder": weights,
        "decoder": weights,
        "optimizer": optimizer,
        "rng_state": torch.get_rng_state(),
    }
    found = read(value, tmp_path)
    assert found.tensors.keys() == {"encoder.weight", "encoder.bias", "decoder.weight", "decoder.bias"}
    assert found.left_out == {"optimizer": 6, "rng_state": 1}


def test_an_optimizer_is_known_by_its_form(tmp_path: Path) -> None:
    """Whatever its name, and however deeply it is nested."""
    weights, optimizer = trained()
    value = {
        "weights": weights,
        "opt": optimizer,
        "gan": [optimizer, optimizer],
        "run": {"adam": optimizer, "step": 3},
    }
    found = read(value, tmp_path)
    assert found.tensors.keys() == {"weights.weight", "weights.bias"}
    assert found.left_out == {"opt": 6, "gan.0": 6, "gan.1": 6, "run.adam": 6}
    assert found.extras["opt"]["param_groups"][0]["lr"] == 0.001


def test_an_optimizer_alone_holds_no_weights(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="holds no weights, only"):
        read({"opt": trained()[1]}, tmp_path)


def test_long_paths_to_many_optimizers_are_refused(tmp_path: Path) -> None:
    optimizer = {"state": {0: torch.ones(1)}, "param_groups": []}
    with pytest.raises(CheckpointError, match="characters in addition to its tensors"):
        read({"k" * 500: [optimizer] * 40_000}, tmp_path)


def test_a_module_may_have_parts_called_like_an_optimizers(tmp_path: Path) -> None:
    weights, _ = trained()
    found = read({"net": {"state": weights, "head": weights}, "param_groups": 2}, tmp_path)
    assert found.tensors.keys() == {"state.weight", "state.bias", "head.weight", "head.bias"}


def test_a_module_may_be_called_like_a_trainers_part(tmp_path: Path) -> None:
    """In a state dict, every tensor is a weight."""
    weights = {"model.weight": torch.ones(2), "scheduled": torch.ones(3), "ema": torch.ones(1)}
    assert read(weights, tmp_path).tensors.keys() == weights.keys()


def test_one_inside_the_other(tmp_path: Path) -> None:
    weights, _ = trained()
    found = read({"model": {"state_dict": weights, "version": 2}, "best": 0.25}, tmp_path)
    assert found.tensors.keys() == weights.keys()
    assert found.extras == {"best": 0.25, "version": 2}


def test_numbers_that_json_has_not(tmp_path: Path) -> None:
    extras = {"best": float("inf"), "seed": 2**64 - 1, "nothing": None, "flag": True}
    assert read({"model": trained()[0], **extras}, tmp_path).extras == extras


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
    found = read(value, tmp_path)
    assert {name: placed.shape for name, placed in found.tensors.items()} == {"weight": (5, 3), "bias": (5,)}
    assert found.left_out == {"callbacks": 1, "optimizer_states": 6}


@pytest.mark.parametrize("weight, message", UNFIT.values(), ids=list(UNFIT))
def test_a_weight_of_such_a_shape_is_named(tmp_path: Path, weight: Tensor, message: str) -> None:
    value = {
        "state_dict": {"encoder": {"layers": [torch.ones(2), weight]}},
        "callbacks": {"a": torch.empty(0)},
    }
    with pytest.raises(CheckpointError, match=message.format("'encoder.layers.1'")) as refused:
        read(value, tmp_path)
    assert "save it" in str(refused.value)
