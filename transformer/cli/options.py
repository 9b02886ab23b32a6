"""The options of all commands but train, read without torch: no refusal waits for its import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import tyro

from transformer.checkpoints.places import default_model
from transformer.cli.command import CommandError

Answers: TypeAlias = tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]]
"""What the files of a checkpoint don't tell, as it is typed: n_heads=8 norm_position=pre."""
Switch: TypeAlias = Annotated[bool, tyro.conf.FlagCreatePairsOff]


@dataclass(frozen=True)
class Translate:
    """Print the translation of each sentence on a line of its own.

    A model without an encoder continues each sentence instead, and one without a decoder fills its masks.

    Attributes:
        sentences: to translate; when there are none, each line of standard input is one.
        model: the name of a folder in assets/models, or the path of anyone's checkpoint.
        answers: to what its files don't tell, such as n_heads=8 norm_position=pre.
        beam: hypotheses that are followed at a time; 1 is greedy decoding. Without it, --length-penalty and
            --no-repeat the model's own settings are taken, where it came with any, else 1.
        length_penalty: alpha of the beam search, 0 to 10, 1 when left out: more favours longer translations.
        no_repeat: so many tokens in a row do not come twice, 0 for no such rule. When left out it is 6 for a
            model that translates in sub-words, unless its makers say otherwise, and 0 for any other.
        device: cpu, cuda or mps; the fastest there is when left out.
    """

    sentences: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="SENTENCE")] = ()
    model: str = field(default_factory=default_model)
    answers: Answers = ()
    beam: int | None = None
    length_penalty: float | None = None
    no_repeat: int | None = None
    device: str | None = None


@dataclass(frozen=True)
class Evaluate:
    """Translate the sources of a file and score the translations: BLEU, chrF, exact matches.

    Or, with --challenge, whether what matters in each sentence of a challenge set came through, by category.

    Attributes:
        pairs: a TSV file of source, tab, translation, or two aligned files; plain or gzipped. Several
            translations of a source stand on neighbouring lines, or in further columns.
        challenge: in their place, a TSV file with the columns category, source, kept (what every right
            translation holds: pieces separated by "; ", alternatives by "/") and references (by " | ").
        model: the name of a folder in assets/models, or the path of anyone's checkpoint.
        answers: to what its files don't tell, such as n_heads=8 norm_position=pre.
        beam: hypotheses that are followed at a time; 1 is greedy decoding.
        length_penalty: alpha of the beam search, 0 to 10: more favours longer translations.
        json: print everything as JSON, with the worst translations.
        device: cpu, cuda or mps; the fastest there is when left out.
    """

    pairs: tuple[Path, ...] = ()
    challenge: Path | None = None
    model: str = field(default_factory=default_model)
    answers: Answers = ()
    beam: int = 1
    length_penalty: float = 1.0
    json: bool = False
    device: str | None = None


@dataclass(frozen=True)
class Inspect:
    """Say what a checkpoint is: where each setting came from, its architecture, its parameters, its faults.

    Its names, shapes and configuration are always looked at. Its numbers are read, and the model is run on a
    few sentences, if it has at most 1 GB of weights, or if --check or --text ask for it.

    Attributes:
        path: a file of weights, a folder, or the name of a folder in assets/models.
        text: what the model is run on, one sentence per line.
        answers: to what the files don't tell, such as n_heads=8 norm_position=pre.
        map: a mapping file that says which of our weights each tensor is, for a layout that is not known.
        write_map: write such a file to fill in, and nothing else.
        check: look at the numbers, however many there are.
        quick: don't look at the numbers.
        json: print JSON.
    """

    path: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="PATH")]
    text: str = ""
    answers: Answers = ()
    map: str = ""
    write_map: str = ""
    check: Switch = False
    quick: Switch = False
    json: Switch = False


@dataclass(frozen=True)
class WriteTrace:
    """Write every tensor of a run by its path, with the tokens; and, if asked for, a page that shows the run.

    A path is that of the module: encoder.layers.0.self_attn.weights. The first axis of a tensor is the batch,
    of one sentence.

    Attributes:
        source: the sentence, or the prompt of a model without an encoder.
        out: the file: .safetensors, whose metadata has tokens, texts and paths as JSON, or .npz, where they
            are arrays.
        target: what the decoder is given to read; when left out the model writes it itself.
        model: the name of a folder in assets/models, or the path of anyone's checkpoint.
        answers: to what its files don't tell, such as n_heads=8 norm_position=pre.
        html: a file for the page, which needs no server and no network.
        device: cpu, cuda or mps; the fastest there is when left out.
    """

    source: str
    out: Path
    target: str = ""
    model: str = field(default_factory=default_model)
    answers: Answers = ()
    html: Path | None = None
    device: str | None = None


def answered(given: Sequence[Sequence[str]]) -> dict[str, Any]:
    """What --answers say, by the name of the question.

    Raises:
        CommandError: for an answer without "=", and two to one question.
    """
    answers: dict[str, Any] = {}
    for answer in chain.from_iterable(given):
        name, equals, value = answer.partition("=")
        if not (name and equals and value):
            raise CommandError(f"--answers {answer} is no answer: write a name, = and a value, as n_heads=8.")
        if name in answers:
            raise CommandError(
                f"--answers has {name}={answers[name]} and {answer}: answer each question once."
            )
        answers[name] = value
    return answers
