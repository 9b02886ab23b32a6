"""python -m transformer evaluate: a model's scores on sentence pairs, or on a challenge set."""

from __future__ import annotations

import json
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tqdm import tqdm

from transformer.cli.command import CommandError
from transformer.cli.inputs import open_with_answers
from transformer.cli.options import Evaluate
from transformer.data.corpus import CorpusError, Referenced, read_references
from transformer.decoding.request import Target
from transformer.device import choose_device
from transformer.errors import SentenceError
from transformer.loaded import LoadedModel
from transformer.training.evaluation.challenge import (
    CategoryScores,
    Challenge,
    challenge_scores,
    overall_scores,
    read_challenges,
)
from transformer.training.evaluation.translations import score, sentence_chrf, source_ids, translate_ids

N_WORST = 20
"""Number of worst translations listed with --json."""

_NO_FOUR_GRAMS = (
    "Note: BLEU needs translations of at least four tokens, and there are none, so it is 0. See chrF and the "
    "exact matches instead."
)


@dataclass(frozen=True)
class Evaluation:
    """The scores of a model.

    Attributes:
        sentences: number of sources.
        references: number of references.
        beam: beam size; 1 for greedy decoding.
        bleu, chrf, bleu_signature, chrf_signature, four_grams: see `TranslationScores`.
        stopped: number of translations stopped by a limit.
        exact: number of translations equal to one of their references, ignoring differences in the amount of
            white space and the composition of accents.
        seconds: time spent on translating.
    """

    model: str
    sentences: int
    references: int
    beam: int
    length_penalty: float
    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str
    four_grams: int
    stopped: int
    exact: int
    seconds: float


def run_evaluation(command: Evaluate) -> int:
    """Translate, score, and print the scores."""
    if command.challenge is not None:
        if command.pairs:
            raise CommandError("Give either --pairs or --challenge: they are scored differently.")
        return _run_challenge(command, command.challenge)
    if not command.pairs:
        raise CommandError("There is nothing to translate: give --pairs, or --challenge.")
    try:
        data = list(read_references(*command.pairs))
        loaded = open_with_answers(command.model, command.checkpoint, choose_device(command.device))
        sources = [source_ids(loaded, one.source, f"sentence in {one.place}") for one in data]
    except (CorpusError, SentenceError) as error:
        raise CommandError(str(error)) from error
    started = time.perf_counter()
    targets = _translate(loaded, sources, command)
    seconds = time.perf_counter() - started
    translated = [loaded.target.decode(target.ids) for target in targets]
    references = [one.references for one in data]
    exact = [_is_exact(*pair) for pair in zip(translated, references, strict=True)]
    found = Evaluation(
        model=loaded.name,
        sentences=len(data),
        references=sum(map(len, references)),
        beam=command.beam,
        length_penalty=command.length_penalty,
        **asdict(score(translated, references)),
        stopped=sum(target.ending != "end" for target in targets),
        exact=sum(exact),
        seconds=seconds,
    )
    if command.json:
        worst = _worst(data, translated, exact)
        print(json.dumps(asdict(found) | {"worst": worst}, ensure_ascii=False, indent=2))
    else:
        print(_text(found))
    return 0


def _run_challenge(command: Evaluate, path: Path) -> int:
    try:
        challenges = read_challenges(path)
        loaded = open_with_answers(command.model, command.checkpoint, choose_device(command.device))
        sources = [source_ids(loaded, one.source, f"sentence in {path}") for one in challenges]
    except (CorpusError, SentenceError) as error:
        raise CommandError(str(error)) from error
    translated = [loaded.target.decode(target.ids) for target in _translate(loaded, sources, command)]
    scores = challenge_scores(challenges, translated)
    if command.json:
        missed = _missed(challenges, translated)
        print(
            json.dumps(
                {"model": loaded.name, "beam": command.beam, "length_penalty": command.length_penalty}
                | {
                    "categories": list(map(asdict, scores)),
                    "all": asdict(overall_scores(scores)),
                    "missed": missed,
                },
                ensure_ascii=False,
                indent=2,
            )
        )
    else:
        print(_challenge_text(loaded.name, command, scores))
    return 0


def _challenge_text(name: str, command: Evaluate, scores: Sequence[CategoryScores]) -> str:
    width = max(len(one.category) for one in scores)
    lines = [
        f"{name}, {_how(command.beam, command.length_penalty)}",
        f"{'':{width}}  {'kept':>15}  chrF  loops",
    ]
    for one in [*scores, overall_scores(scores)]:
        share = f"{one.kept} of {one.pieces} {one.kept / one.pieces:4.0%}"
        lines.append(f"{one.category:{width}}  {share:>15}  {one.chrf:4.1f}  {one.loops:5}")
    return "\n".join(lines)


def _missed(challenges: Sequence[Challenge], translated: Sequence[str]) -> list[dict[str, object]]:
    """The translations that lack a required phrase."""
    return [
        {
            "category": challenge.category,
            "source": challenge.source,
            "translation": translation,
            "references": challenge.references,
            "missing": [
                words
                for words, is_there in zip(challenge.kept, challenge.contains(translation), strict=True)
                if not is_there
            ],
        }
        for challenge, translation in zip(challenges, translated, strict=True)
        if not all(challenge.contains(translation))
    ]


def _how(beam: int, length_penalty: float) -> str:
    return "greedy" if beam == 1 else f"beam {beam}, length penalty {length_penalty:g}"


def _translate(loaded: LoadedModel, sources: Sequence[Sequence[int]], command: Evaluate) -> list[Target]:
    found: dict[int, Target] = {}
    steps = translate_ids(loaded, sources, beam_size=command.beam, alpha=command.length_penalty)
    for index, target in tqdm(steps, "translating", total=len(sources), unit=" sentences", disable=None):
        found[index] = target
    return [found[index] for index in range(len(sources))]


def _is_exact(translation: str, references: Sequence[str]) -> bool:
    return _composed(translation) in map(_composed, references)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", " ".join(text.split()))


def _text(found: Evaluation) -> str:
    how = _how(found.beam, found.length_penalty)
    sentences, references = _counted(found.sentences, "sentence"), _counted(found.references, "reference")
    are = "is one of its references" if found.exact == 1 else "are one of their references"
    lines = [
        f"{found.model}, {how}: {sentences}, {references}",
        f"BLEU   {found.bleu:5.1f}   {found.bleu_signature}",
        f"chrF   {found.chrf:5.1f}   {found.chrf_signature}",
        f"exact  {found.exact / found.sentences:5.1%}  {found.exact:,} {are}",
        f"time   {found.seconds:5.1f} s {found.sentences / found.seconds:.0f} sentences/s",
    ]
    if found.stopped:
        lines.insert(
            -1, f"limit  {found.stopped / found.sentences:5.1%}  {found.stopped:,} stopped by a limit"
        )
    return "\n".join(lines if found.four_grams else [*lines, _NO_FOUR_GRAMS])


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _worst(
    data: Sequence[Referenced], translated: Sequence[str], exact: Sequence[bool]
) -> list[dict[str, object]]:
    """The inexact translations with the lowest chrF, worst first."""
    chrf = sentence_chrf(translated, [one.references for one in data])
    wrong = sorted((index for index, is_exact in enumerate(exact) if not is_exact), key=chrf.__getitem__)
    return [
        {
            "place": data[index].place,
            "source": data[index].source,
            "translation": translated[index],
            "references": data[index].references,
            "chrf": chrf[index],
        }
        for index in wrong[:N_WORST]
    ]
