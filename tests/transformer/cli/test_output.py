"""Standard input and output: closed, full, in another encoding, interrupted."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from transformer.__main__ import main

FULL = Path("/dev/full")
TRANSLATE = ["translate", "--model", "toy-en-it", "--device", "cpu"]


def evaluation(folder: Path) -> list[str]:
    pairs = folder / "test.tsv"
    pairs.write_text("the dog is black.\til cane è nero.\n", encoding="utf-8")
    return ["evaluate", "--model", "toy-en-it", "--device", "cpu", "--pairs", str(pairs)]


@pytest.mark.skipif(not FULL.exists(), reason="a device of Linux")
@pytest.mark.parametrize("command", ["translate", "evaluate", "help"])
def test_a_full_disk(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The write may fail at once or when the buffer is flushed; the exit does not fail again."""
    arguments = {"translate": [*TRANSLATE, "the dog."], "evaluate": evaluation(tmp_path), "help": ["--help"]}
    with FULL.open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(arguments[command]) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("The output can't be written (No space left on device): free some space")


def test_a_closed_pipe_is_no_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert main([*TRANSLATE, "the dog."]) == 1
    assert "rror" not in capsys.readouterr().err


def test_closed_standard_streams(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main([*TRANSLATE, "the dog is black."]) == 0
    assert main(TRANSLATE) == 1
    printed = capsys.readouterr()
    assert printed.out == "il cane è nero.\n"
    assert printed.err == "Standard input is closed: give the sentences after the command.\n"
    monkeypatch.setattr(sys, "stdout", None)
    assert main([*TRANSLATE, "the dog is black."]) == 0


def printed_in_an_ascii_locale(arguments: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> bytes:
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding="ascii"))
    assert main(arguments) == 0
    return output.getvalue()


def test_input_and_output_are_utf8_whatever_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = printed_in_an_ascii_locale([*TRANSLATE, "the dog is black."], monkeypatch)
    assert printed.decode() == f"il cane è nero.{os.linesep}"
    typed = "I don’t see the dog."
    as_python_has_it = typed.encode().decode("ascii", errors="surrogateescape")
    assert as_python_has_it != typed
    first, second = printed_in_an_ascii_locale(
        [*TRANSLATE, typed, as_python_has_it], monkeypatch
    ).splitlines()
    assert first == second
    assert printed_in_an_ascii_locale([*TRANSLATE, "\ud800 \udcff dog"], monkeypatch)


class _Interrupted:
    """An importer that raises Ctrl-C while a module is imported."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "transformer.cli.dispatch":
            raise KeyboardInterrupt


def test_ctrl_c_is_quiet_from_the_beginning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "transformer.cli.dispatch", raising=False)
    monkeypatch.setattr(sys, "meta_path", [_Interrupted, *sys.meta_path])
    assert main(TRANSLATE) == 130
    assert capsys.readouterr() == ("", "")
    loaded = "import sys, transformer.__main__; print('torch' in sys.modules, 'tyro' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert found.stdout == "False False\n", "what takes seconds to import is imported where Ctrl-C is caught"
