"""What torch.save and safetensors write is read bit for bit, from every kind of file and folder."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from transformer.checkpoints.places import MODELS
from transformer.checkpoints.reading.limits import LOCAL_LIMITS, UPLOAD_LIMITS
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.checkpoints.reading.process import read_checkpoint
from transformer.checkpoints.reading.raw import ITEM_BYTES, RawCheckpoint
from transformer.errors import CheckpointError

DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}


def all_kinds() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(7)
    numbers = torch.randn(5, 3, generator=generator) * 3
    return {name: numbers.to(dtype).contiguous() for name, dtype in DTYPES.items()} | {
        "one": torch.tensor(2.5)
    }


def read(path: Path, tmp_path: Path) -> RawCheckpoint:
    """Read a checkpoint in place and by copying, which must agree."""
    folder = tmp_path / "copied"
    folder.mkdir()
    looked, raw = read_checkpoint(path), read_checkpoint(path, UPLOAD_LIMITS, folder)
    assert list(looked.tensors) == list(raw.tensors)
    for name, stored in looked.tensors.items():
        assert torch.equal(map_tensor(stored), map_tensor(raw.tensors[name]))
        assert raw.tensors[name].path.parent == folder
    return raw


def assert_same(raw: RawCheckpoint, weights: Mapping[str, Tensor]) -> None:
    assert raw.tensors.keys() == weights.keys()
    for name, weight in weights.items():
        found = map_tensor(raw.tensors[name])
        assert (found.dtype, found.shape) == (weight.dtype, weight.shape)
        assert torch.equal(found, weight)


def save_torch(weights: Any, path: Path) -> None:
    torch.save(weights, path)


def save_as_before(weights: Any, path: Path) -> None:
    torch.save(weights, path, _use_new_zipfile_serialization=False)


@pytest.mark.parametrize("save", [save_torch, save_as_before, save_file])
def test_every_kind_of_number(tmp_path: Path, save: Callable[[Any, Path], None]) -> None:
    assert DTYPES.keys() == ITEM_BYTES.keys()
    save(all_kinds(), tmp_path / "weights")
    assert_same(read(tmp_path / "weights", tmp_path), all_kinds())


SAVES: dict[str, tuple[Callable[[Any, Path], None], str]] = {
    "safetensors": (save_file, "safetensors shards"),
    "bin": (save_torch, "torch zip shards"),
    "old.bin": (save_as_before, "torch before 1.6 shards"),
}


@pytest.mark.parametrize("is_zip", [True, False], ids=["zip", "before 1.6"])
@pytest.mark.parametrize("protocol", [1, 2, 3, 4, 5])
def test_every_protocol(tmp_path: Path, protocol: int, is_zip: bool) -> None:
    torch.save(
        OrderedDict(all_kinds()),
        tmp_path / "weights.pt",
        pickle_protocol=protocol,
        _use_new_zipfile_serialization=is_zip,
    )
    assert_same(read_checkpoint(tmp_path / "weights.pt", UPLOAD_LIMITS, tmp_path), all_kinds())


def test_a_state_dict_of_a_module(tmp_path: Path) -> None:
    module = nn.TransformerEncoderLayer(12, 3, 7)
    torch.save(module.state_dict(), tmp_path / "weights.pt")
    assert_same(read(tmp_path / "weights.pt", tmp_path), module.state_dict())


def test_parameters_and_tied_weights(tmp_path: Path) -> None:
    weight = nn.Parameter(torch.randn(3, 5))
    torch.save(
        {"embedding": weight, "generator": weight, "other": nn.Parameter(torch.ones(2))}, tmp_path / "w"
    )
    raw = read(tmp_path / "w", tmp_path)
    assert raw.aliases == {"generator": "embedding"}
    assert raw.n_bytes == 4 * (15 + 2)


def test_views_into_one_storage(tmp_path: Path) -> None:
    numbers = torch.arange(24.0)
    parts = {"first": numbers[:6].view(2, 3), "last": numbers[20:]}
    torch.save(parts, tmp_path / "w.pt")
    assert_same(read(tmp_path / "w.pt", tmp_path), parts)


@pytest.mark.parametrize("ending", SAVES)
def test_a_sharded_folder(tmp_path: Path, ending: str) -> None:
    weights = all_kinds()
    folder = tmp_path / "model"
    folder.mkdir()
    stem = "model" if ending == "safetensors" else "pytorch_model"
    save, form = SAVES[ending]
    ending = ending.removeprefix("old.")
    homes: dict[str, str] = {}
    for number, names in enumerate((list(weights)[::2], list(weights)[1::2]), start=1):
        file = f"{stem}-{number:05}-of-00002.{ending}"
        save({name: weights[name] for name in names}, folder / file)
        homes |= dict.fromkeys(names, file)
    (folder / f"{stem}.{ending}.index.json").write_text(json.dumps({"weight_map": homes}), encoding="utf-8")
    (folder / "config.json").write_text('{"model_type": "some"}', encoding="utf-8")
    (folder / "spiece.model").write_bytes(b"\xff\x00")
    raw = read(folder, tmp_path)
    assert_same(raw, weights)
    assert raw.format == form
    assert raw.json("config.json") == {"model_type": "some"}
    assert raw.texts["spiece.model"] == b"\xff\x00"
    assert len(raw.files) == 2


@pytest.mark.parametrize("name", ["en-it", "toy-en-it"])
def test_our_own_folders(name: str) -> None:
    raw = read_checkpoint(MODELS / name)
    assert raw.format == "headlight"
    assert {"config.json", "vocabulary.json", "README.md"} <= raw.texts.keys()


def test_a_file_that_goes_is_said(tmp_path: Path) -> None:
    torch.save(all_kinds(), tmp_path / "w.pt")
    raw = read_checkpoint(tmp_path / "w.pt", LOCAL_LIMITS)
    (tmp_path / "w.pt").unlink()
    with pytest.raises(CheckpointError, match="open it again"):
        map_tensor(raw.tensors["F32"])
