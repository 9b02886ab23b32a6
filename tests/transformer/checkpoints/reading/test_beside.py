"""Anything may be saved with the weights: it becomes plain or opaque, and the weights are still read."""

from __future__ import annotations

import argparse
import random
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from enum import Enum
from functools import partial
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.transformer.checkpoints.reading.crafted import AttributeDict, read_saved
from transformer.errors import CheckpointError

WEIGHTS = {"encoder.weight": torch.arange(6.0).view(2, 3)}


class Vocab:
    """A user's class with dictionaries, lists and vectors."""

    def __init__(self) -> None:
        self.stoi = {"<pad>": 0, "dog": 1}
        self.merges = {("d", "o"): 0}
        self.vectors = torch.ones(2, 3)


@dataclass
class Config:
    """A dataclass, as in minGPT."""

    n_head: int = 3
    betas: list[float] = field(default_factory=lambda: [0.9, 0.98])


class Schedule(Enum):
    """An enumeration."""

    COSINE = "cosine"


class Slots:
    """An object without a __dict__."""

    __slots__ = ("n_layers",)

    def __init__(self) -> None:
        self.n_layers = 2

    def __getstate__(self) -> tuple[None, dict[str, int]]:
        """Python's default state for slots, under every protocol."""
        return None, {"n_layers": self.n_layers}


class Reduced:
    """An object with its own __reduce__."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Reduced, (), {"seen": 3}


class Own(Tensor):
    """A subclass of Tensor."""


class ManyArguments:
    """An object constructed with keyword arguments."""

    def __new__(cls, *_: Any, **__: Any) -> ManyArguments:
        return super().__new__(cls)

    def __getnewargs_ex__(self) -> tuple[tuple[int], dict[str, int]]:
        return (1,), {"b": 2}


NOTHING = object()
PLAIN: dict[str, tuple[Any, Any]] = {
    "a namespace": (argparse.Namespace(nhead=4, lr=0.1), {"nhead": 4, "lr": 0.1}),
    "a simple namespace": (SimpleNamespace(nhead=4), {"nhead": 4}),
    "Lightning's dictionary": (AttributeDict(d_model=12), {"d_model": 12}),
    "a dataclass": (Config(), {"n_head": 3, "betas": [0.9, 0.98]}),
    "slots": (Slots(), {"n_layers": 2}),
    "its own reduction": (Reduced(), {"seen": 3}),
    "a vocabulary": (Vocab(), {"stoi": {"<pad>": 0, "dog": 1}, "merges": {}}),
    "a dictionary of lists": (defaultdict(list, {"a": [1]}), {"a": [1]}),
    "a dictionary of objects": (defaultdict(Vocab, {"a": 1}), {"a": 1}),
    "counts": (Counter("aab"), {"a": 2, "b": 1}),
    "an ordered dictionary": (OrderedDict(a=1), {"a": 1}),
    "a float of NumPy": (np.float64(0.25), 0.25),
    "a short float of NumPy": (np.float32(2.5), 2.5),
    "an integer of NumPy": (np.int64(-7), -7),
    "a byte of NumPy": (np.uint8(200), 200),
    "a truth value of NumPy": (np.bool_(True), True),
    "a path": (Path("/data/runs"), "/data/runs"),
    "a path of Windows": (PureWindowsPath("C:/runs"), "C:\\/runs"),
    "a type of numbers": (torch.float16, "float16"),
    "a function": (nn.functional.relu, "relu"),
    "a class": (Vocab, "Vocab"),
}
OPAQUE: dict[str, Any] = {
    "a device": torch.device("cuda:0"),
    "an array": np.arange(3),
    "an array of objects": np.array(["x", 2], dtype=object),
    "a text of NumPy": np.str_("abc"),
    "random states": {
        "torch": torch.get_rng_state(),
        "generator": torch.Generator().get_state(),
        "python": random.getstate(),
        "numpy": np.random.get_state(),  # noqa: NPY002 (as people save it)
        "old": np.random.RandomState(3),
        "new": np.random.default_rng(3),
    },
    "a choice": Schedule.COSINE,
    "a choice as a key": {Schedule.COSINE: 1, torch.float32: 2, ("a", 1): 3, 2**70: 4},
    "a set of pairs": {("a", "b"), ("b", "c")},
    "a frozen set of sets": frozenset({frozenset({1}), frozenset({2})}),
    "a queue": deque([1, 2], 5),
    "a time": datetime(2020, 1, 2, tzinfo=timezone(timedelta(hours=1))),
    "a partial call": partial(int, base=3),
    "named arguments": ManyArguments(),
    "a slice": slice(1, 2),
    "a complex number": 1 + 2j,
    "a range": range(3),
    "bytes that change": bytearray(b"x"),
    "three dots": ...,
    "a method": "abc".upper,
    "8-bit integers": torch.ones(2, dtype=torch.int8),
    "unsigned integers": torch.ones(2).to(torch.uint16),
    "complex numbers": torch.ones(2, dtype=torch.complex64),
    "a sparse tensor": torch.eye(3).to_sparse(),
    "a tensor of another class": torch.ones(2).as_subclass(Own),
    "a module": nn.Linear(2, 3),
    "an optimizer": torch.optim.Adam([nn.Parameter(torch.ones(2))]),
}


def test_simple_values_become_plain(tmp_path: Path) -> None:
    for name, (value, expected) in PLAIN.items():
        found = read_saved({"model": WEIGHTS, "extra": value, "in": [value]}, tmp_path)
        assert found.tensors.keys() == WEIGHTS.keys(), name
        assert found.extras["extra"] == expected, name
        assert found.extras["in"] == [expected], name


@pytest.mark.parametrize("is_zip", [True, False], ids=["zip", "before 1.6"])
@pytest.mark.parametrize("protocol", [1, 2, 3, 4, 5])
def test_no_extra_value_is_a_reason_to_refuse_the_weights(
    tmp_path: Path, protocol: int, is_zip: bool
) -> None:
    for name, value in ({name: value for name, (value, _) in PLAIN.items()} | OPAQUE).items():
        found = read_saved({"model": WEIGHTS, "extra": value}, tmp_path, protocol, is_zip=is_zip)
        shapes = {weight: view.shape for weight, view in found.tensors.items()}
        assert shapes == {"encoder.weight": (2, 3)}, name


def test_tensors_in_an_object_are_left_out(tmp_path: Path) -> None:
    """An object isn't part of a model, even if no usual key marks the weights."""
    found = read_saved({"encoder": {"weight": torch.ones(2)}, "vocab": Vocab()}, tmp_path)
    assert found.tensors.keys() == {"encoder.weight"}
    assert found.left_out == {"vocab": 1}
    inside = read_saved({"encoder": {"weight": torch.ones(2), "vocab": Vocab()}}, tmp_path)
    assert inside.left_out == {"encoder.vocab": 1}


