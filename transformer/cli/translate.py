"""python -m transformer translate: translates sentences, continues prompts, fills masks."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from transformer.cli.command import CommandError
from transformer.cli.inputs import as_utf8, open_with_answers
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
    """Translate sentences from the command line or standard input; a failed sentence gives an empty line.

    Raises:
        CheckpointError: for a model that can't be opened.
        CommandError: for a model without a generator, or if there are no sentences and no standard input.
    """
    loaded = open_with_answers(command.model, command.checkpoint, choose_device(command.device))
    if not loaded.model.config.has_generator:
        raise CommandError(
            f"{command.model} has no generator, so it can't produce words: choose another model."
        )
    search_options = _search_options(loaded, command)
    status = 0
    for number, sentence in enumerate(_sentences(command.sentences), start=1):
        try:
            text, stopped = _translate(loaded, sentence, search_options) if clean(sentence) else ("", "")
            print(text, flush=True)
            if stopped:
                print(f"Sentence {number}: {stopped}", file=sys.stderr)
        except SentenceError as error:
            print(f"Sentence {number}: {error}", file=sys.stderr)
            print(flush=True)
            status = 1
    return status


@dataclass(frozen=True)
class _SearchOptions:
    """Arguments of `run.search`; `settings` are the model's own, if applied."""

    beam_size: int
    alpha: float
    no_repeat: int | None = None
    settings: GenerationSettings | None = None


def _search_options(loaded: LoadedModel, command: Translate) -> _SearchOptions:
    own = loaded.settings
    given = (command.beam, command.length_penalty, command.no_repeat)
    if given == (None, None, None) and not own.are_greedy:
        print(
            f"Using the model's own settings: {own}. To change them give --beam, such as --beam 1.",
            file=sys.stderr,
        )
        return _SearchOptions(own.beam_size, own.length_penalty, settings=own)
    alpha = 1.0 if command.length_penalty is None else command.length_penalty
    return _SearchOptions(command.beam or 1, alpha, command.no_repeat)


def _translate(loaded: LoadedModel, sentence: str, options: _SearchOptions) -> tuple[str, str]:
    """The translation, and a message if it was stopped by a limit."""
    kind = loaded.model.config.kind
    if kind == "encoder-decoder":
        ((_, target),) = translate_ids(loaded, [source_ids(loaded, sentence)], **vars(options))
        return loaded.target.decode(target.ids), why_stopped(loaded, target.ending, len(target.ids))
    if kind == "encoder-only" or options == _SearchOptions(1, options.alpha):
        run = run_sentence(loaded, sentence)
        if not run.has_numbers:
            raise SentenceError(NOT_FINITE)
        return run.translation, ""  # continuations are expected to be stopped
    prompt = encode_sentence(loaded, "source", sentence, "sentence")
    tree = search(loaded, prompt, **vars(options))
    return loaded.target.decode([*prompt.ids, *tree.hypotheses[0].ids]), ""


def _sentences(arguments: Sequence[str]) -> Iterator[str]:
    """The sentences of the command line or, if none, the lines of standard input, as UTF-8."""
    if arguments:
        yield from map(as_utf8, arguments)
    elif sys.stdin is None:
        raise CommandError("Standard input is closed: give the sentences after the command.")
    else:
        yield from (line.decode(errors="replace") for line in sys.stdin.buffer)
