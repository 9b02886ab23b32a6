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

from tests.transformer.checkpoints.reading.crafted import entry, safetensors
from transformer.checkpoints.places import MODELS
from transformer.checkpoints.reading.limits import LOCAL_LIMITS, UPLOAD_LIMITS, Limits
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


SAVES: dict[str, Callable[[Any, Path], None]] = {
    "safetensors": save_file,
    "bin": save_torch,
    "old.bin": save_as_before,
}
FORMATS: dict[Callable[[Any, Path], None], str] = {
    save_file: "safetensors shards",
    save_torch: "torch zip shards",
    save_as_before: "torch before 1.6 shards",
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


@pytest.mark.parametrize("key", ["state_dict", "model_state_dict", "model"])
def test_a_trainers_file(tmp_path: Path, key: str) -> None:
    """Weights without the enclosing key, plain values as extras, the optimizer's tensors counted."""
    module = nn.Linear(3, 5)
    optimizer = torch.optim.Adam(module.parameters())
    module(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    saved = {
        "epoch": 3,
        "args": {"n_heads": 4},
        key: module.state_dict(),
        "optimizer": optimizer.state_dict(),
    }
    torch.save(saved, tmp_path / "last.ckpt")
    raw = read(tmp_path / "last.ckpt", tmp_path)
    assert_same(raw, module.state_dict())
    assert (raw.extras["epoch"], raw.extras["args"]) == (3, {"n_heads": 4})
    assert raw.left_out == {"optimizer": 6}


def test_dictionaries_in_dictionaries(tmp_path: Path) -> None:
    torch.save({"encoder": {"w": torch.ones(2)}, "decoder": {"w": torch.zeros(3)}}, tmp_path / "w.pt")
    assert read(tmp_path / "w.pt", tmp_path).tensors.keys() == {"encoder.w", "decoder.w"}


@pytest.mark.parametrize("ending", ["safetensors", "bin", "old.bin"])
def test_a_sharded_folder(tmp_path: Path, ending: str) -> None:
    weights = all_kinds()
    folder = tmp_path / "model"
    folder.mkdir()
    stem = "model" if ending == "safetensors" else "pytorch_model"
    save = SAVES[ending]
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
    assert raw.format == FORMATS[save]
    assert raw.json("config.json") == {"model_type": "some"}
    assert raw.texts["spiece.model"] == b"\xff\x00"
    assert len(raw.files) == 2


def test_hugging_faces_cache(tmp_path: Path) -> None:
    """Its snapshots are links to the blobs folder: still inside the model's folder, so they are read."""
    model = tmp_path / "models--who--what"
    (model / "blobs").mkdir(parents=True)
    save_file({"w": torch.ones(3)}, model / "blobs" / "abc")
    snapshot = model / "snapshots" / "rev"
    snapshot.mkdir(parents=True)
    (snapshot / "model.safetensors").symlink_to(Path("../../blobs/abc"))
    assert_same(read(model, tmp_path), {"w": torch.ones(3)})


@pytest.mark.parametrize("name", ["en-it", "toy-en-it"])
def test_our_own_folders(name: str) -> None:
    raw = read_checkpoint(MODELS / name)
    assert raw.format == "headlight"
    assert {"config.json", "vocabulary.json", "README.md"} <= raw.texts.keys()


# The reading process


def test_it_is_stopped_when_it_takes_too_long(tmp_path: Path) -> None:
    torch.save(all_kinds(), tmp_path / "w.pt")
    with pytest.raises(CheckpointError, match="longer than"):
        read_checkpoint(tmp_path / "w.pt", Limits(max_file_bytes=None, seconds=0.001))


def test_it_gets_no_more_memory_than_allowed(tmp_path: Path) -> None:
    """A header within its size limit that needs more memory than allowed."""
    head = {"__metadata__": {"text": "x" * 30_000_000}, "w": entry()}
    (tmp_path / "w.safetensors").write_bytes(safetensors(head))
    assert list(read_checkpoint(tmp_path / "w.safetensors").tensors) == ["w"]
    with pytest.raises(CheckpointError, match="memory"):
        read_checkpoint(tmp_path / "w.safetensors", Limits(max_file_bytes=None, memory_bytes=64 * 2**20))


def test_a_file_that_goes_is_said(tmp_path: Path) -> None:
    torch.save(all_kinds(), tmp_path / "w.pt")
    raw = read_checkpoint(tmp_path / "w.pt", LOCAL_LIMITS)
    (tmp_path / "w.pt").unlink()
    with pytest.raises(CheckpointError, match="open it again"):
        map_tensor(raw.tensors["F32"])


def test_no_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"check the path '.*nothing.pt'"):
        read_checkpoint(tmp_path / "nothing.pt")
