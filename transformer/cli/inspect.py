"""python -m transformer inspect: what a checkpoint is, and what is wrong with it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import tyro
from tqdm import tqdm

from transformer.analysis.doctor.answers import weigh_answers
from transformer.analysis.doctor.examine import CHECKS, NextCheck, examine
from transformer.analysis.doctor.findings import Diagnosis
from transformer.checkpoints.folder import MODELS, shipped_models
from transformer.checkpoints.importing.families.own_layout.mapping_file import text_of
from transformer.checkpoints.importing.families.own_layout.template import template
from transformer.checkpoints.importing.report import Imported
from transformer.checkpoints.opening import at_home, open_checkpoint, survey_checkpoint
from transformer.checkpoints.reading.process import read_checkpoint
from transformer.cli.command import CommandError
from transformer.cli.inspect_json import to_plain
from transformer.cli.inspect_text import to_text
from transformer.files import write_text

SMALL = 1_000_000_000
"""Bytes of weights up to which they are looked at unasked: some seconds."""


@dataclass(frozen=True)
class Inspect:
    """Say what a checkpoint is: where each setting came from, its architecture, its parameters, its faults.

    Its names, shapes and configuration are always looked at. Its numbers are read, and the model is run on a
    few sentences, if it has at most 1 GB of weights, or if --check or --text ask for it.

    Attributes:
        path: a file of weights, a folder, or the name of a folder in assets/models.
        text: what the model is run on, one sentence per line.
        answers: to what the files don't tell, such as n_heads=8 norm_position=pre.
        map: a mapping file that says which of our weights each tensor is, for a layout that is not known.
        write_map: write such a file to fill in, and nothing else.
        check: look at the numbers, however many there are.
        quick: don't look at the numbers.
        json: print JSON.
    """

    path: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="PATH")]
    text: str = ""
    answers: tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]] = ()
    map: str = ""
    write_map: str = ""
    check: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    quick: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False


def run_inspection(command: Inspect) -> int:
    """Print what is known about a checkpoint.

    Raises:
        CheckpointError: when it can't be read, or is no model that ours computes.
        CommandError: for options that contradict each other, answers without "=", and two to one question.
    """
    asked = command.check or bool(command.text.strip())
    if command.quick and asked:
        raise CommandError("--quick leaves the numbers alone, --check and --text look at them: choose one.")
    answers = _answers(list(chain.from_iterable(command.answers)))
    path = MODELS / command.path if command.path in shipped_models() else command.path
    if command.write_map:
        return _write_map(path, Path(command.write_map))
    mapping = text_of(command.map) if command.map else None
    imported, diagnosis = survey_checkpoint(path, answers=answers, mapping=mapping), None
    if asked or (imported.raw.n_bytes <= SMALL and not command.quick):
        imported = open_checkpoint(path, answers=answers, mapping=mapping)
        diagnosis = _examined(imported, command.text)
    if command.json:
        print(json.dumps(to_plain(imported, diagnosis), indent=2, allow_nan=False))
    else:
        print(to_text(imported, diagnosis))
    return 0


def _write_map(path: str | Path, file: Path) -> int:
    text = template(read_checkpoint(at_home(path)))
    if file.exists():
        raise CommandError(f"{file} is there already: name a new file for the mapping.")
    write_text(file, text)
    print(f"{file} is written: check it, then run inspect with --map {file}.")
    return 0


def _answers(given: Sequence[str]) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for answer in given:
        name, equals, value = answer.partition("=")
        if not (name and equals and value):
            raise CommandError(f"--answers {answer} is no answer: write a name, = and a value, as n_heads=8.")
        if name in answers:
            raise CommandError(
                f"--answers has {name}={answers[name]} and {answer}: answer each question once."
            )
        answers[name] = value
    return answers


def _examined(imported: Imported, text: str) -> Diagnosis:
    with tqdm(total=len(CHECKS), leave=False, disable=not sys.stderr.isatty()) as bar:

        def tell_answer(done: int, total: int, question: str) -> None:
            bar.set_description(f"Trying answers to {question}: {done} of {total}")

        def tell(check: NextCheck) -> None:
            bar.set_description(check.asks)
            bar.update()

        answers = weigh_answers(imported, text, tell_answer)
        return examine(imported, text, tell, answers=answers)
