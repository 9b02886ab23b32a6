import io
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import torch

from transformer.__main__ import main
from transformer.checkpoints.folder import save_model
from transformer.checkpoints.opening import open_model
from transformer.checkpoints.places import shipped_models
from transformer.cli import train, train_finish
from transformer.data.tasks import ToyEnIt
from transformer.training.evaluation.tasks import translations


@pytest.fixture(autouse=True)
def _keep_threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def give_lines(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_sentences_are_translated(capsys: pytest.CaptureFixture[str]) -> None:
    """Case and typographic apostrophes don't matter."""
    sentences = ["My favourite animal is the raccoon.", "yesterday i saw a raccoon."]
    apostrophes = ["I don\u2019t see the dog.", "i don't see the dog."]
    assert main(["translate", "--model", "toy-en-it", "--device", "cpu", *sentences, *apostrophes]) == 0
    *first, third, fourth = capsys.readouterr().out.splitlines()
    assert first == ["il mio animale preferito è il procione.", "ieri ho visto un procione."]
    assert third == fourth


def test_lines_stay_aligned(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    give_lines(monkeypatch, b"the dog is black.\n\n \t\r\nthe cat is black.")
    assert main(["translate", "--model", "toy-en-it"]) == 0
    assert capsys.readouterr().out.split("\n") == ["il cane è nero.", "", "", "il gatto è nero.", ""]


def test_anything_may_be_typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    typed = [
        "<bos>",
        "<script>alert(1)</script>",
        "2024",
        "\u202eabc\u200b",
        "\U0001f99d",
        "...",
        "$x$ :red[a]",
    ]
    give_lines(monkeypatch, "\n".join(typed).encode() + b"\n\xff\xfe\n")
    assert main(["translate"]) == 0
    assert capsys.readouterr().out.count("\n") == len(typed) + 1


def test_a_sentence_that_is_too_long_is_named_and_left_empty(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", "--model", "toy-en-it", "the dog " * 200, "the dog is black."]) == 1
    printed = capsys.readouterr()
    assert printed.out == "\nil cane è nero.\n"
    assert printed.err.startswith("Sentence 1: The sentence has 400 words")


def test_a_model_is_named_by_a_path_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "my model"
    save_model(folder, open_model("toy-en-it"))
    assert main(["translate", "--model", str(folder), "the dog is black."]) == 0
    assert capsys.readouterr().out == "il cane è nero.\n"


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["translate", "--model", "no-such-model", "hello"], "There is no model 'no-such-model'"),
        (["translate", "--device", "abacus", "hello"], "There is no device 'abacus'"),
        (["translate", "--beam", "0", "hello"], "--beam is 0"),
        (
            ["translate", "--length-penalty", "nan", "hello"],
            "--length-penalty is nan: it must be from 0 to 10",
        ),
        (["translate", "--length-penalty", "inf", "hello"], "--length-penalty is inf"),
        (["translate", "--length-penalty", "-0.5", "hello"], "--length-penalty is -0.5"),
        (["translate", "--beam", "2", "--length-penalty", "1e308", "hello"], "--length-penalty is 1e+308"),
    ],
)
def test_impossible_options_get_a_one_line_message(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(message)
    assert printed.err.count("\n") == 1


def test_an_unknown_model_is_answered_with_the_shipped_ones(capsys: pytest.CaptureFixture[str]) -> None:
    main(["translate", "--model", "nope", "hello"])
    error = capsys.readouterr().err
    assert all(name in error for name in shipped_models())


def test_training_writes_a_model_and_prints_its_score(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_finish, "HELD_OUT", 5)
    folder = tmp_path / "new" / "model"
    arguments = ["train", "--task", "toy-en-it", "--out", str(folder), "--n-pairs", "80", "--seed", "3"]
    assert main([*arguments, "--threads", "1"]) == 0
    printed = capsys.readouterr()
    assert "of 5 held-out sentences" in printed.out
    assert "loss" in printed.err
    assert "tokens/s" in printed.err
    loaded = open_model(str(folder))
    assert "of 5 held-out sentences" in loaded.card
    assert "    python -m transformer train --task toy-en-it --n-pairs 80 --seed 3\n" in loaded.card
    assert loaded.model.config.max_len == 128
    assert main(["translate", "--model", str(folder), "the dog."]) == 0


def test_a_folder_in_use_is_overwritten_only_on_request(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_finish, "HELD_OUT", 2)
    (tmp_path / "notes.txt").write_text("mine")
    arguments = ["train", "--task", "toy-en-it", "--out", str(tmp_path), "--n-pairs", "20", "--threads", "1"]
    assert main(arguments) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert main([*arguments, "--overwrite"]) == 0
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert (tmp_path / "model.safetensors").exists()


def test_a_folder_that_cannot_be_made_is_refused_before_training(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file" / "model", tmp_path / "file"):
        assert main(["train", "--task", "toy-en-it", "--out", str(out)]) == 1
        assert "can't be written to" in capsys.readouterr().err


@pytest.mark.slow
def test_ctrl_c_says_how_to_resume(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resumed run gives the same model as an uninterrupted one."""
    monkeypatch.setattr(train_finish, "HELD_OUT", 2)
    command = ["train", "--task", "toy-en-it", "--n-pairs", "60", "--threads", "1", "--out"]

    def interrupted(pairs: Iterable[object], _: str) -> Iterable[object]:
        signal.raise_signal(signal.SIGINT)
        return pairs

    with monkeypatch.context() as patch:
        patch.setattr(train, "_with_progress", interrupted)
        assert main([*command, str(tmp_path / "stopped")]) == 130
    assert "Stopped after update 0, saved: resume with" in capsys.readouterr().err
    assert main(["train", "--resume", "--out", str(tmp_path / "stopped")]) == 0
    assert main([*command, str(tmp_path / "unbroken")]) == 0
    stopped, unbroken = (tmp_path / name / "model.safetensors" for name in ("stopped", "unbroken"))
    assert stopped.read_bytes() == unbroken.read_bytes()


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["translate", "--help"]])
def test_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 0
    assert "translat" in capsys.readouterr().out or "train" in arguments


def test_the_shipped_model_translates_held_out_sentences() -> None:
    made = list(translations(open_model("toy-en-it"), ToyEnIt().held_out(100, seed=99)))
    assert sum(translation.exact for translation in made) >= 95
