"""python -m transformer translate: sentences in, translations out; prompts continued, masks filled."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from transformer.cli.command import CommandError
from transformer.cli.given import opened, typed
from transformer.cli.options import Translate
from transformer.decoding.request import NOT_FINITE
from transformer.device import choose_device
from transformer.errors import SentenceError
from transformer.loaded import GenerationSettings, LoadedModel
from transformer.model_input import why_stopped
from transformer.run import encode_sentence, run_sentence, search
from transformer.text.words import clean
from transformer.training.evaluation.translations import source_ids, translate_ids


def run_translation(command: Translate) -> int:
    """Translate the sentences of a command or of standard input; a line that can't be is left empty.

    Raises:
        CheckpointError: for a model that can't be opened.
        CommandError: for a model that gives no words, or no sentences where standard input is closed.
    """
    loaded = opened(command.model, command.answers, choose_device(command.device))
    if not loaded.model.config.has_generator:
        raise CommandError(f"{command.model} has no generator, so it gives no words: choose another model.")
    way = _way(loaded, command)
    status = 0
    for number, sentence in enumerate(_sentences(command.sentences), start=1):
        try:
            text, stopped = _translated(loaded, sentence, way) if clean(sentence) else ("", "")
            print(text, flush=True)
            if stopped:
                print(f"Sentence {number}: {stopped}", file=sys.stderr)
        except SentenceError as error:
            print(f"Sentence {number}: {error}", file=sys.stderr)
            print(flush=True)
            status = 1
    return status


@dataclass(frozen=True)
class _Way:
    """How targets are searched for: as of `run.search`; `settings` are the model's own, where they count."""

    beam_size: int
    alpha: float
    no_repeat: int | None = None
    settings: GenerationSettings | None = None


def _way(loaded: LoadedModel, command: Translate) -> _Way:
    own = loaded.settings
    asked = (command.beam, command.length_penalty, command.no_repeat)
    if asked == (None, None, None) and not own.are_greedy:
        print(
            f"By the model's own settings: {own}. For others give --beam, such as --beam 1.", file=sys.stderr
        )
        return _Way(own.beam_size, own.length_penalty, settings=own)
    alpha = 1.0 if command.length_penalty is None else command.length_penalty
    return _Way(command.beam or 1, alpha, command.no_repeat)


def _translated(loaded: LoadedModel, sentence: str, way: _Way) -> tuple[str, str]:
    """The translation, and what there is to say of it if a limit ended it."""
    kind = loaded.model.config.kind
    if kind == "encoder-decoder":
        ((_, target),) = translate_ids(loaded, [source_ids(loaded, sentence)], **vars(way))
        return loaded.target.decode(target.ids), why_stopped(loaded, target.ending, len(target.ids))
    if kind == "encoder-only" or way == _Way(1, way.alpha):
        run = run_sentence(loaded, sentence)
        if not run.has_numbers:
            raise SentenceError(NOT_FINITE)
        return run.translation, ""  # that a continuation is stopped is what is expected of one
    prompt = encode_sentence(loaded, "source", sentence, "sentence")
    tree = search(loaded, prompt, **vars(way))
    return loaded.target.decode([*prompt.ids, *tree.hypotheses[0].ids]), ""


def _sentences(given: Sequence[str]) -> Iterator[str]:
    """Those of the command or, when there are none, the lines of standard input: as UTF-8, all of them."""
    if given:
        yield from map(typed, given)
    elif sys.stdin is None:
        raise CommandError("Standard input is closed: give the sentences after the command.")
    else:
        yield from (line.decode(errors="replace") for line in sys.stdin.buffer)
