"""python -m transformer inspect: what a checkpoint contains, and what is wrong with it."""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from transformer.checkpoints.places import MODELS, place_of, shipped_models
from transformer.checkpoints.survey import survey_checkpoint
from transformer.cli.command import CommandError
from transformer.cli.options import Inspect, parse_answers, read_mapping

if TYPE_CHECKING:
    from transformer.analysis.doctor.examine import NextCheck
    from transformer.analysis.doctor.findings import Diagnosis
    from transformer.checkpoints.importing.report import Imported

SMALL = 1_000_000_000
"""Size in bytes up to which weights are checked by default, which takes seconds."""


def run_inspection(command: Inspect) -> int:
    """Print what is known about a checkpoint.

    Raises:
        CheckpointError: when it can't be read, or is not a model that Headlight supports.
        CommandError: for contradictory options or malformed answers.
    """
    needs_weights = command.check or bool(command.text.strip())
    if command.quick and needs_weights:
        raise CommandError("--quick skips the weights, --check and --text read them: choose one.")
    answers, mapping = parse_answers(command.checkpoint.answers), read_mapping(command.checkpoint.map)
    path = MODELS / command.path if command.path in shipped_models() else command.path
    if command.write_map:
        return _write_map(path, Path(command.write_map))
    gc.disable()  # importing torch takes a sixth longer with it, and leaves nothing to collect
    try:
        imported, diagnosis = survey_checkpoint(path, answers=answers, mapping=mapping), None
    finally:
        gc.enable()
    # The doctor and the weights are imported only if needed.
    if needs_weights or (imported.raw.n_bytes <= SMALL and not command.quick):
        from transformer.checkpoints.opening import open_checkpoint

        imported = open_checkpoint(path, answers=answers, mapping=mapping)
        diagnosis = _examine(imported, command.text)
    if command.json:
        from transformer.cli.inspect_json import to_plain

        print(json.dumps(to_plain(imported, diagnosis), indent=2, allow_nan=False))
    else:
        from transformer.cli.inspect_text import to_text

        print(to_text(imported, diagnosis))
    return 0


def _write_map(path: str | Path, file: Path) -> int:
    from transformer.checkpoints.importing.families.own_layout.template import template
    from transformer.checkpoints.reading.process import read_checkpoint
    from transformer.files import write_text

    text = template(read_checkpoint(place_of(path)))
    if file.exists():
        raise CommandError(f"{file} already exists: name a new file for the mapping.")
    write_text(file, text)
    print(f"Wrote {file}: check it, then run inspect with --map {file}.")
    return 0


def _examine(imported: Imported, text: str) -> Diagnosis:
    from tqdm import tqdm

    from transformer.analysis.doctor.answers import weigh_answers
    from transformer.analysis.doctor.examine import CHECKS, examine

    with tqdm(total=len(CHECKS), leave=False, disable=not sys.stderr.isatty()) as bar:

        def show_answer(done: int, total: int, question: str) -> None:
            bar.set_description(f"Trying answers to {question}: {done} of {total}")

        def show_check(check: NextCheck) -> None:
            bar.set_description(check.asks)
            bar.update()

        answers = weigh_answers(imported, text, show_answer)
        return examine(imported, text, show_check, answers=answers)
