"""The command `trace`: every tensor of a run, bit for bit, with its tokens; and its page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

from tests.support.kinds import KINDS
from tests.support.models import tiny_model
from transformer.__main__ import main
from transformer.checkpoints.folder import save_model
from transformer.cli import trace
from transformer.loaded import LoadedModel
from transformer.run import Run, run_sentence

SOURCE = "the cat saw a dog"
MODELS: dict[str, Callable[[], LoadedModel]] = {"encoder-decoder": tiny_model, **KINDS}


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> Callable[[LoadedModel, Path], Run]:
    """Write the trace of an unsaved model; returns the run."""

    def write(loaded: LoadedModel, out: Path) -> Run:
        monkeypatch.setattr(trace, "open_with_answers", lambda *_: loaded)
        assert main(["trace", "--source", SOURCE, "--out", str(out)]) == 0
        return run_sentence(loaded, SOURCE)

    return write


def safetensors_contents(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    with safe_open(path, "np") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # no mapping
        return tensors, {name: json.loads(text) for name, text in file.metadata().items()}


def npz_contents(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    with np.load(path) as file:
        return (
            {name: array for name, array in file.items() if array.dtype.kind != "U"},
            {name: array.tolist() for name, array in file.items() if array.dtype.kind == "U"},
        )


@pytest.mark.parametrize("kind", MODELS)
def test_both_files_have_every_tensor_to_the_last_bit(
    kind: str, tmp_path: Path, traced: Callable[[LoadedModel, Path], Run]
) -> None:
    for ending, contents in ((".safetensors", safetensors_contents), (".npz", npz_contents)):
        run = traced(MODELS[kind](), tmp_path / f"run{ending}")
        tensors, texts = contents(tmp_path / f"run{ending}")
        assert set(tensors) == set(run.trace)
        for path, tensor in run.trace.items():
            assert tensors[path].dtype == tensor.numpy().dtype, path
            assert tensors[path].shape == tensor.shape, path
            assert tensors[path].tobytes() == tensor.contiguous().numpy().tobytes(), path
        assert texts == {
            "model": MODELS[kind]().name,
            "text": SOURCE,
            "translation": run.translation,
            "ending": run.ending or "",
            "src_tokens": [token for tokens in run.trace.src_tokens for token in tokens],
            "tgt_tokens": [token for tokens in run.trace.tgt_tokens for token in tokens],
            "paths": list(run.trace),
        }


def test_a_target_is_read_and_a_page_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_model(tmp_path / "mine", tiny_model())
    files = ["--out", str(tmp_path / "a.NPZ"), "--html", str(tmp_path / "a.html")]
    given = ["--model", str(tmp_path / "mine"), "--source", SOURCE, "--target", "ho visto il cane"]
    assert main(["trace", *given, *files]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    first, second = printed.out.splitlines()
    assert first.startswith(f"{tmp_path / 'a.NPZ'}: ")
    assert " tensors, " in first
    assert re.match(re.escape(str(tmp_path / "a.html")) + r": the page, 0\.\d MB", second)
    with np.load(tmp_path / "a.NPZ") as file:
        assert file["tgt_tokens"].tolist() == ["<bos>", "ho", "visto", "il", "cane"]
    assert f"<h1>{SOURCE}</h1>" in (tmp_path / "a.html").read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.NPZ", "a.html", "mine"]


@pytest.mark.parametrize(
    "text, name", [("cat \udcff dog", "a.npz"), ("cat\x00 <script> \u202e dog", "a.safetensors")]
)
def test_any_text_can_be_written(text: str, name: str, tmp_path: Path) -> None:
    given = ["--model", "toy-en-it", "--source", text, "--html", str(tmp_path / "a.html")]
    assert main(["trace", *given, "--out", str(tmp_path / name)]) == 0
    contents = npz_contents if name == "a.npz" else safetensors_contents
    assert contents(tmp_path / name)[1]["text"] == text.replace("\udcff", "\ufffd")


@pytest.mark.parametrize(
    "files, message",
    [
        (["--out", "a.csv"], "--out is a.csv: a trace is written as .safetensors or .npz"),
        (["--out", "a"], "--out is a: a trace is written as"),
        (["--out", "folder.npz"], "--out: folder.npz is a folder: name a file in it."),
        (["--out", "none/a.npz"], "--out: There is no folder none: make it first."),
        (["--out", "a.npz", "--html", "folder.npz"], "--html: folder.npz is a folder"),
        (["--out", "a.npz", "--html", "./a.npz"], "--out and --html are both a.npz: name two files."),
    ],
)
def test_what_can_not_be_written_is_said_before_a_model_is_opened(
    files: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "folder.npz").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trace, "open_with_answers", lambda *_: pytest.fail("a model was opened"))
    assert main(["trace", "--source", SOURCE, *files]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(message)
    assert printed.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["folder.npz"]


def test_a_full_disk_is_said_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(trace, "open_with_answers", lambda *_: tiny_model())
    monkeypatch.setattr(np, "savez", full)
    assert main(["trace", "--source", SOURCE, "--out", str(tmp_path / "a.npz")]) == 1
    assert capsys.readouterr().err.startswith("The file can't be written: [Errno 28] No space left")
    assert list(tmp_path.iterdir()) == []
