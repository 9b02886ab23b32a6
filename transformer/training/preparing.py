"""From files of sentence pairs to what a training reads: sub-word vocabularies, and ids on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

from transformer.data.corpus import read_pairs
from transformer.data.encoded import EncodedCorpus, EncodedCorpusError
from transformer.data.filters import FilterReport, filtered
from transformer.files import digest, write_json
from transformer.text.coder import Coder
from transformer.text.plain_values import from_plain, to_plain
from transformer.training.corpus_coding import encode_corpus, learn_coders, with_careless
from transformer.training.folder import TrainingFolder
from transformer.training.plan import PlanError, TrainingPlan

OTHER_PAIRS = (
    "The sentence pairs are not those that this training began with: put the old files back to go on, or "
    "begin anew with --overwrite."
)

Watch = Callable[[Iterable[tuple[str, str]], str], Iterable[tuple[str, str]]]
"""Passes pairs on, and shows how it gets on with what is being done."""

_PASSES = ("sub-words of the source", "sub-words of the target", "encoding")


def _unwatched(pairs: Iterable[tuple[str, str]], _: str) -> Iterable[tuple[str, str]]:
    return pairs


@dataclass(frozen=True)
class Prepared:
    """What a training reads.

    Attributes:
        corpus: its description holds "report" (of the filters), "left_out" (pairs of too many sub-words),
            "fingerprint", and "coders": a digest of the vocabularies' file, for a program that was killed
            while it wrote both may leave those of one corpus with the ids of another.
        source, target: the coders that were learnt from it.
    """

    corpus: EncodedCorpus
    source: Coder
    target: Coder


def prepare(
    folder: TrainingFolder,
    plan: TrainingPlan,
    tell: Callable[[str], None],
    watch: Watch = _unwatched,
) -> Prepared:
    """Read, filter and encode the training's pairs, unless that was done for the same files and choices.

    Args:
        folder: where the encoded corpus is kept.
        plan: all choices; the files, the filters and the seed matter.
        tell: called with what there is to say.
        watch: is given the pairs of each pass over the files, and what is done with them; it may take long.

    Raises:
        CorpusError: for files that can't be read.
        PlanError: when nothing is left to learn, or a training that is to go on began with other pairs.
    """
    wanted = fingerprint(plan)
    found = _found(folder)
    if found is not None and _fits(found.corpus.description.get("fingerprint"), wanted):
        tell(f"The encoded corpus in {folder.corpus} is of the same files and choices: it is used again.")
        return found
    if found is not None and folder.state.exists():
        raise PlanError(OTHER_PAIRS)
    report = FilterReport()

    passes = iter(_PASSES)

    def pairs() -> Iterator[tuple[str, str]]:
        report.clear()
        read = chain.from_iterable(read_pairs(*files) for files in plan.data.pairs)
        kept = watch(filtered(read, plan.filters, report), next(passes))
        yield from with_careless(kept, plan.data.careless, plan.updates.seed)

    data = plan.data
    coders = learn_coders(pairs, data.languages, vocab_size=data.vocab_size, lowercase=data.lowercase)
    if not report.kept:
        raise PlanError(f"No pair is left to learn from.\n{report}")

    def describe() -> dict[str, object]:
        return {"fingerprint": wanted, "report": report.to_dict(), "coders": digest(folder.coders)}

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
    found = digest(folder.coders)
    if corpus.description.get("coders", found) != found:  # an earlier version did not note them
        raise EncodedCorpusError(f"{folder.corpus} holds vocabularies that its ids are not of: remove it.")
    return Prepared(corpus, source, target)


def fingerprint(plan: TrainingPlan) -> dict[str, Any]:
    """What tells an encoded corpus from every other: the files' contents and all that is done with them.

    A file that can't be read has None for its contents.
    """
    choices = {name: value for name, value in plan.to_dict()["data"].items() if name != "pairs"}
    return {
        "files": [digest(path) for files in plan.data.pairs for path in files],
        "data": choices,
        "filters": asdict(plan.filters),
        "seed": plan.updates.seed,
    }


def _fits(found: Any, wanted: dict[str, Any]) -> bool:
    """Whether a corpus has the wanted fingerprint; files that are gone since then don't count."""
    if not isinstance(found, dict) or found | {"files": None} != wanted | {"files": None}:
        return False
    files = zip(found["files"], wanted["files"], strict=False)
    return len(found["files"]) == len(wanted["files"]) and all(now in (None, then) for then, now in files)


def _found(folder: TrainingFolder) -> Prepared | None:
    try:
        return open_prepared(folder)
    except EncodedCorpusError:
        return None
