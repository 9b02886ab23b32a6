"""Modules saved whole are opened by their tensors, with the names that their state_dict gives them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from transformer.checkpoints.reading.formats.pickles.saved_weights import MODULE_SETTINGS
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.checkpoints.reading.process import read_checkpoint
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.checkpoints.survey import survey_checkpoint
from transformer.errors import CheckpointError


class Net(nn.Module):
    """A module with everything that a state_dict includes, and what it excludes."""

    mask: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.h = 4
        self.embedding = nn.Embedding(11, 6, padding_idx=2)
        self.generator = nn.Linear(6, 11, bias=False)
        self.generator.weight = self.embedding.weight
        self.norms = nn.ModuleList([nn.LayerNorm(6, eps=1e-3), nn.BatchNorm1d(6)])
        self.parts = nn.ModuleDict({"one": nn.Identity()})
        self.scale = nn.Parameter(torch.ones(1))
        self.register_parameter("none", None)
        self.register_buffer("mask", torch.ones(3, 3).tril())
        self.register_buffer("cache", torch.zeros(7), persistent=False)
        self.register_buffer("nothing", None)


MODULES: dict[str, Callable[[], nn.Module]] = {
    "a class of one's own": Net,
    "a layer": lambda: nn.Linear(3, 5),
    "a Transformer": lambda: nn.Transformer(8, 2, 1, 2, 16),
    "wrapped for several devices": lambda: nn.DataParallel(Net()),
    "nothing but a list": lambda: nn.ParameterList([torch.ones(2), torch.ones(3)]),
}


def read(value: Any, tmp_path: Path, *, is_zip: bool = True, protocol: int = 2) -> RawCheckpoint:
    path = tmp_path / "whole.pt"
    torch.save(value, path, _use_new_zipfile_serialization=is_zip, pickle_protocol=protocol)
    return read_checkpoint(path)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor", "ignore:Couldn't retrieve source")
@pytest.mark.parametrize("is_zip", [True, False], ids=["zip", "before 1.6"])
@pytest.mark.parametrize("name", MODULES)
def test_its_tensors_are_those_of_its_state_dict(tmp_path: Path, name: str, is_zip: bool) -> None:
    module = MODULES[name]()
    raw = read(module, tmp_path, is_zip=is_zip)
    assert list(raw.tensors) == list(module.state_dict())
    for key, weight in module.state_dict().items():
        assert torch.equal(map_tensor(raw.tensors[key]), weight)


@pytest.mark.parametrize("protocol", [1, 4, 5])
def test_by_any_protocol(tmp_path: Path, protocol: int) -> None:
    module = Net()
    assert list(read(module, tmp_path, protocol=protocol).tensors) == list(module.state_dict())


def test_tied_weights_are_known(tmp_path: Path) -> None:
    assert read(Net(), tmp_path).aliases == {"generator.weight": "embedding.weight"}


def test_a_trainers_model_may_be_a_module(tmp_path: Path) -> None:
    raw = read({"model": Net(), "epoch": 3}, tmp_path)
    assert list(raw.tensors) == list(Net().state_dict())
    assert raw.extras["epoch"] == 3


def test_modules_side_by_side(tmp_path: Path) -> None:
    raw = read({"encoder": nn.Linear(2, 3), "decoder": nn.LayerNorm(3)}, tmp_path)
    assert list(raw.tensors) == ["encoder.weight", "encoder.bias", "decoder.weight", "decoder.bias"]


def test_what_the_modules_tell(tmp_path: Path) -> None:
    """A name with different values in different modules is left out."""
    told = read(Net(), tmp_path).extras[MODULE_SETTINGS]
    assert {name: told[name] for name in ("h", "padding_idx", "layer_norm_eps")} == {
        "h": 4,
        "padding_idx": 2,
        "layer_norm_eps": 1e-3,
    }
    both = read(nn.ModuleList([nn.LayerNorm(6), nn.LayerNorm(6, eps=1e-3)]), tmp_path)
    assert "layer_norm_eps" not in both.extras[MODULE_SETTINGS]


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize(
    "activation, expected",
    [("relu", "relu"), ("gelu", "gelu"), (nn.GELU(approximate="tanh"), "gelu_tanh"), (nn.SiLU(), "silu")],
)
def test_they_make_first_guesses_right(tmp_path: Path, activation: Any, expected: str) -> None:
    """Settings of nn.TransformerEncoder that its state_dict lacks but its modules contain."""
    layer = nn.TransformerEncoderLayer(
        24, 3, 16, activation=activation, norm_first=True, layer_norm_eps=3e-4, batch_first=True
    )
    module = nn.ModuleDict({"encoder": nn.TransformerEncoder(layer, 2)})
    torch.save(module, tmp_path / "whole.pt")
    asked = {
        question.name: question.value
        for question in survey_checkpoint(tmp_path / "whole.pt").report.questions
    }
    guessed = {name: asked[name] for name in ("n_heads", "norm_position", "activation", "norm_eps")}
    assert guessed == {"n_heads": 3, "norm_position": "pre", "activation": expected, "norm_eps": 3e-4}


def test_a_traced_program_stays_refused(tmp_path: Path) -> None:
    torch.save(torch.fx.symbolic_trace(nn.Linear(2, 3)), tmp_path / "traced.pt")
    with pytest.raises(CheckpointError, match=r"holds a traced program.*nothing of it was run.*state_dict"):
        read_checkpoint(tmp_path / "traced.pt")


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_an_attribute_hides_a_module_of_its_name(tmp_path: Path) -> None:
    """In copied decoder layers of nn.Transformer, F.relu hides the activation that was chosen."""
    module = nn.Transformer(24, 3, 1, 2, 16, activation=nn.SiLU())
    assert "activation" not in read(module, tmp_path).extras[MODULE_SETTINGS]
    assert read(module.decoder, tmp_path).extras[MODULE_SETTINGS]["activation"] == "relu"
    assert read(module.encoder, tmp_path).extras[MODULE_SETTINGS]["activation"] == "silu"
