"""Folders: nothing outside of them is read, and their files must fit each other."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.transformer.checkpoints.reading.crafted import entry, safetensors
from transformer.checkpoints.reading.contents import read_contents
from transformer.checkpoints.reading.limits import LOCAL_LIMITS, UPLOAD_LIMITS
from transformer.errors import CheckpointError

INDEX = "model.safetensors.index.json"
FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
WEIGHTS = safetensors({"w": entry()})


def write(folder: Path, **files: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".").replace("_of_", "-of-")).write_bytes(content)
    return folder


def sharded(folder: Path, homes: dict[str, Any], *tensors: str) -> Path:
    """Two files, a tensor in each."""
    folder.mkdir()
    (folder / INDEX).write_text(json.dumps({"weight_map": homes}), encoding="utf-8")
    for file, name in zip((FIRST, SECOND), tensors, strict=True):
        (folder / file).write_bytes(safetensors({name: entry()}))
    return folder


def test_a_tensor_in_two_files(tmp_path: Path) -> None:
    folder = sharded(tmp_path / "model", {"w": FIRST, "v": SECOND}, "w", "w")
    with pytest.raises(CheckpointError, match="'w' in two files"):
        read_contents(folder, LOCAL_LIMITS)


def test_a_tensor_in_another_file_than_its_index_says(tmp_path: Path) -> None:
    folder = sharded(tmp_path / "model", {"w": SECOND, "v": FIRST}, "w", "v")
    with pytest.raises(CheckpointError, match="'w' in the file that its index says"):
        read_contents(folder, LOCAL_LIMITS)


def test_files_together_may_not_be_too_large(tmp_path: Path) -> None:
    """Each is small enough alone."""
    folder = sharded(tmp_path / "model", {"w": FIRST, "v": SECOND}, "w", "v")
    size = (folder / FIRST).stat().st_size
    assert len(read_contents(folder, replace(LOCAL_LIMITS, max_file_bytes=2 * size)).files) == 2
    with pytest.raises(CheckpointError, match="2 files of weights"):
        read_contents(folder, replace(LOCAL_LIMITS, max_file_bytes=2 * size - 1))


def test_small_files_together_may_not_be_too_large(tmp_path: Path) -> None:
    folder = write(tmp_path / "model", model__safetensors=WEIGHTS, config__json=b"{}", vocab__txt=b"w" * 90)
    assert read_contents(folder, replace(LOCAL_LIMITS, max_small_file_bytes=92)).texts["vocab.txt"]
    with pytest.raises(CheckpointError, match=r"has vocab\.txt, which has 90 bytes, where 89"):
        read_contents(folder, replace(LOCAL_LIMITS, max_small_file_bytes=91))


def test_a_configuration_is_small(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "model", model__safetensors=WEIGHTS, config__json=b'{"a":"%s"}' % (b"w" * 2**20)
    )
    with pytest.raises(CheckpointError, match=r"has config\.json, which has 1,048,584 bytes"):
        read_contents(folder, LOCAL_LIMITS)


def test_a_model_inside_a_model_may_not_bring_code_either(tmp_path: Path) -> None:
    config = json.dumps({"model_type": "encoder-decoder", "decoder": {"auto_map": {"AutoModel": "x.Y"}}})
    folder = write(tmp_path / "model", model__safetensors=WEIGHTS, config__json=config.encode())
    with pytest.raises(CheckpointError, match="auto_map"):
        read_contents(folder, UPLOAD_LIMITS)


def test_code_that_lies_there_is_left_alone(tmp_path: Path) -> None:
    """Only files of known names are opened."""
    folder = write(
        tmp_path / "model", model__safetensors=WEIGHTS, modeling__py=b"raise SystemExit", x__pkl=b""
    )
    assert read_contents(folder, UPLOAD_LIMITS).texts == {}


@pytest.mark.parametrize("name", ["model.safetensors", "vocab.txt", "weights.pt"])
def test_a_pipe_is_not_waited_for(tmp_path: Path, name: str) -> None:
    folder = write(tmp_path / "model", **({} if name != "vocab.txt" else {"model__safetensors": WEIGHTS}))
    os.mkfifo(folder / name)
    with pytest.raises(CheckpointError, match="no regular file"):
        read_contents(folder, LOCAL_LIMITS)
    with pytest.raises(CheckpointError, match="no regular file"):
        read_contents(folder / name, LOCAL_LIMITS)


def test_a_link_to_itself(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").symlink_to(tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match="leads nowhere"):
        read_contents(tmp_path, LOCAL_LIMITS)


def test_a_link_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").symlink_to("gone.safetensors")
    with pytest.raises(CheckpointError, match="is not there"):
        read_contents(tmp_path, LOCAL_LIMITS)


def test_a_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").mkdir()
    with pytest.raises(CheckpointError, match="no regular file"):
        read_contents(tmp_path, LOCAL_LIMITS)


# Hugging Face's cache


def cached(tmp_path: Path, *revisions: str) -> Path:
    model = tmp_path / "models--who--what"
    write(tmp_path / "models--who--what")
    write(model / "blobs", abc=WEIGHTS)
    (model / "refs").mkdir()
    for revision in revisions:
        (model / "snapshots" / revision).mkdir(parents=True)
        (model / "snapshots" / revision / "model.safetensors").symlink_to(Path("../../blobs/abc"))
    return model


def test_the_main_revision_is_read(tmp_path: Path) -> None:
    model = cached(tmp_path, "one", "two")
    with pytest.raises(CheckpointError, match="2 revisions"):
        read_contents(model, LOCAL_LIMITS)
    (model / "refs" / "main").write_text("two", encoding="utf-8")
    assert list(read_contents(model, LOCAL_LIMITS).files[0].tensors) == ["w"]


def test_a_snapshot_alone_leads_out(tmp_path: Path) -> None:
    """Its files lie beside it; the sentence says which folder to choose."""
    model = cached(tmp_path, "one")
    with pytest.raises(CheckpointError, match=r"leads out of the folder.*models--"):
        read_contents(model / "snapshots" / "one", LOCAL_LIMITS)


def test_a_revision_that_is_a_link_is_none(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", model__safetensors=WEIGHTS)
    model = cached(tmp_path)
    (model / "snapshots").mkdir()
    (model / "snapshots" / "one").symlink_to(outside)
    with pytest.raises(CheckpointError, match="0 revisions"):
        read_contents(model, LOCAL_LIMITS)


def test_names_of_files_elsewhere_are_not_told(tmp_path: Path) -> None:
    model = cached(tmp_path)
    (tmp_path / "other" / "secret").mkdir(parents=True)
    (model / "snapshots").symlink_to(tmp_path / "other")
    with pytest.raises(CheckpointError, match="leads out") as refused:
        read_contents(model, LOCAL_LIMITS)
    assert "secret" not in str(refused.value)


def test_a_main_revision_elsewhere_is_not_read(tmp_path: Path) -> None:
    model = cached(tmp_path, "one", "two")
    (tmp_path / "main").write_text("two", encoding="utf-8")
    (model / "refs" / "main").symlink_to(tmp_path / "main")
    with pytest.raises(CheckpointError, match="leads out"):
        read_contents(model, LOCAL_LIMITS)
