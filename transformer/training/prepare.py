"""Prepares a training run: vocabularies, data, initial model, trainer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from typing import Any

import torch

from transformer.checkpoints.folder import open_coders, open_saved, own_folder
from transformer.checkpoints.places import VOCABULARY
from transformer.data.batches import build_vocabulary
from transformer.data.corpus import read_pairs
from transformer.data.corpus_coding import encode_corpus, learn_coders, with_typing_noise
from transformer.data.encoded import EncodedCorpus, EncodedCorpusError
from transformer.data.filters import FilterReport, filtered
from transformer.data.tasks import TASKS, SentencePair, SymbolTask, Task
from transformer.data.tasks.symbols import SYMBOLS
from transformer.files import digest, write_json
from transformer.loaded import LoadedModel
from transformer.model.transformer import Transformer
from transformer.text.coder import Coder, SentenceCoder
from transformer.text.plain_values import from_plain, to_plain
from transformer.text.subwords import SubwordCoder
from transformer.text.vocabulary import Vocabulary
from transformer.text.words import WordTokenizer
from transformer.training.data import CorpusData, TaskData, TrainingData
from transformer.training.evaluation.tasks import word_coder
from transformer.training.experience import collect_experience
from transformer.training.folder import TrainingFolder
from transformer.training.leaks import LEAKS, Leak
from transformer.training.optimization.ranks import ALONE, Ranks
from transformer.training.optimization.trainer import Trainer
from transformer.training.plan import OLD_NOISE_NAME, PlanError, TrainingPlan, UpdatePlan
from transformer.training.starting import WHOLE_WORDS, take_weights

OTHER_PAIRS = (
    "The sentence pairs have changed since this run started: restore the old files to resume it, or start "
    "again with --overwrite."
)

Watch = Callable[[Iterable[Any], str], Iterable[Any]]
"""Wraps an iterable to show its progress under a description."""

_PASSES = ("sub-words of the source", "sub-words of the target", "encoding")


def unwatched(pairs: Iterable[Any], _: str) -> Iterable[Any]:
    """A `Watch` that shows nothing."""
    return pairs


@dataclass(frozen=True)
class Prepared:
    """The inputs of a training run.

    Attributes:
        data: the training data.
        source, target: the coders of both sides.
        updates: the update plan, with steps and warmup filled in.
        generator: random generator for the initial weights.
    """

    data: TrainingData
    source: Coder
    target: Coder
    updates: UpdatePlan
    generator: torch.Generator


def prepare(
    folder: TrainingFolder, plan: TrainingPlan, tell: Callable[[str], None], watch: Watch = unwatched
) -> None:
    """Read, filter and encode a plan's files, unless already done for the same files and options.

    A built-in task needs no preparation. The encoded corpus's description has "report" (of the filters),
    "left_out" (pairs with too many sub-words), "fingerprint", and "coders": a digest of the vocabulary file,
    because a killed process may leave vocabularies and ids that don't match.

    Args:
        folder: the run's folder.
        plan: the plan, of which the files, the filters and the seed are used.
        tell: prints a message.
        watch: shows the progress of each pass over the files.

    Raises:
        CorpusError: for files that can't be read.
        PlanError: when no pair remains; when the pairs are not those of the run to resume; when the
            vocabularies to keep have whole words.
        CheckpointError: when those can't be read.
    """
    if plan.data.task is not None:
        return
    wanted = fingerprint(plan)
    found = _found(folder)
    if found is not None and _fits(found.description.get("fingerprint"), wanted):
        tell(f"Reusing the encoded corpus in {folder.corpus}: files and options are the same.")
        return
    if found is not None and folder.state.exists():
        raise PlanError(OTHER_PAIRS)
    report = FilterReport()

    data, coders = plan.data, coders_to_keep(plan)
    passes = iter(_PASSES if coders is None else _PASSES[-1:])

    def pairs() -> Iterator[tuple[str, str]]:
        report.clear()
        read = chain.from_iterable(read_pairs(*files) for files in plan.data.pairs)
        kept = watch(filtered(read, plan.filters, report), next(passes))
        yield from with_typing_noise(kept, plan.data.typing_noise, plan.updates.seed)
        if not report.kept:
            raise PlanError(f"All pairs were left out.\n{report}")

    if coders is None:
        coders = learn_coders(
            pairs,
            data.languages,
            vocab_size=data.vocab_size,
            shared=data.shared_vocabulary,
            lowercase=data.lowercase,
        )

    def describe() -> dict[str, object]:
        return {"fingerprint": wanted, "report": asdict(report), "coders": digest(folder.coders)}

    folder.corpus.mkdir(parents=True, exist_ok=True)
    write_json(folder.coders, list(map(to_plain, coders)))
    corpus = encode_corpus(folder.corpus, pairs, *coders, longest=data.longest, describe=describe)
    tell(f"{report}\n{corpus.description['left_out']:>9,} left out: more than {data.longest} sub-words")


def open_prepared(
    folder: TrainingFolder, plan: TrainingPlan, ranks: Ranks = ALONE, watch: Watch = unwatched
) -> Prepared:
    """Open the corpus from `prepare`, or generate a built-in task's pairs, in every process.

    Raises:
        EncodedCorpusError: when no corpus was prepared.
        CheckpointError: when a shipped model's vocabularies can't be read.
    """
    updates = plan.updates
    generator = torch.Generator().manual_seed(updates.seed)
    if plan.data.task is None:
        corpus, source, target = _open_corpus(folder)
        data = CorpusData(corpus, updates)
        settled = updates.settled(0 if updates.steps else len(data.epoch(0)) // ranks.count)
        return Prepared(data, source, target, settled, generator)
    task = TASKS[plan.data.task]
    made = islice(task.pairs(updates.seed, held_out=False), plan.data.n_pairs)
    pairs = list(watch(made, "sentences"))
    source, target = task_coders(task, pairs)
    vocabularies = word_coder(source).vocabulary, word_coder(target).vocabulary
    task_data = TaskData(task, pairs, vocabularies, updates)
    n_batches = 0
    if pairs:
        first, generator = task_data.ordered(0)
        n_batches = len(first)
    return Prepared(task_data, source, target, updates.settled(n_batches // ranks.count), generator)


def coders_to_keep(plan: TrainingPlan) -> tuple[SubwordCoder, SubwordCoder] | None:
    """The coders of start_from's model if the plan keeps them, else None.

    Raises:
        PlanError: when that model has whole words.
        CheckpointError: when they can't be read.
    """
    if plan.data.vocab_size:
        return None
    source, target = open_coders(plan.model.start_from)
    if not (isinstance(source, SubwordCoder) and isinstance(target, SubwordCoder)):
        raise PlanError(WHOLE_WORDS)
    return source, target


def task_coders(task: Task, pairs: Sequence[SentencePair] = ()) -> tuple[Coder, Coder]:
    """A task's coders, built from the words of the pairs; without pairs, those of its shipped model.

    Symbol tasks always have the same symbols.

    Raises:
        CheckpointError: when the shipped model's vocabularies can't be read.
    """
    if isinstance(task, SymbolTask):
        coder = SentenceCoder(WordTokenizer("en", lowercase=True), Vocabulary(SYMBOLS))
        return coder, coder
    if not pairs:
        return open_coders(task.name)
    source = build_vocabulary([pair.source for pair in pairs])
    target = build_vocabulary([pair.target for pair in pairs])
    return (
        SentenceCoder(WordTokenizer(task.source_language, lowercase=True), source),
        SentenceCoder(WordTokenizer(task.target_language, lowercase=True), target),
    )


def new_model(
    plan: TrainingPlan, name: str, coders: tuple[Coder, Coder], generator: torch.Generator | None = None
) -> LoadedModel:
    """The plan's model with random weights, and with the plan's leak if any.

    Raises:
        ConfigError: for impossible sizes.
        PlanError: for an unknown leak.
    """
    source, target = coders
    config = plan.model.config(
        src_vocab_size=len(source.vocabulary),
        tgt_vocab_size=len(target.vocabulary),
        share_embeddings=plan.data.shared_vocabulary,
    )
    model = Transformer(config, generator)
    if plan.model.leak:
        model = find_leak(plan.model.leak).variant(model)
    return LoadedModel(name=name, model=model, source=source, target=target)


def find_leak(name: str) -> Leak:
    """Find a leak by name.

    Raises:
        PlanError: for an unknown name.
    """
    if name not in LEAKS:
        raise PlanError(f"leak is {name!r}: choose one of {', '.join(LEAKS)}, or none.")
    return LEAKS[name]


def first_model(
    plan: TrainingPlan, name: str, prepared: Prepared, device: torch.device, ranks: Ranks = ALONE
) -> LoadedModel:
    """The model with its initial weights; also seeds torch's default generator, which dropout uses.

    Its experience is set from the start, so that all validations have the same length limits. Each process
    has its own seed. Only for a process dedicated to training.

    Raises:
        ConfigError, PlanError: as in `new_model`, and when start_from's weights don't fit.
        CheckpointError: when those can't be read.
    """
    loaded = new_model(plan, name, (prepared.source, prepared.target), prepared.generator)
    if plan.model.start_from:
        take_weights(loaded, open_saved(plan.model.start_from))
    loaded.model.to(device)
    torch.manual_seed(plan.updates.seed + ranks.rank)
    if isinstance(prepared.data, CorpusData):
        return replace(
            loaded, experience=collect_experience(prepared.data.corpus, loaded.source, loaded.target)
        )
    return loaded


def new_trainer(updates: UpdatePlan, loaded: LoadedModel, ranks: Ranks = ALONE) -> Trainer:
    """The trainer for a model."""
    return Trainer(
        loaded.model,
        rate=updates.rate(loaded.model.config.d_model),
        smoothing=updates.smoothing,
        max_gradient_norm=updates.clip,
        precision=updates.precision,
        compiled=updates.compile,
        ranks=ranks,
    )


def _open_corpus(folder: TrainingFolder) -> tuple[EncodedCorpus, Coder, Coder]:
    corpus = EncodedCorpus(folder.corpus)
    try:
        source, target = map(from_plain, json.loads(folder.coders.read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError) as error:
        raise EncodedCorpusError(f"{folder.corpus} was encoded by another program: remove it.") from error
    found = digest(folder.coders)
    if corpus.description.get("coders", found) != found:  # earlier versions did not record them
        raise EncodedCorpusError(f"{folder.corpus} has ids of other vocabularies: remove it.")
    return corpus, source, target


def fingerprint(plan: TrainingPlan) -> dict[str, Any]:
    """The dependencies of an encoded corpus: digests of the files (None if unreadable), and options.

    If start_from's vocabularies are kept, their file is included.

    Raises:
        CheckpointError: when there is no such model.
    """
    choices = plan.to_dict()["data"]
    for name in ("task", "n_pairs", "pairs"):
        del choices[name]
    choices[OLD_NOISE_NAME] = choices.pop("typing_noise")
    if not choices["shared_vocabulary"]:  # earlier versions had no such option
        del choices["shared_vocabulary"]
    paths = [path for files in plan.data.pairs for path in files]
    if not plan.data.vocab_size:
        paths.append(own_folder(plan.model.start_from) / VOCABULARY)
    return {
        "files": list(map(digest, paths)),
        "data": choices,
        "filters": asdict(plan.filters),
        "seed": plan.updates.seed,
    }


def _fits(found: Any, wanted: dict[str, Any]) -> bool:
    """True if a corpus has the wanted fingerprint, ignoring files that no longer exist."""
    if not isinstance(found, dict) or found | {"files": None} != wanted | {"files": None}:
        return False
    files = zip(found["files"], wanted["files"], strict=False)
    return len(found["files"]) == len(wanted["files"]) and all(now in (None, then) for then, now in files)


def _found(folder: TrainingFolder) -> EncodedCorpus | None:
    try:
        return _open_corpus(folder)[0]
    except EncodedCorpusError:
        return None
