"""python -m transformer translate: sentences in, translations out; prompts continued, masks filled."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import tyro

from transformer.checkpoints.folder import LoadedModel, default_model
from transformer.cli.command import CommandError, check_search
from transformer.cli.given import opened, typed
from transformer.decoding.request import NOT_FINITE
from transformer.device import choose_device
from transformer.errors import SentenceError
from transformer.run import encode_sentence, run_sentence, search
from transformer.text.words import clean
from transformer.training.evaluation.translations import translate_all


@dataclass(frozen=True)
class Translate:
    """Print the translation of each sentence on a line of its own.

    A model without an encoder continues each sentence instead, and one without a decoder fills its masks.

    Attributes:
        sentences: to translate; when there are none, each line of standard input is one.
        model: the name of a folder in assets/models, or the path of anyone's checkpoint.
        beam: hypotheses that are followed at a time; 1 is greedy decoding.
        length_penalty: alpha of the beam search, 0 to 10: more favours longer translations.
        device: cpu, cuda or mps; the fastest there is when left out.
    """

    sentences: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="SENTENCE")] = ()
    model: str = field(default_factory=default_model)
    beam: int = 1
    length_penalty: float = 1.0
    device: str | None = None


def run_translation(command: Translate) -> int:
    """Translate the sentences of a command or of standard input; a line that can't be is left empty.

    Raises:
        CheckpointError: for a model that can't be opened.
        CommandError: for an empty beam, a length penalty that is none, a model that gives no words, or
            no sentences where standard input is closed.
    """
    check_search(command.beam, command.length_penalty)
    loaded = opened(command.model, choose_device(command.device))
    if not loaded.model.config.has_generator:
        raise CommandError(f"{command.model} has no generator, so it gives no words: choose another model.")
    status = 0
    for number, sentence in enumerate(_sentences(command.sentences), start=1):
        try:
            print(_translated(loaded, sentence, command) if clean(sentence) else "", flush=True)
        except SentenceError as error:
            print(f"Sentence {number}: {error}", file=sys.stderr)
            print(flush=True)
            status = 1
    return status


def _translated(loaded: LoadedModel, sentence: str, command: Translate) -> str:
    kind = loaded.model.config.kind
    if kind == "encoder-decoder":
        (text,) = translate_all(loaded, [sentence], beam_size=command.beam, alpha=command.length_penalty)
        return text
    if kind == "encoder-only" or command.beam == 1:
        run = run_sentence(loaded, sentence)
        if not run.has_numbers:
            raise SentenceError(NOT_FINITE)
        return run.translation
    prompt = encode_sentence(loaded, "source", sentence, "sentence")
    tree = search(loaded, prompt, beam_size=command.beam, alpha=command.length_penalty)
    return loaded.target.decode([*prompt.ids, *tree.hypotheses[0].ids])


def _sentences(given: Sequence[str]) -> Iterator[str]:
    """Those of the command or, when there are none, the lines of standard input: as UTF-8, all of them."""
    if given:
        yield from map(typed, given)
    elif sys.stdin is None:
        raise CommandError("Standard input is closed: give the sentences after the command.")
    else:
        yield from (line.decode(errors="replace") for line in sys.stdin.buffer)
