"""python -m transformer translate: sentences in, translations out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated

import tyro

from transformer.checkpoints.folder import LoadedModel, default_model, open_model
from transformer.cli.command import CommandError
from transformer.device import choose_device
from transformer.evaluation import translate_all
from transformer.run import SentenceError
from transformer.text import clean


@dataclass(frozen=True)
class Translate:
    """Print the translation of each sentence on a line of its own.

    Attributes:
        sentences: to translate; when there are none, each line of standard input is one.
        model: the name of a folder in assets/models, or the path of a model's folder.
        beam: hypotheses that are followed at a time; 1 is greedy decoding.
        length_penalty: alpha of the beam search: more favours longer translations.
        device: cpu, cuda or mps; the fastest there is when left out.
    """

    sentences: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="SENTENCE")] = ()
    model: str = field(default_factory=default_model)
    beam: int = 1
    length_penalty: float = 1.0
    device: str | None = None


def run_translation(command: Translate) -> int:
    """Translate the sentences of a command or of standard input; a line that can't be is left empty."""
    if command.beam < 1:
        raise CommandError(f"--beam is {command.beam}: it must be at least 1.")
    loaded = open_model(command.model, choose_device(command.device))
    status = 0
    for number, sentence in enumerate(command.sentences or _lines_of_standard_input(), start=1):
        try:
            print(_translated(loaded, sentence, command) if clean(sentence) else "", flush=True)
        except SentenceError as error:
            print(f"Sentence {number}: {error}", file=sys.stderr)
            print(flush=True)
            status = 1
    return status


def _translated(loaded: LoadedModel, sentence: str, command: Translate) -> str:
    (text,) = translate_all(loaded, [sentence], beam_size=command.beam, alpha=command.length_penalty)
    return text


def _lines_of_standard_input() -> Iterator[str]:
    for line in sys.stdin.buffer:
        yield line.decode(errors="replace")
