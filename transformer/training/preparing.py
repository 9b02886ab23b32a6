"""From files of sentence pairs to what a training reads: sub-word vocabularies, and ids on disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from transformer.checkpoints._vocabularies import from_plain, to_plain
from transformer.corpus import read_pairs
from transformer.encoded import EncodedCorpus, EncodedCorpusError
from transformer.filters import FilterReport, filtered
from transformer.text import Coder
from transformer.training.corpus_coding import encode_corpus, learn_coders, with_careless
from transformer.training.files import write_json
from transformer.training.folder import TrainingFolder
from transformer.training.plan import PlanError, TrainingPlan

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Prepared:
    """What a training reads.

    Attributes:
        corpus: its description holds "report" (of the filters), "left_out" (pairs of too many sub-words) and
            "fingerprint".
        source, target: the coders that were learnt from it.
    """

    corpus: EncodedCorpus
    source: Coder
    target: Coder


def prepare(folder: TrainingFolder, plan: TrainingPlan, tell: Callable[[str], None]) -> Prepared:
    """Read, filter and encode the training's pairs, unless that was done for the same files and choices.

    Args:
        folder: where the encoded corpus is kept.
        plan: all choices; the files, the filters and the seed matter.
        tell: called with what is being done, for it may take long.

    Raises:
        CorpusError: for files that can't be read.
        PlanError: when nothing is left to learn.
    """
    wanted = fingerprint(plan)
    found = _found(folder)
    if found is not None and found.corpus.description.get("fingerprint") == wanted:
        tell(f"The encoded corpus in {folder.corpus} is of the same files and choices: it is used again.")
        return found
    report = FilterReport()

    def pairs() -> Iterator[tuple[str, str]]:
        report.clear()
        kept = filtered(
            chain.from_iterable(read_pairs(*files) for files in plan.data.pairs), plan.filters, report
        )
        yield from with_careless(kept, plan.data.careless, plan.updates.seed)

    tell("Learning the sub-words of both languages ...")
    data = plan.data
    coders = learn_coders(pairs, data.languages, vocab_size=data.vocab_size, lowercase=data.lowercase)
    if not report.kept:
        raise PlanError(f"No pair is left to learn from.\n{report}")
    tell("Encoding the corpus ...")

    def describe() -> dict[str, object]:
        return {
            "fingerprint": wanted,
            "report": report.to_dict(),
        }

    folder.corpus.mkdir(parents=True, exist_ok=True)
    write_json(folder.coders, list(map(to_plain, coders)))
    corpus = encode_corpus(folder.corpus, pairs, *coders, longest=data.longest, describe=describe)
    tell(f"{report}\n{corpus.description['left_out']:>9,} left out: more than {data.longest} sub-words")
    return Prepared(corpus, *coders)


def open_prepared(folder: TrainingFolder) -> Prepared:
    """Open what `prepare` made.

    Raises:
        EncodedCorpusError: when it did not.
    """
    corpus = EncodedCorpus(folder.corpus)
    try:
        source, target = map(from_plain, json.loads(folder.coders.read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError) as error:
        raise EncodedCorpusError(f"{folder.corpus} was encoded by another program: remove it.") from error
    return Prepared(corpus, source, target)


def fingerprint(plan: TrainingPlan) -> dict[str, Any]:
    """What tells an encoded corpus from every other: the files' contents and all that is done with them."""
    choices = {name: value for name, value in plan.to_dict()["data"].items() if name != "pairs"}
    return {
        "files": [_digest(path) for files in plan.data.pairs for path in files],
        "data": choices,
        "filters": asdict(plan.filters),
        "seed": plan.updates.seed,
    }


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _found(folder: TrainingFolder) -> Prepared | None:
    try:
        return open_prepared(folder)
    except EncodedCorpusError:
        return None
