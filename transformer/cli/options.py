"""Options of all commands except train. They don't need torch, so errors are shown at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import tyro

from transformer.checkpoints.importing.layout.file import text_of
from transformer.checkpoints.places import default_model
from transformer.cli.command import CommandError

Switch: TypeAlias = Annotated[bool, tyro.conf.FlagCreatePairsOff]


@dataclass(frozen=True)
class CheckpointOptions:
    """What a checkpoint's files don't contain.

    Attributes:
        answers: settings, such as n_heads=8 norm_position=pre.
        map: a file that maps tensors to Headlight's weights, for an unknown layout.
    """

    answers: tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]] = ()
    map: str = ""


Checkpoint: TypeAlias = tyro.conf.OmitArgPrefixes[CheckpointOptions]
"""The options that say more about a checkpoint, without a prefix."""


@dataclass(frozen=True)
class Translate:
    """Translate sentences, one per line.

    A model without an encoder continues each sentence instead, and one without a decoder fills its masks.

    Attributes:
        sentences: sentences to translate; by default, the lines of standard input.
        model: the name of a folder in assets/models, or the path of any checkpoint.
        beam: beam size; 1 is greedy decoding. Without this, --length-penalty and --no-repeat, the model's own
            settings apply if it has any, else greedy decoding.
        length_penalty: alpha of the beam search, 0 to 10, default 1; higher values favour longer
            translations.
        no_repeat: n-grams of this size may occur only once; 0 for no such rule. Default: the model's own
            setting, else 6 for translation models with sub-words and 0 for others.
        device: cpu, cuda or mps; by default the fastest one.
    """

    sentences: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="SENTENCE")] = ()
    model: str = field(default_factory=default_model)
    checkpoint: Checkpoint = CheckpointOptions()
    beam: int | None = None
    length_penalty: float | None = None
    no_repeat: int | None = None
    device: str | None = None


@dataclass(frozen=True)
class Evaluate:
    """Translate the sources of a file and score the translations: BLEU, chrF, exact matches.

    With --challenge: score by category whether the essential words of each sentence were translated.

    Attributes:
        pairs: a TSV file of source, tab, translation, or two aligned files; plain or gzipped. A source's
            further references are on adjacent lines or in further columns.
        challenge: instead, a TSV file with the columns category, source, kept (phrases that every correct
            translation contains, separated by "; ", alternatives by "/") and references (separated by " | ").
        model: the name of a folder in assets/models, or the path of any checkpoint.
        beam: beam size; 1 is greedy decoding.
        length_penalty: alpha of the beam search, 0 to 10; higher values favour longer translations.
        json: print everything as JSON, including the worst translations.
        device: cpu, cuda or mps; by default the fastest one.
    """

    pairs: tuple[Path, ...] = ()
    challenge: Path | None = None
    model: str = field(default_factory=default_model)
    checkpoint: Checkpoint = CheckpointOptions()
    beam: int = 1
    length_penalty: float = 1.0
    json: bool = False
    device: str | None = None


@dataclass(frozen=True)
class Inspect:
    """Show what a checkpoint contains: architecture, parameters, settings with their origins, and problems.

    Names, shapes and configuration are always read. If the weights take at most 1 GB, or with --check or
    --text, they are checked and the model is run on a few sentences.

    Attributes:
        path: a weights file, a folder, or the name of a folder in assets/models.
        text: sentences to run the model on, one per line.
        write_map: only write a template of a mapping file, for --map.
        check: check the weights whatever their size.
        quick: don't read the weights.
        json: print JSON.
    """

    path: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="PATH")]
    text: str = ""
    checkpoint: Checkpoint = CheckpointOptions()
    write_map: str = ""
    check: Switch = False
    quick: Switch = False
    json: Switch = False


@dataclass(frozen=True)
class WriteTrace:
    """Write every tensor of a run, named by its module's path, and optionally a page showing the run.

    A path is, for example, encoder.layers.0.self_attn.weights. The first axis is the batch, of size 1.

    Attributes:
        source: the sentence, or the prompt of a model without an encoder.
        out: a .safetensors file, with tokens, texts and paths as JSON metadata, or a .npz file, with these as
            arrays.
        target: the decoder's input; by default the model's own output.
        model: the name of a folder in assets/models, or the path of any checkpoint.
        html: file for the page, which needs neither server nor network.
        device: cpu, cuda or mps; by default the fastest one.
    """

    source: str
    out: Path
    target: str = ""
    model: str = field(default_factory=default_model)
    checkpoint: Checkpoint = CheckpointOptions()
    html: Path | None = None
    device: str | None = None


@dataclass(frozen=True)
class Why:
    """Show which heads, or which words of the input, an output word depends on.

    Each is taken away in turn; the number is how much the answer falls: the word's logit minus its rival's,
    or its log-probability. A receipt has everything that determines the numbers: --receipt computes them
    again.

    Attributes:
        source: the sentence, or the prompt of a model without an encoder.
        word: the output word, or its number if it occurs more than once; by default the last one.
        rival: a word that the model could have written instead; by default the next best one.
        alone: don't compare with a rival: ask for the word's own log-probability or, for patches, compare
            with the word that the other run prefers.
        target: the decoder's input; by default the model's own output.
        pairs: instead of a sentence: a file of source, tab, target; for heads, with 95 % bootstrap intervals.
        limit: most pairs to use.
        parts: heads or words, taken away one by one; direct, for heads through the residual stream alone;
            pictures, sums (the terms of a logit), or patches from another sentence.
        how: what replaces a head (zero, mean, resample) or a word (unknown, mean, resampled, masked), which
            picture (norms, alti, gradients, rollout), or the direction of patches (noising, denoising); by
            default the first.
        reference: a file of sentences, one per line, for mean and resample.
        other: for patches: the other sentence, of as many tokens.
        place: for patches: what is patched, such as "encoder resid"; "decoder cross_attn z" for heads at all
            positions together, "decoder cross_attn z 1" for those of layer 1 position by position.
        seed: seed of all draws.
        most: number of parts printed, first those that cost most.
        out: JSON file for the receipt.
        receipt: instead of all else: a receipt to compute again and compare.
        model: the name of a folder in assets/models, or the path of any checkpoint; by default the receipt's
            model, or else en-it.
        device: cpu, cuda or mps; by default the fastest one.
    """

    source: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="SENTENCE")] = ""
    word: str = ""
    rival: str | None = None
    alone: Switch = False
    target: str = ""
    pairs: tuple[Path, ...] = ()
    limit: int = 200
    parts: Literal["heads", "direct", "words", "pictures", "sums", "patches"] = "heads"
    how: str | None = None
    reference: Path | None = None
    other: str = ""
    place: str = "encoder resid"
    seed: int = 0
    most: int = 10
    out: Path | None = None
    receipt: Path | None = None
    model: str | None = None
    checkpoint: Checkpoint = CheckpointOptions()
    device: str | None = None


@dataclass(frozen=True)
class Align:
    """Link the words of sentence pairs: one line of i-j per pair, from 0, source first.

    The heads, and whether a target word's row is the one that reads or the one that writes it, are chosen by
    taking source words away; standard error says which. A pair without links gives an empty line.

    Attributes:
        pairs: a file of source, tab, target; the words of each are separated by spaces.
        gold: links by people to score against, one line per pair: 3-4 is a sure link, 3?4 a possible one; in
            the last column of the file. The scores go to standard output with --out, else to standard error.
        out: file for the links; by default standard output.
        model: the name of a folder in assets/models, or the path of any checkpoint.
        device: cpu, cuda or mps; by default the fastest one.
    """

    pairs: Path
    gold: Path | None = None
    out: Path | None = None
    model: str = field(default_factory=default_model)
    checkpoint: Checkpoint = CheckpointOptions()
    device: str | None = None


@dataclass(frozen=True)
class Analyze:
    """Say what every head of a model does, over a file of sentences, next to heads with random weights.

    Stopped with Ctrl-C and started again, it continues. torchrun shares the sentences among processes.

    Attributes:
        pairs: a TSV file of source, tab, translation, or two aligned files; plain or gzipped. A model with
            one stack needs only the source. Further translations of a source are not used.
        out: folder for the result, heads.json, which the page Heads opens.
        model: the name of a folder in assets/models, or the path of any checkpoint.
        limit: the most sentences, drawn at random from the whole file; 0 for all.
        against: the folder of an earlier result, such as that before fine-tuning: heads are matched by what
            they do, and those that changed most are printed.
        seed: seed of the drawn sentences, of the random models and of the intervals.
        device: cpu, cuda or mps; by default the fastest one.
    """

    pairs: tuple[Path, ...]
    out: Path
    model: str = field(default_factory=default_model)
    checkpoint: Checkpoint = CheckpointOptions()
    limit: int = 1000
    against: Path | None = None
    seed: int = 0
    device: str | None = None


def read_mapping(path: str) -> str | None:
    """The text of the file after --map; None without one.

    Raises:
        CheckpointError: when it can't be read.
    """
    return text_of(path) if path else None


def parse_answers(given: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Parse --answers: name -> value.

    Raises:
        CommandError: for an answer without "=", or two answers to one question.
    """
    answers: dict[str, Any] = {}
    for answer in chain.from_iterable(given):
        name, equals, value = answer.partition("=")
        if not (name and equals and value):
            raise CommandError(
                f"--answers {answer} is no answer: write a name, = and a value, such as n_heads=8."
            )
        if name in answers:
            raise CommandError(
                f"--answers has {name}={answers[name]} and {answer}: answer each question once."
            )
        answers[name] = value
    return answers
