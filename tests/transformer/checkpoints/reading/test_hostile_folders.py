"""Every way in which a folder may be hostile or broken is refused with its own plain sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.transformer.checkpoints.reading.crafted import entry, safetensors
from transformer.checkpoints.reading.contents import read_contents
from transformer.checkpoints.reading.limits import LOCAL_LIMITS
from transformer.errors import CheckpointError


def folder_with(root: Path, files: Mapping[str, bytes]) -> Path:
    folder = root / "model"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


GOOD = safetensors({"w": entry()})
SHARD = "model-00001-of-00001.safetensors"


def index(**homes: Any) -> bytes:
    return json.dumps({"weight_map": homes}).encode()


INDEX = "model.safetensors.index.json"
FOLDERS: dict[str, tuple[dict[str, bytes], str]] = {
    "nothing": ({}, "holds no weights"),
    "several": ({"a.pt": GOOD, "b.pt": GOOD}, "several files of weights"),
    "only another framework's": ({"tf_model.h5": b""}, "tf_model.h5"),
    "an adapter": ({"adapter_config.json": b"{}", "adapter_model.safetensors": GOOD}, "adapter"),
    "remote code": (
        {"config.json": b'{"auto_map": {"AutoModel": "evil.Model"}}', "model.safetensors": GOOD},
        "auto_map",
    ),
    "an index upwards": ({INDEX: index(w="../other.safetensors")}, "no plain name"),
    "an absolute index": ({INDEX: index(w="/etc/passwd.safetensors")}, "no plain name"),
    "an index without a map": ({INDEX: b"{}"}, "without a weight_map"),
    "an index of numbers": ({INDEX: index(w=7)}, "files that have no names"),
    "a missing shard": ({INDEX: index(w=SHARD)}, "lacks"),
    "an index that misses a tensor": ({INDEX: index(v=SHARD), SHARD: GOOD}, "its index says"),
    "a configuration that is no JSON": ({"config.json": b"{", "model.safetensors": GOOD}, "no valid JSON"),
    "a vocabulary that is no text": ({"vocab.txt": b"\xff\xfe", "model.safetensors": GOOD}, "no UTF-8"),
    "a pointer in place of weights": (
        {"model.safetensors": b"version https://git-lfs.github.com/spec/v1\n"}, "git lfs pull",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_is_refused(tmp_path: Path, name: str) -> None:
    files, message = FOLDERS[name]
    with pytest.raises(CheckpointError, match=message):
        read_contents(folder_with(tmp_path, files), LOCAL_LIMITS)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_link_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    outside = tmp_path / "secret"
    outside.write_bytes(GOOD if name.endswith("tensors") else b"{}")
    folder = folder_with(tmp_path, {"model.safetensors": GOOD} if name == "config.json" else {})
    (folder / name).symlink_to(outside)
    with pytest.raises(CheckpointError, match="leads out of the folder"):
        read_contents(folder, LOCAL_LIMITS)
