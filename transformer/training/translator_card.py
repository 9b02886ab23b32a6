"""The model card of a translator that was trained on a corpus: data, licence, making, scores, mistakes."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from transformer.checkpoints.folder import LoadedModel
from transformer.training.finishing import BEST, Candidate
from transformer.training.plan import TrainingPlan
from transformer.training.progress import Progress
from transformer.training.validation import Translated

N_WRONG = 10
"""How many translations that go wrong are listed at most."""

_MARKDOWN = frozenset("\\`*_{}[]<>#|~$:&!")

_TEMPLATE = """\
# {name}

A Transformer that translates sentences from {source} into {target}, as language codes have them. It reads and
writes sub-words, {n_source:,} of the one and {n_target:,} of the other: nothing typed is unknown to it.

Licence: {license}

## Data

{source_note}

{n_pairs:,} sentence pairs were learnt, from {files}{careless}.

{report}

## Scores

{scores}

## How it was made

    {command}
{changes}
- Model: {n_encoder_layers} encoder and {n_decoder_layers} decoder layers, d_model {d_model}, {n_heads} heads,
  d_ff {d_ff}, {norm_position}-norm, {positions} positions up to {max_len}; {n_parameters:,} parameters, saved
  in {dtype}.
- Training: {updates} of {batches} of up to {batch_tokens:,} positions, {tokens:,} target sub-words in
  {rounds:.1f} rounds through the data; Adam (0.9, 0.98); learning rate: {rate}; label smoothing {smoothing},
  dropout {dropout}, {precision}, seed {seed}.
- Time: {time} for the updates, on {hardware}, with PyTorch {torch}.

## Translations that go wrong

{wrong}
"""


@dataclass(frozen=True, kw_only=True)
class Making:
    """What is known about one training.

    Attributes:
        command: that made it.
        plan: all choices.
        progress: where it stood at the end.
        n_pairs: pairs that were learnt, repeated ones included.
        n_labels: tokens to be predicted in one round through them.
        data: the description of the encoded corpus.
        device: that it ran on.
        n_threads: of PyTorch.
        n_processes: that trained together.
    """

    command: str
    plan: TrainingPlan
    progress: Progress
    n_pairs: int
    n_labels: int
    data: Mapping[str, Any]
    device: torch.device
    n_threads: int
    n_processes: int


def translator_card(
    loaded: LoadedModel, making: Making, candidates: Sequence[Candidate], translated: Sequence[Translated]
) -> str:
    """Write the card, in Markdown.

    Args:
        loaded: the finished model.
        making: how it was made.
        candidates: weights that were scored, the chosen ones first.
        translated: validation pairs and what the model made of them; may be empty.
    """
    plan = making.plan
    data, updates, result = plan.data, plan.updates, plan.result
    careless = f"; {data.careless:.0%} of them once more as people type in a hurry" if data.careless else ""
    return _TEMPLATE.format(
        **vars(updates) | vars(loaded.model.config),
        name=loaded.name,
        source=data.languages[0],
        target=data.languages[1],
        n_source=len(loaded.source.vocabulary),
        n_target=len(loaded.target.vocabulary),
        license=result.license,
        source_note=result.source_note,
        n_pairs=making.n_pairs,
        files=", ".join(path.name for files in data.pairs for path in files),
        careless=careless,
        report=_report(making),
        scores=_scores(making, candidates),
        command=making.command,
        changes=_changes(making.progress),
        updates=_updates(making),
        n_parameters=sum(parameter.numel() for parameter in loaded.model.parameters()),
        dtype=str(result.dtype).removeprefix("torch."),
        batches=_batches(making),
        tokens=making.progress.tokens,
        rounds=making.progress.tokens / making.n_labels,
        rate=_rate(plan),
        time=_time(making.progress.seconds),
        hardware=_hardware(making),
        torch=torch.__version__,
        wrong=_wrong(translated),
    )


def _changes(progress: Progress) -> str:
    """The choices that another command changed when it went on."""
    if not progress.changes:
        return ""
    said = "The command may make another model than this one, for choices changed on the way:"
    return "\n".join(["", said, "", *(f"    {change}" for change in progress.changes), ""])


def _updates(making: Making) -> str:
    done, planned = making.progress.step, making.plan.updates.steps
    return (
        f"{done:,} updates" if done == planned else f"{done:,} of {planned:,} planned updates, stopped early,"
    )


def _scores(making: Making, candidates: Sequence[Candidate]) -> str:
    if candidates[0].scores is None:
        return f"Nothing was validated. These are {candidates[0].name}."
    names = " and ".join(path.name for path in making.plan.checks.valid)
    lines = [
        f"On the validation pairs ({names}), greedily decoded, against all references, by sacrebleu:",
        "",
        "| weights | BLEU | chrF | loss, nats a sub-word |",
        "| --- | --- | --- | --- |",
    ]
    for number, candidate in enumerate(candidates):
        if candidate.scores is not None:
            chosen = ", which are the model's" if number == 0 else ""
            scores = candidate.scores
            when = f", after {making.progress.best_step:,} updates" if candidate.name == BEST else ""
            figures = f"{scores.bleu:.1f} | {scores.chrf:.1f} | {scores.loss:.3f}"
            lines.append(f"| {candidate.name}{when}{chosen} | {figures} |")
    return "\n".join(lines)


def _report(making: Making) -> str:
    """What was left out of the files, and why."""
    report = making.data["report"]
    reasons = dict(sorted(report["left_out"].items(), key=lambda item: -item[1]))
    if making.data["left_out"]:
        reasons[f"more than {making.plan.data.longest} sub-words"] = making.data["left_out"]
    lines = [f"- {count:,} left out: {reason}" for reason, count in reasons.items()]
    return "\n".join([f"Of {report['seen']:,} pairs in the files:", "", *(lines or ["- none left out"])])


def _batches(making: Making) -> str:
    n_batches = making.plan.updates.accumulate * making.n_processes
    return "a batch" if n_batches == 1 else f"{n_batches} batches"


def _rate(plan: TrainingPlan) -> str:
    updates = plan.updates
    peak = "" if updates.schedule == "paper" else f"up to {updates.peak:g} "
    return f"{peak}after {updates.warmup:,} updates, then the schedule {updates.schedule!r}"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 3600:.1f} h"


def _hardware(making: Making) -> str:
    if making.device.type == "cuda":
        return f"{making.n_processes} x {torch.cuda.get_device_name(making.device)}"
    processes = f"{making.n_processes} processes, each of " if making.n_processes > 1 else ""
    return f"{processes}{making.n_threads} threads on a {platform.machine()} with {os.cpu_count()} cores"


def _wrong(translated: Sequence[Translated]) -> str:
    """List some that are like none of the references, from all over the pairs."""
    wrong = [one for one in translated if one.translation not in one.references]
    if not wrong:
        return "None were looked for, or none found."
    step = max(1, len(wrong) // N_WRONG)
    lines = [
        f"{len(wrong)} of {len(translated)} validation sentences come out like none of their references. "
        "Many of these are right all the same; every so many of them, as they come:",
        "",
    ]
    for one in wrong[::step][:N_WRONG]:
        lines.append(f"- {_plain(one.source)} → {_plain(one.translation)} ({_plain(one.references[0])})")
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Write text so that Markdown shows it as it is."""
    return "".join(f"\\{character}" if character in _MARKDOWN else character for character in text)