def test_a_trainer_saved_whole(tmp_path: Path) -> None:
    """Its attributes are searched like a dictionary's entries."""
    trainer = SimpleNamespace(model=nn.Linear(2, 3), optimizer=OPAQUE["an optimizer"], epoch=3)
    found = read_saved(trainer, tmp_path)
    assert found.tensors.keys() == {"weight", "bias"}
    assert found.extras["epoch"] == 3
    assert found.left_out == {"optimizer": 1}


REFUSED: dict[str, tuple[Any, str]] = {
    "of a class of its own": (
        torch.ones(2).as_subclass(Own),
        r"'b', which is no plain tensor.*test_beside\.Own",
    ),
    "sparse": (torch.eye(3).to_sparse(), r"'b', which is sparse.*to_dense"),
    "of 8-bit integers": (torch.ones(2, dtype=torch.int8), r"'b' with numbers of a kind.*CharStorage"),
    "of complex numbers": (torch.ones(2, dtype=torch.complex64), r"'b' with numbers.*ComplexFloatStorage"),
    "of unsigned integers": (torch.ones(2).to(torch.uint16), r"'b', which is no plain.*torch\.uint16"),
    "in 8-bit floating point": (torch.ones(2).to(torch.float8_e4m3fn), r"'b', which is in 8-bit floating"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_weight_that_is_more_than_numbers_is_named(tmp_path: Path, name: str) -> None:
    weight, message = REFUSED[name]
    with pytest.raises(CheckpointError, match=message) as refused:
        read_saved({"state_dict": {**WEIGHTS, "b": weight}, "epoch": 1}, tmp_path)
    assert "save it again" in str(refused.value)


def test_a_parameter_with_attributes_is_its_numbers(tmp_path: Path) -> None:
    parameter = nn.Parameter(torch.ones(3))
    parameter.comes_from = "here"  # type: ignore[attr-defined]
    assert read_saved({"w": parameter}, tmp_path).tensors["w"].shape == (3,)
