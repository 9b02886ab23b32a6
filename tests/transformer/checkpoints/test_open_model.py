"""`open_model` opens everything that the page opens, and reports its assumptions."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from transformers import GPT2LMHeadModel

from tests.support.checkpoints import N_HEADS, torch_file
from tests.transformer.checkpoints.importing.families.hugging_face.small_models import tiny
from transformer.checkpoints.folder import save_model
from transformer.checkpoints.opening import open_model
from transformer.errors import CheckpointError

SIZES = {"vocab_size": 41, "n_embd": 33, "n_layer": 1, "n_head": 3, "n_positions": 29}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder saved by transformers."""
    tiny(GPT2LMHeadModel, SIZES).save_pretrained(tmp_path / "gpt2")
    return tmp_path / "gpt2"


def test_a_folder_of_hugging_face(folder: Path) -> None:
    assert open_model(folder).model.config.d_model == 33
    assert open_model(str(folder / "model.safetensors"), answers={"n_heads": 3}).model.config.n_heads == 3


def test_a_folder_of_its_cache(folder: Path) -> None:
    """Files are links to blobs; the path is the model's folder."""
    cached = folder.parent / "models--somebody--gpt2"
    revision = cached / "snapshots" / "0123abcd"
    (cached / "blobs").mkdir(parents=True)
    revision.mkdir(parents=True)
    for number, file in enumerate(sorted(folder.iterdir())):
        shutil.move(file, cached / "blobs" / str(number))
        (revision / file.name).symlink_to(Path("../../blobs") / str(number))
    assert open_model(cached).model.config.d_model == 33


def test_a_path_at_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder.parent))
    assert open_model("~/gpt2").name == "gpt2"


def test_our_own_and_shipped_ones(tmp_path: Path) -> None:
    shipped = open_model("toy-en-it")
    save_model(tmp_path / "copy", shipped)
    copied = open_model(tmp_path / "copy")
    assert copied.source.encode("the dog is black.").ids == shipped.source.encode("the dog is black.").ids
    assert torch.equal(copied.model.generator.weight, shipped.model.generator.weight)


def test_a_file_that_leaves_questions_open_opens_with_a_warning(tmp_path: Path) -> None:
    path = torch_file(tmp_path / "weights.pt")
    with pytest.warns(UserWarning, match=r"this was assumed: n_heads=.*answers=\{\.\.\.\}") as warned:
        open_model(path)
    assert warned[0].filename == __file__
    with pytest.warns(UserWarning, match="assumed") as warned:
        assert open_model(path, answers={"n_heads": N_HEADS}).model.config.n_heads == N_HEADS
    assert "n_heads" not in str(warned[0].message)


def test_who_wants_the_report_gets_no_warning(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    reports: list[object] = []
    open_model(torch_file(tmp_path / "weights.pt"), on_report=reports.append)
    assert len(reports) == 1
    assert not [warned for warned in recwarn if "assumed" in str(warned.message)]


def test_nothing_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="There is no model"):
        open_model(tmp_path / "none")
