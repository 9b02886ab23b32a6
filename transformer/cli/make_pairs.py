"""python -m transformer make-pairs: a corpus and what it lacks, to train English to Italian on."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from transformer.cli.command import CommandError
from transformer.cli.options import MakePairs
from transformer.data.corpus import CorpusError, read_pairs, read_references
from transformer.data.making.dictionary import DictionaryError, Rule, Words, count_words, read_words
from transformer.data.making.joined import Pair
from transformer.data.making.libraries import Libraries, MissingLibraryError, load_libraries
from transformer.data.making.made import KINDS, Amounts, Kind, make, normalized
from transformer.data.making.tables import everyday_nouns
from transformer.files import check_place, write_bytes

USUAL = Amounts()


@dataclass
class _Made:
    """Pairs as lines of a file, and how much there is of each kind."""

    lines: list[str] = field(default_factory=list)
    pairs: Counter[Kind] = field(default_factory=Counter)
    words: Counter[Kind] = field(default_factory=Counter)

    def add(self, kind: Kind, pair: Pair) -> None:
        self.lines.append("\t".join(pair))
        self.pairs[kind] += 1
        self.words[kind] += len(pair[1].split())


def run_making(
    command: MakePairs, *, load: Callable[[], Libraries] = load_libraries, amounts: Amounts = USUAL
) -> int:
    """Make the files, and print what they consist of.

    Args:
        command: what is asked for.
        load: imports the libraries.
        amounts: how much is made.

    Raises:
        CommandError: for a library that is not installed, and files that can't be read or written.
    """
    _check_places(command)
    try:
        made, held_out, words = _made(command, load(), amounts)
    except (CorpusError, DictionaryError, MissingLibraryError) as error:
        raise CommandError(str(error)) from error
    try:
        _write(command.out, made.lines)
        if command.valid_out is not None:
            _write(command.valid_out, held_out.lines)
    except OSError as error:
        raise CommandError(f"The file can't be written: {error}.") from error
    print("\n".join([*_table(made, held_out), "", *_dictionary_table(words)]))
    return 0


def _check_places(command: MakePairs) -> None:
    """Refuse what can't be written, or would write over what is read, before anything is made."""
    read = [("--pairs", path) for path in command.pairs]
    read += [("--held-out", path) for path in command.held_out]
    for option, path in (("--out", command.out), ("--valid-out", command.valid_out)):
        if path is None:
            continue
        try:
            check_place(path)
        except OSError as error:
            raise CommandError(f"{option}: {error}") from error
        for other, taken in read:
            if path.resolve() == taken.resolve():
                raise CommandError(f"{other} and {option} are both {path}: name two files.")
        read.append((option, path))


def _made(command: MakePairs, libraries: Libraries, amounts: Amounts) -> tuple[_Made, _Made, Words]:
    """What is to be trained on, what is held out, and the words of the dictionary."""
    corpus = list(_pairs(command.pairs))
    sources = {normalized(pair.source) for path in command.held_out for pair in read_pairs(path)}
    known = count_words(source for source, _ in corpus)
    words = read_words(command.dictionary, known, libraries, everyday_nouns())
    _check_enough(words, command.dictionary)
    making = make(corpus, words, amounts=amounts, held_out=frozenset(sources), seed=command.seed)
    made, held_out = _Made(), _Made()
    for kind, pair in tqdm(making, "making", unit=" pairs", disable=None):
        (held_out if kind == "held out" else made).add(kind, pair)
    return made, held_out, words


def _pairs(paths: Sequence[Path]) -> Iterator[Pair]:
    for one in read_references(*paths):
        for reference in one.references:
            yield one.source, reference


def _check_enough(words: Words, folder: Path) -> None:
    """Frames need words of each kind that no table has."""
    found = {
        "adjectives": len(words.adjectives),
        "transitive verbs": len(words.verbs_by(transitive=True)),
        "intransitive verbs": len(words.verbs_by(transitive=False)),
    }
    if few := [kind for kind, count in found.items() if count < 2]:
        raise DictionaryError(
            f"Of the dictionary in {folder} fewer than two {' and '.join(few)} could be taken: is it that of "
            "English and Italian, whole?"
        )


def _write(path: Path, lines: Iterable[str]) -> None:
    content = "".join(f"{line}\n" for line in lines).encode()
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    write_bytes(path, content)


def _table(made: _Made, held_out: _Made) -> list[str]:
    """How many pairs and target words there are of each kind."""
    rows = [
        (str(kind), counted.pairs[kind], counted.words[kind])
        for counted in (made, held_out)
        for kind in KINDS
        if counted.pairs[kind]
    ]
    total = ("to train on", made.pairs.total(), made.words.total())
    place = len(made.pairs)
    lines = [
        f"{kind:<12}{pairs:>9,}{words:>14,}" for kind, pairs, words in [*rows[:place], total, *rows[place:]]
    ]
    return [f"{'kind':<12}{'pairs':>9}{'target words':>14}", *lines]


def _dictionary_table(words: Words) -> list[str]:
    """How many words of the dictionary were taken, and how many left out by which rule."""
    return [
        f"Taken of the dictionary: {len(words.nouns) - len(everyday_nouns()):,} nouns, "
        f"{len(words.adjectives):,} adjectives, {len(words.verbs):,} verbs.",
        "Left out, of its translations:",
        *_by_rule(words.translations_left_out),
        "Left out, of the English words that remained:",
        *_by_rule(words.words_left_out),
    ]


def _by_rule(left_out: Mapping[Rule, int]) -> list[str]:
    ranked = sorted(left_out.items(), key=lambda item: -item[1])
    return [f"{count:>9,}  {rule}" for rule, count in ranked]
