"""python -m transformer trace: writes every tensor of a run, and the run as a page."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from transformer.cli.command import CommandError
from transformer.cli.inputs import as_utf8, open_with_answers
from transformer.cli.options import WriteTrace
from transformer.device import choose_device
from transformer.files import check_place, replace_all, write_tensors
from transformer.loaded import LoadedModel
from transformer.run import Run, run_sentence

WritePage: TypeAlias = Callable[[LoadedModel, Run, tuple[str, str], Path], None]
"""Function that writes a page: (model, run, source and target as typed, path)."""


def run_tracing(command: WriteTrace, write_page: WritePage) -> int:
    """Run the sentence and write its files.

    Raises:
        CheckpointError: for a model that can't be opened.
        CommandError: for a file that can't be written.
        SentenceError: for a sentence that can't be run.
    """
    _check(command)
    loaded = open_with_answers(command.model, command.checkpoint, choose_device(command.device))
    source = as_utf8(command.source)
    target = as_utf8(command.target)
    run = run_sentence(loaded, source, target)
    try:
        _WRITERS[command.out.suffix.lower()](command.out, run, _texts(loaded, run, source))
        print(f"{command.out}: {len(run.trace)} tensors, {_size(command.out)}")
        if command.html is not None:
            write_page(loaded, run, (source, target), command.html)
            print(f"{command.html}: the page, {_size(command.html)}")
    except OSError as error:
        raise CommandError(f"The file can't be written: {error}.") from error
    return 0


def _check(command: WriteTrace) -> None:
    """Refuse files that can't be written, before a model is opened."""
    if command.out.suffix.lower() not in _WRITERS:
        endings = " or ".join(_WRITERS)
        raise CommandError(f"--out is {command.out}: a trace is written as {endings}, end the name with one.")
    if command.html is not None and command.html.resolve() == command.out.resolve():
        raise CommandError(f"--out and --html are both {command.out}: name two files.")
    for option, path in (("--out", command.out), ("--html", command.html)):
        try:
            if path is not None:
                check_place(path)
        except OSError as error:
            raise CommandError(f"{option}: {error}") from error


def _texts(loaded: LoadedModel, run: Run, source: str) -> dict[str, str | list[str]]:
    """The metadata of a trace: model, texts, tokens, paths."""
    return {
        "model": loaded.name,
        "text": source,
        "translation": run.translation,
        "ending": run.ending or "",
        "src_tokens": [token for tokens in run.trace.src_tokens for token in tokens],
        "tgt_tokens": [token for tokens in run.trace.tgt_tokens for token in tokens],
        "paths": list(run.trace),
    }


def _write_safetensors(path: Path, run: Run, texts: dict[str, str | list[str]]) -> None:
    write_tensors(path, run.trace, {name: json.dumps(text) for name, text in texts.items()})


def _write_npz(path: Path, run: Run, texts: dict[str, str | list[str]]) -> None:
    arrays = {name: tensor.numpy() for name, tensor in run.trace.items()}
    metadata = {name: np.array(text, dtype=np.str_) for name, text in texts.items()}
    replace_all({path: partial(_save_npz, arrays=arrays | metadata)})


def _save_npz(part: Path, *, arrays: dict[str, Any]) -> None:
    # To an open file, because NumPy would add .npz to the name.
    with part.open("wb") as file:
        np.savez(file, **arrays)


_WRITERS: dict[str, Callable[[Path, Run, dict[str, str | list[str]]], None]] = {
    ".safetensors": _write_safetensors,
    ".npz": _write_npz,
}


def _size(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.1f} MB"
