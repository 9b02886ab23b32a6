"""Folders: nothing outside them is read, and each fault has its own plain error message."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.transformer.checkpoints.reading.crafted import entry, safetensors
from transformer.checkpoints.reading.contents import read_contents
from transformer.checkpoints.reading.limits import LOCAL_LIMITS, UPLOAD_LIMITS
from transformer.checkpoints.reading.process import read_checkpoint
from transformer.errors import CheckpointError

INDEX = "model.safetensors.index.json"
FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
SHARD = "model-00001-of-00001.safetensors"
WEIGHTS = safetensors({"w": entry()})
OTHERS = safetensors({"v": entry()})
ALONE = {"model.safetensors": WEIGHTS}


def folder_with(folder: Path, files: Mapping[str, bytes]) -> Path:
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def index(**homes: Any) -> bytes:
    return json.dumps({"weight_map": homes}).encode()


FOLDERS: dict[str, tuple[dict[str, bytes], str]] = {
    "nothing": ({}, "holds no weights"),
    "an adapter": ({"adapter_config.json": b"{}", "adapter_model.safetensors": WEIGHTS}, "adapter"),
    "remote code": (ALONE | {"config.json": b'{"auto_map": {"AutoModel": "evil.Model"}}'}, "auto_map"),
    "remote code of a model inside": (
        ALONE | {"config.json": b'{"model_type": "encoder-decoder", "decoder": {"auto_map": {"A": "x.Y"}}}'},
        "auto_map",
    ),
    "a damaged adapter": (ALONE | {"adapter_model.safetensors": WEIGHTS[:-1]}, "adapter_model.*is cut off"),
    "an index upwards": ({INDEX: index(w="../other.safetensors")}, "no plain name"),
    "an absolute index": ({INDEX: index(w="/etc/passwd.safetensors")}, "no plain name"),
    "an index without a map": ({INDEX: b"{}"}, "without a weight_map"),
    "an index of numbers": ({INDEX: index(w=7)}, "files that have no names"),
    "a missing shard": ({INDEX: index(w=SHARD)}, "lacks"),
    "an index that misses a tensor": ({INDEX: index(v=SHARD), SHARD: WEIGHTS}, "its index says"),
    "a tensor in two files": (
        {INDEX: index(w=FIRST, v=SECOND), FIRST: WEIGHTS, SECOND: WEIGHTS}, "'w' in two files",
    ),
    "a tensor in another file than its index says": (
        {INDEX: index(w=SECOND, v=FIRST), FIRST: WEIGHTS, SECOND: OTHERS},
        "'w' in the file that its index says",
    ),
    "a configuration that is no JSON": (ALONE | {"config.json": b"{"}, "no valid JSON"),
    "a large configuration": (
        ALONE | {"config.json": b'{"a":"%s"}' % (b"w" * 2**20)},
        r"has config\.json, which has 1,048,584 bytes",
    ),
    "a vocabulary that is no text": (ALONE | {"vocab.txt": b"\xff\xfe"}, "no UTF-8"),
    "a pointer in place of weights": (
        {"model.safetensors": b"version https://git-lfs.github.com/spec/v1\n"}, "git lfs pull",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_is_refused(tmp_path: Path, name: str) -> None:
    files, message = FOLDERS[name]
    folder = folder_with(tmp_path / "model", files)
    for limits in (LOCAL_LIMITS, UPLOAD_LIMITS):
        with pytest.raises(CheckpointError, match=message):
            read_contents(folder, limits)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "adapter_model.safetensors"])
def test_a_link_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    outside = tmp_path / "secret"
    outside.write_bytes(WEIGHTS if name.endswith("tensors") else b"{}")
    folder = folder_with(tmp_path / "model", {} if name in ALONE else ALONE)
    (folder / name).symlink_to(outside)
    with pytest.raises(CheckpointError, match="leads out of the folder"):
        read_contents(folder, LOCAL_LIMITS)


def test_an_adapters_tensors_are_told_from_the_models(tmp_path: Path) -> None:
    files = ALONE | {"adapter_model.safetensors": WEIGHTS}
    folder = folder_with(tmp_path / "model", files)
    raw = read_checkpoint(folder)
    assert list(raw.tensors) == ["w", "adapter_model/w"]
    assert [path.name for path in raw.files] == list(files)


def test_names_that_save_model_left_out_are_read_from_the_metadata(tmp_path: Path) -> None:
    metadata = {"format": "pt", "tied": "w", "w": "w", "other": "gone"}
    weights = safetensors({"__metadata__": metadata, "w": entry()})
    raw = read_checkpoint(folder_with(tmp_path / "model", {"model.safetensors": weights}))
    assert list(raw.tensors) == ["w", "tied"]
    assert raw.aliases == {"tied": "w"}


def test_files_together_may_not_be_too_large(tmp_path: Path) -> None:
    """Each file alone is small enough."""
    files = {INDEX: index(w=FIRST, v=SECOND), FIRST: WEIGHTS, SECOND: OTHERS}
    folder = folder_with(tmp_path / "model", files)
    size = (folder / FIRST).stat().st_size
    assert len(read_contents(folder, replace(LOCAL_LIMITS, max_file_bytes=2 * size)).files) == 2
    with pytest.raises(CheckpointError, match="2 files of weights"):
        read_contents(folder, replace(LOCAL_LIMITS, max_file_bytes=2 * size - 1))


def test_small_files_together_may_not_be_too_large(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "model", ALONE | {"config.json": b"{}", "vocab.txt": b"w" * 90})
    assert read_contents(folder, replace(LOCAL_LIMITS, max_small_file_bytes=92)).texts["vocab.txt"]
    with pytest.raises(CheckpointError, match=r"has vocab\.txt, which has 90 bytes, where 89"):
        read_contents(folder, replace(LOCAL_LIMITS, max_small_file_bytes=91))


def test_code_that_lies_there_is_left_alone(tmp_path: Path) -> None:
    """Only files with known names are opened."""
    folder = folder_with(tmp_path / "model", ALONE | {"modeling.py": b"raise SystemExit", "x.pkl": b""})
    assert read_contents(folder, UPLOAD_LIMITS).texts == {}


@pytest.mark.parametrize("name", ["model.safetensors", "vocab.txt", "weights.pt"])
def test_a_pipe_is_not_waited_for(tmp_path: Path, name: str) -> None:
    folder = folder_with(tmp_path / "model", ALONE if name == "vocab.txt" else {})
    os.mkfifo(folder / name)
    with pytest.raises(CheckpointError, match="no regular file"):
        read_contents(folder, LOCAL_LIMITS)
    with pytest.raises(CheckpointError, match="no regular file"):
        read_contents(folder / name, LOCAL_LIMITS)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda path: path.symlink_to(path), "leads nowhere"),
        (lambda path: path.symlink_to("gone.safetensors"), "is not there"),
        (lambda path: path.mkdir(), "no regular file"),
    ],
    ids=["a link to itself", "a link to nothing", "a folder"],
)
def test_what_is_no_file_in_the_place_of_one(
    tmp_path: Path, make: Callable[[Path], object], message: str
) -> None:
    make(tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match=message):
        read_contents(tmp_path, LOCAL_LIMITS)


# Hugging Face's cache


def cached(tmp_path: Path, *revisions: str) -> Path:
    model = folder_with(tmp_path / "models--who--what", {})
    folder_with(model / "blobs", {"abc": WEIGHTS})
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


def test_a_snapshot_may_lead_to_the_files_beside_it_and_no_further(tmp_path: Path) -> None:
    """huggingface_hub's snapshot_download returns such a path."""
    model = cached(tmp_path, "one")
    snapshot = model / "snapshots" / "one"
    for path in (model, snapshot):
        assert list(read_contents(path, LOCAL_LIMITS).files[0].tensors) == ["w"]
    (snapshot / "config.json").symlink_to(folder_with(tmp_path / "other", {"c": b"{}"}) / "c")
    with pytest.raises(CheckpointError, match=r"leads out of the folder.*models--"):
        read_contents(snapshot, LOCAL_LIMITS)


def test_a_folder_called_snapshots_opens_nothing_else(tmp_path: Path) -> None:
    folder_with(tmp_path / "snapshots", {})
    folder = folder_with(tmp_path / "snapshots" / "one", {})
    (folder / "model.safetensors").symlink_to(folder_with(tmp_path / "other", {"w": WEIGHTS}) / "w")
    with pytest.raises(CheckpointError, match="leads out of the folder"):
        read_contents(folder, LOCAL_LIMITS)


def test_a_revision_that_is_a_link_is_none(tmp_path: Path) -> None:
    outside = folder_with(tmp_path / "outside", ALONE)
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
