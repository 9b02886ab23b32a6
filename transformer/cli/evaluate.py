"""python -m transformer evaluate: a model's scores on sentence pairs."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from transformer.checkpoints.folder import default_model, open_model
from transformer.cli.command import CommandError
from transformer.corpus import CorpusError, read_references
from transformer.device import choose_device
from transformer.evaluation import bleu_and_chrf, translate_all
from transformer.run import SentenceError

N_WRONG = 20
"""How many translations unlike every reference --json lists."""


@dataclass(frozen=True)
class Evaluate:
    """Translate the sources of a file and score the translations: BLEU, chrF, exact matches.

    Attributes:
        pairs: a TSV file of source, tab, translation, or two aligned files; plain or gzipped. Several
            translations of a source stand on neighbouring lines, or in further columns.
        model: the name of a folder in assets/models, or the path of a model's folder.
        beam: hypotheses that are followed at a time; 1 is greedy decoding.
        length_penalty: alpha of the beam search: more favours longer translations.
        json: print everything as JSON, with translations that are like no reference.
        device: cpu, cuda or mps; the fastest there is when left out.
    """

    pairs: tuple[Path, ...]
    model: str = field(default_factory=default_model)
    beam: int = 1
    length_penalty: float = 1.0
    json: bool = False
    device: str | None = None


@dataclass(frozen=True)
class Evaluation:
    """What an evaluation found.

    Attributes:
        model: its name.
        sentences: how many sources were translated.
        references: how many translations they are compared with.
        beam: 1 for greedy decoding.
        length_penalty: of the beam search.
        bleu, chrf: sacrebleu's, of the corpus, 0 to 100.
        exact: sources whose translation is one of its references, letter for letter.
        seconds: that translating took.
    """

    model: str
    sentences: int
    references: int
    beam: int
    length_penalty: float
    bleu: float
    chrf: float
    exact: int
    seconds: float


def run_evaluation(command: Evaluate) -> int:
    """Translate, score, print."""
    if command.beam < 1:
        raise CommandError(f"--beam is {command.beam}: it must be at least 1.")
    try:
        data = list(read_references(*command.pairs))
        loaded = open_model(command.model, choose_device(command.device))
        started = time.perf_counter()
        translated = translate_all(
            loaded,
            [source for source, _ in data],
            beam_size=command.beam,
            alpha=command.length_penalty,
        )
    except (CorpusError, SentenceError) as error:
        raise CommandError(str(error)) from error
    seconds = time.perf_counter() - started
    bleu, chrf = bleu_and_chrf(translated, [references for _, references in data])
    found = Evaluation(
        model=loaded.name,
        sentences=len(data),
        references=sum(len(references) for _, references in data),
        beam=command.beam,
        length_penalty=command.length_penalty,
        bleu=bleu,
        chrf=chrf,
        exact=sum(text in references for text, (_, references) in zip(translated, data, strict=True)),
        seconds=seconds,
    )
    print(_json(found, data, translated) if command.json else _text(found))
    return 0


def _text(found: Evaluation) -> str:
    how = "greedy" if found.beam == 1 else f"beam {found.beam}, length penalty {found.length_penalty:g}"
    return "\n".join(
        [
            f"{found.model}, {how}: {found.sentences:,} sentences, {found.references:,} references",
            f"BLEU   {found.bleu:5.1f}   (sacrebleu, tokenizer 13a)",
            f"chrF   {found.chrf:5.1f}",
            f"exact  {found.exact / found.sentences:5.1%}   ({found.exact:,} are one of their references)",
            f"time   {found.seconds:5.1f} s ({found.sentences / found.seconds:.0f} sentences/s)",
        ]
    )


def _json(found: Evaluation, data: Sequence[tuple[str, Sequence[str]]], translated: Sequence[str]) -> str:
    """All figures, and translations like none of their references, from all over the file."""
    wrong = [
        {"source": source, "translation": text, "references": list(references)}
        for text, (source, references) in zip(translated, data, strict=True)
        if text not in references
    ]
    step = max(1, len(wrong) // N_WRONG)
    return json.dumps(asdict(found) | {"wrong": wrong[::step][:N_WRONG]}, ensure_ascii=False, indent=2)
