"""Uploads from the browser: files with any name, the same name twice, and files that are no checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.support.checkpoints import torch_file
from tests.transformer.checkpoints.importing.families.own_layout.test_described import Gpt, documented
from transformer.checkpoints.reading.folder_files import MAPPING
from transformer.errors import CheckpointError
from viz.opened_checkpoint import CheckpointSlot


@pytest.fixture(autouse=True)
def uploads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where uploads are stored."""
    folder = tmp_path / "uploads"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def slot() -> CheckpointSlot:
    return CheckpointSlot(forget=lambda name: None)


@pytest.mark.parametrize(
    "names, message",
    [
        (["a" * 300 + ".safetensors"], "can't be stored"),
        (["a\0b.pt"], "can't be stored"),
        (["one.pt", "one.pt"], "chosen twice"),
        (["picture.png", "README"], "Choose a file of weights"),
        ([], "Choose a file of weights"),
        (["one.pt"], "one.pt is neither safetensors nor"),
        (["config.json"], "^uploaded folder holds a configuration and no weights"),
    ],
)
def test_what_is_refused_leaves_nothing(uploads: Path, names: list[str], message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        slot().open_uploads((name, b"{}" if name.endswith("json") else b"x") for name in names)
    assert not list(uploads.iterdir())


@pytest.mark.parametrize("name", ["../../mine.pt", "/etc/mine.pt", "C:\\Users\\me\\mine.pt", "mine.pt"])
def test_a_name_is_no_path(uploads: Path, tmp_path: Path, name: str) -> None:
    opened = slot().open_uploads([(name, torch_file(tmp_path / "x.pt").read_bytes())])
    assert opened.label == "mine.pt"
    assert opened.path.parent.parent.parent == uploads
    assert opened.imported.loaded is not None


def test_a_mapping_file_counts_in_a_folder_and_among_uploads(tmp_path: Path) -> None:
    torch.save(Gpt().state_dict(), tmp_path / "mine.pt")
    (tmp_path / MAPPING).write_text(documented(), encoding="utf-8")
    files = [(path.name, path.read_bytes()) for path in tmp_path.iterdir() if path.is_file()]
    for opened in (slot().open_path(str(tmp_path)), slot().open_uploads(files)):
        assert opened.imported.report.family == "described"
    with pytest.raises(CheckpointError, match=f"Its folder has a {MAPPING}: give the folder"):
        slot().open_path(str(tmp_path / "mine.pt"))


def test_one_takes_the_place_of_the_other(uploads: Path, tmp_path: Path) -> None:
    content = torch_file(tmp_path / "x.pt").read_bytes()
    forgotten: list[str] = []
    mine = CheckpointSlot(forgotten.append)
    first = mine.open_uploads([("first.pt", content)])
    second = mine.open_uploads([("second.pt", content)])
    assert forgotten == [first.name]
    assert [path.name for path in uploads.glob("headlight-upload-*/*/*")] == ["second.pt"]
    with pytest.raises(CheckpointError, match="no longer open"):
        mine.own(first.name)
    assert mine.own(second.name) is second
    mine.close()
    assert forgotten == [first.name, second.name]
    assert not list(uploads.glob("headlight-upload-*"))
