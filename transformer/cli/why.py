"""python -m transformer why: which heads, or which words, an output word depends on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tqdm import tqdm

from transformer.analysis.interventions.questions import NEXT_BEST
from transformer.analysis.receipts.answering import answer
from transformer.analysis.receipts.receipt import HOW, Inquiry, Receipt, ReceiptError, this_version
from transformer.checkpoints.places import default_model, shipped_models
from transformer.cli.command import CommandError
from transformer.cli.inputs import as_utf8, open_with_answers
from transformer.cli.options import Why
from transformer.data.corpus import CorpusError, read_references
from transformer.device import choose_device
from transformer.files import check_place, write_text

SAME = 1e-4
"""Largest difference of numbers that count as the same: another machine sums in another order."""


def run_why(command: Why) -> int:
    """Compute and print an answer, or compute a receipt again; 1 if its numbers differ.

    Raises:
        CheckpointError: for a model that can't be opened.
        CommandError: for options or files that can't be used.
        EditError, SentenceError: for a question that makes no sense for this model or sentence.
    """
    try:
        if command.out is not None:
            check_place(command.out)
        given = None if command.receipt is None else _read(command.receipt)
    except OSError as error:
        raise CommandError(str(error)) from error
    if given is not None and given.version != this_version():
        made_by = given.version or "an unknown version of Headlight"
        print(f"This receipt was made by {made_by}; this is {this_version()}.", file=sys.stderr)
    loaded = open_with_answers(_model(command, given), command.checkpoint, choose_device(command.device))
    inquiry = _inquiry(command) if given is None else given.inquiry
    with _progress() as report:
        found = answer(loaded, inquiry, report)
    _print(found, command.most)
    if command.out is not None:
        write_text(command.out, found.to_json())
        print(f"Receipt: {command.out}")
    return 0 if given is None else _compare(given, found)


def _model(command: Why, given: Receipt | None) -> str:
    """The model to ask: the one given, or else the receipt's, or else the first one."""
    if command.model is not None or given is None:
        return command.model or default_model()
    # A receipt names no file: it has the name of a shipped model, or that of the checkpoint that was opened.
    if given.model not in shipped_models():
        raise CommandError(f"The receipt is about {given.model}: give the path of that model as --model.")
    return given.model


def _read(path: Path) -> Receipt:
    try:
        return Receipt.from_json(path.read_text(encoding="utf-8"))
    except (ReceiptError, UnicodeDecodeError) as error:
        raise CommandError(f"{path}: {error}") from error


def _inquiry(command: Why) -> Inquiry:
    """The inquiry that the options describe."""
    if bool(command.source) == bool(command.pairs):
        raise CommandError("Give a sentence, or --pairs for a file of them.")
    if command.alone and command.rival is not None:
        raise CommandError("Give --rival or --alone: they ask different questions.")
    reference: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    try:
        if command.pairs:
            known = read_references(*command.pairs)
            pairs = tuple((one.source, one.references[0]) for one in known)[: command.limit]
        if command.reference is not None:
            lines = command.reference.read_text(encoding="utf-8").splitlines()
            reference = tuple(line for line in lines if line.strip())
    except (CorpusError, OSError, UnicodeDecodeError) as error:
        raise CommandError(str(error)) from error
    rival = NEXT_BEST if command.rival is None else as_utf8(command.rival)
    return Inquiry(
        parts=command.parts,
        how=command.how or HOW[command.parts][0],
        text=as_utf8(command.source),
        target=as_utf8(command.target),
        word=int(command.word) if command.word.isdecimal() else as_utf8(command.word),
        rival="" if command.alone else rival,
        pairs=pairs,
        reference=reference,
        other=as_utf8(command.other),
        place=command.place,
        seed=command.seed,
    )


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error."""
    with tqdm(unit="run", leave=False, disable=not sys.stderr.isatty()) as bar:

        def report(done: int, of: int) -> None:
            bar.total = of
            bar.update(done - bar.n)

        yield report


def _print(found: Receipt, most: int) -> None:
    if found.output:
        print(found.output)
    of_all = "in the run itself" if found.n == 1 else "in the runs themselves"
    asked = f"{found.inquiry.parts} ({found.inquiry.how}): {found.metric}"
    print(f"{asked}; {of_all} {found.baseline:.4f}; n = {found.n}")
    for name, effect, interval in found.largest(most):
        ends = "" if interval is None else f"  [{interval[0]:+.4f}, {interval[1]:+.4f}]"
        print(f"{effect:+9.4f}{ends}  {name}")


def _compare(given: Receipt, found: Receipt) -> int:
    """Say whether a receipt's numbers came out again."""
    if given.weights != found.weights:
        print(f"The weights are not those of the receipt, which is about {given.model}.", file=sys.stderr)
    difference = given.difference(found)
    same = difference <= SAME
    print(f"{'The same numbers' if same else 'Other numbers'}: the largest difference is {difference:.1e}.")
    return 0 if same else 1
