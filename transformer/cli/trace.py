"""python -m transformer trace: every tensor of a run by its path, and the run as a page."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from transformer.checkpoints.folder import LoadedModel, default_model
from transformer.cli.command import CommandError
from transformer.cli.given import opened, typed
from transformer.device import choose_device
from transformer.files import check_place, replace_all, write_tensors
from transformer.run import Run, run_sentence

WritePage: TypeAlias = Callable[[LoadedModel, Run, str, Path], None]
"""Writes a run of a source, as typed, as a page."""


@dataclass(frozen=True)
class WriteTrace:
    """Write every tensor of a run by its path, with the tokens; and, if asked for, a page that shows the run.

    A path is that of the module: encoder.layers.0.self_attn.weights. The first axis of a tensor is the batch,
    of one sentence.

    Attributes:
        source: the sentence, or the prompt of a model without an encoder.
        out: the file: .safetensors, whose metadata has tokens, texts and paths as JSON, or .npz, where they
            are arrays.
        target: what the decoder is given to read; when left out the model writes it itself.
        model: the name of a folder in assets/models, or the path of anyone's checkpoint.
        html: a file for the page, which needs no server and no network.
        device: cpu, cuda or mps; the fastest there is when left out.
    """

    source: str
    out: Path
    target: str = ""
    model: str = field(default_factory=default_model)
    html: Path | None = None
    device: str | None = None


def run_tracing(command: WriteTrace, write_page: WritePage) -> int:
    """Run the sentence and write its files.

    Args:
        command: what is asked for.
        write_page: writes the page.

    Raises:
        CheckpointError: for a model that can't be opened.
        CommandError: for a file that can't be written.
        SentenceError: for a sentence that can't be run.
    """
    _check(command)
    loaded = opened(command.model, choose_device(command.device))
    source = typed(command.source)
    run = run_sentence(loaded, source, typed(command.target))
    try:
        _WRITERS[command.out.suffix.lower()](command.out, run, _texts(loaded, run, source))
        print(f"{command.out}: {len(run.trace)} tensors, {_size(command.out)}")
        if command.html is not None:
            write_page(loaded, run, source, command.html)
            print(f"{command.html}: the page, {_size(command.html)}")
    except OSError as error:
        raise CommandError(f"The file can't be written: {error}.") from error
    return 0


def _check(command: WriteTrace) -> None:
    """Refuse what can't be written before a model is opened."""
    if command.out.suffix.lower() not in _WRITERS:
        endings = " or ".join(_WRITERS)
        raise CommandError(
            f"--out is {command.out}: a trace is written as {endings}, so end the name with one."
        )
    if command.html is not None and command.html.resolve() == command.out.resolve():
        raise CommandError(f"--out and --html are both {command.out}: name two files.")
    for option, path in (("--out", command.out), ("--html", command.html)):
        try:
            if path is not None:
                check_place(path)
        except OSError as error:
            raise CommandError(f"{option}: {error}") from error


def _texts(loaded: LoadedModel, run: Run, source: str) -> dict[str, str | list[str]]:
    """What names the axes of the tensors, and where they come from."""
    return {
        "model": loaded.name,
        "text": source,
        "translation": run.translation,
        "src_tokens": [token for tokens in run.trace.src_tokens for token in tokens],
        "tgt_tokens": [token for tokens in run.trace.tgt_tokens for token in tokens],
        "paths": list(run.trace),
    }


def _write_safetensors(path: Path, run: Run, texts: dict[str, str | list[str]]) -> None:
    # Some are the same tensor under two paths, such as a layer's end and the next one's beginning.
    tensors = {name: tensor.clone() for name, tensor in run.trace.items()}
    write_tensors(path, tensors, {name: json.dumps(text) for name, text in texts.items()})


def _write_npz(path: Path, run: Run, texts: dict[str, str | list[str]]) -> None:
    arrays = {name: tensor.numpy() for name, tensor in run.trace.items()}
    told = {name: np.array(text, dtype=np.str_) for name, text in texts.items()}
    replace_all({path: partial(_save_npz, arrays=arrays | told)})


def _save_npz(part: Path, *, arrays: dict[str, Any]) -> None:
    # Into an open file: to a name that does not end so, NumPy adds .npz.
    with part.open("wb") as file:
        np.savez(file, **arrays)


_WRITERS: dict[str, Callable[[Path, Run, dict[str, str | list[str]]], None]] = {
    ".safetensors": _write_safetensors,
    ".npz": _write_npz,
}


def _size(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.1f} MB"
