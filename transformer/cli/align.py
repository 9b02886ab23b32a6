"""python -m transformer align: word links for sentence pairs, and their score against links by people."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from transformer.analysis.alignment.aligning import pair_links
from transformer.analysis.alignment.attention import Pair, check_can_align, encode_pair
from transformer.analysis.alignment.choice import Choice, choose
from transformer.analysis.alignment.links import Link, diagonal_links
from transformer.analysis.alignment.scoring import (
    N_RESAMPLES,
    Difference,
    Estimate,
    Gold,
    LinksError,
    difference,
    parse_gold,
    scores,
)
from transformer.analysis.alignment.words import given_words
from transformer.cli.command import CommandError
from transformer.cli.inputs import open_with_answers
from transformer.cli.options import Align
from transformer.data.corpus import CorpusError, numbered_lines
from transformer.device import choose_device
from transformer.errors import AlignmentError, SentenceError
from transformer.files import check_place, write_text
from transformer.loaded import LoadedModel

SEED = 0
"""Seed of the sample and of the bootstrap."""


@dataclass(frozen=True)
class _Line:
    """A line of the pairs' file."""

    source: str
    target: str
    place: str

    @property
    def lengths(self) -> tuple[int, int]:
        return len(given_words(self.source)), len(given_words(self.target))


def run_alignment(command: Align) -> int:
    """Align, print or write the links, and score them.

    A pair with an empty side has no links; one that the model can't read is reported and has none.

    Raises:
        CheckpointError: for a model that can't be opened.
        CommandError: for files that can't be read or written, and a model that can't align.
    """
    try:
        if command.out is not None:
            check_place(command.out)
        lines = list(_lines(command.pairs))
        gold = None if command.gold is None else _gold(command.gold, lines)
        loaded = open_with_answers(command.model, command.checkpoint, choose_device(command.device))
        check_can_align(loaded)
    except (AlignmentError, CorpusError, OSError) as error:
        raise CommandError(str(error)) from error
    pairs = [_encoded(loaded, line) for line in lines]
    read = [pair for pair in pairs if isinstance(pair, Pair)]
    try:
        choice = _chosen(loaded, read) if read else None
    except AlignmentError as error:
        raise CommandError(str(error)) from error
    found = iter(()) if choice is None else pair_links(loaded, read, choice)
    links, plain, written = list[set[Link]](), list[set[Link]](), list[str]()
    for pair in tqdm(pairs, "aligning", unit=" pairs", leave=False, disable=None):
        own, argmax = next(found) if isinstance(pair, Pair) else (set[Link](), set[Link]())
        links.append(own)
        plain.append(argmax)
        written.append(" ".join(f"{source}-{target}" for source, target in sorted(own)))
        if command.out is None:
            print(written[-1])
    if command.out is not None:
        _write(command.out, written)
    if gold is not None:
        diagonal = [diagonal_links(*line.lengths) for line in lines]
        print(
            _scores_text(gold, links, plain, diagonal, choice),
            file=sys.stderr if command.out is None else sys.stdout,
        )
    return int(any(isinstance(pair, SentenceError) for pair in pairs))


def _lines(path: Path) -> Iterator[_Line]:
    for number, line in numbered_lines(path):
        source, *more = line.split("\t")
        if not more:
            raise CommandError(
                f"{path}:{number} has no tab: write a source, a tab and a target on each line."
            )
        yield _Line(source, more[0], f"{path}:{number}")


def _gold(path: Path, lines: Sequence[_Line]) -> list[Gold]:
    """The links by people; they may also be a further column of the pairs."""
    rows = [line.split("\t")[-1] for _, line in numbered_lines(path)]
    if len(rows) != len(lines):
        raise CommandError(
            f"{path} has {len(rows):,} lines and the pairs have {len(lines):,}: give a line per pair."
        )
    found = []
    for number, (row, line) in enumerate(zip(rows, lines, strict=True), start=1):
        try:
            found.append(parse_gold(row, *line.lengths))
        except LinksError as error:
            raise CommandError(f"{path}:{number}: {error}") from error
    if not any(one.possible for one in found):
        raise CommandError(f"{path} has no links: nothing can be scored against it.")
    return found


def _encoded(loaded: LoadedModel, line: _Line) -> Pair | SentenceError | None:
    """The pair; None if a side is empty; a reported error if the model can't read it."""
    try:
        return encode_pair(loaded, line.source, line.target)
    except SentenceError as error:
        print(f"{line.place} is not aligned: {error}", file=sys.stderr)
        return error


def _chosen(loaded: LoadedModel, pairs: Sequence[Pair]) -> Choice:
    """Choose the heads, and say which, and why."""
    with tqdm(desc="taking source words away", unit=" pairs", leave=False, disable=None) as bar:

        def show(done: int, of: int) -> None:
            bar.total = of
            bar.update(done - bar.n)

        choice = choose(loaded, pairs, seed=SEED, on_pair=show)
    first, *more = choice.parts
    alone = "" if not more else f" ({choice.first_agreement:.3f} from {first} alone)"
    print(
        f"{loaded.name}: links are read from {' and from '.join(map(str, choice.parts))}. A reading row has "
        "the target word as its input; a writing row predicts it.\n"
        f"Chosen without links by people: agreement with knock-outs of source words {choice.agreement:.3f}"
        f"{alone}, of a diagonal {choice.diagonal_agreement:.3f}; 1 would be the costliest source word of "
        f"every target word. {choice.n_pairs} pairs, {choice.n_words:,} target words, seed {SEED}.",
        file=sys.stderr,
    )
    if choice.agreement <= choice.diagonal_agreement:
        print(
            "Warning: no head agrees with knock-outs better than a diagonal does. Don't rely on these links.",
            file=sys.stderr,
        )
    return choice


def _write(path: Path, lines: Sequence[str]) -> None:
    try:
        write_text(path, "".join(f"{line}\n" for line in lines))
    except OSError as error:
        raise CommandError(f"The links can't be written: {error}.") from error


def _scores_text(
    gold: Sequence[Gold],
    links: Sequence[set[Link]],
    plain: Sequence[set[Link]],
    diagonal: Sequence[set[Link]],
    choice: Choice | None,
) -> str:
    rows = [f"{'':10}" + "".join(f"{name:24}" for name in ("precision", "recall", "AER")).rstrip()]
    for name, found in (("alignment", links), ("argmax", plain), ("diagonal", diagonal)):
        own = scores(found, gold, seed=SEED)
        rows.append(
            f"{name:10}"
            + "".join(f"{_shown(one):24}" for one in (own.precision, own.recall, own.aer)).rstrip()
        )
    for name, found in (("argmax", plain), ("diagonal", diagonal)):
        between = difference(links, found, gold, seed=SEED)
        rows.append(f"AER minus that of {name}: {_shown(between.aer, '+')}, {_shown_p(between)}")
    layer = "" if choice is None else f": {choice.layer}"
    return "\n".join(
        [
            *rows,
            f"argmax is each target word's strongest source word, in the layer that agrees best{layer}.",
            f"{len(gold):,} pairs; 95 % intervals from {N_RESAMPLES:,} paired resamples, seed {SEED}.",
        ]
    )


def _shown(one: Estimate, sign: str = "") -> str:
    return f"{one.value:{sign}.3f} [{one.low:{sign}.3f}, {one.high:{sign}.3f}]"


def _shown_p(found: Difference) -> str:
    least = 1 / N_RESAMPLES
    return f"p < {2 * least:.4f}" if found.p <= 2 * least else f"p = {found.p:.4f}"
