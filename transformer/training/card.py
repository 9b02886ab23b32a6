"""Model cards of trained models: data, scores, training, examples of errors."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from transformer.data.tasks import TASKS
from transformer.loaded import LoadedModel
from transformer.model.choices import NORM_PLACES
from transformer.training.data import UNKNOWN
from transformer.training.evaluation.tasks import HeadAlignment, Translation, word_coder
from transformer.training.evaluation.validation import Translated
from transformer.training.finishing import BEST, Candidate
from transformer.training.plan import TrainingPlan
from transformer.training.snapshots import snapshot_steps
from transformer.training.state import Progress

N_EXAMPLES = 6
"""Maximum number of right and of wrong translations listed for a built-in task."""
N_WRONG = 10
"""Maximum number of wrong translations listed for validation pairs."""

_MARKDOWN = frozenset("\\`*_{}[]<>#|~$:&!")

_CORPUS = """\
# {name}

A Transformer that translates sentences from {source} into {target} (language codes). Its vocabularies have
{n_source:,} and {n_target:,} sub-words: nothing typed is unknown to it.

Licence: {license}

## Data

{source_note}

{n_pairs:,} sentence pairs were learnt, from {files}{noise}.

{report}

## Scores

{scores}

{made}
## Translations that go wrong

{wrong}
"""

_TASK = """\
# {name}

{about}

## Score

- {exact} of {n} held-out sentences translated exactly ({percent:.1f} %), greedily decoded. No held-out
  sentence is in the training data.
- Cross-attention against the task's alignments: head {head} of decoder layer {layer} (counted from 0)
  looks at a right source word for {accuracy:.1%} of the target words. All heads, as layer.head:
  {heads}.

{made}- Data: {pairs}; in {unknown:.0%} of those that have content words, one of them and its translation are
  `<unk>`.
- Loss at the end: {final_loss:.3f} nats per token.

## Translations of held-out sentences

{right}

Wrong ones ({n_wrong} of {n}):

{wrong}

## Limits

{limits}
"""

_MADE = """\
## How it was made

    {command}
{changes}
- Model: {n_encoder_layers} encoder and {n_decoder_layers} decoder layers, d_model {d_model}, {n_heads} heads,
  d_ff {d_ff}, {norm_places}, {positions} positions up to {max_len}; {n_parameters:,} parameters, saved
  in {dtype}.
- Training: {updates} of {batches} of up to {batch_tokens:,} positions, {tokens:,} target {units}s in
  {rounds}; Adam (0.9, 0.98); learning rate: {rate}; label smoothing {smoothing},
  dropout {dropout}, {precision}, seed {seed}.
- Time: {time} for the updates, on {hardware}, with PyTorch {torch}.
{snapshots}"""


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """The record of one training run.

    Attributes:
        command: the shell command of the run.
        plan: all options.
        progress: the progress at the end.
        n_labels: tokens to predict in one epoch; 0 if every epoch has new data.
        data: description of the data.
        device: the device that it ran on.
        n_threads: number of PyTorch threads.
        n_processes: number of training processes.
    """

    command: str
    plan: TrainingPlan
    progress: Progress
    n_labels: int
    data: Mapping[str, Any]
    device: torch.device
    n_threads: int
    n_processes: int


def translator_card(
    loaded: LoadedModel, record: RunRecord, candidates: Sequence[Candidate], translated: Sequence[Translated]
) -> str:
    """The Markdown card of a translator trained on a corpus.

    Args:
        loaded: the model.
        record: the record of its training run.
        candidates: the weights that were scored, the chosen ones first.
        translated: validation pairs with the model's translations; may be empty.
    """
    data, result = record.plan.data, record.plan.result
    noise = f"; {data.typing_noise:.0%} of them once more with typing noise" if data.typing_noise else ""
    return _CORPUS.format(
        name=loaded.name,
        source=data.languages[0],
        target=data.languages[1],
        n_source=len(loaded.source.vocabulary),
        n_target=len(loaded.target.vocabulary),
        license=result.license,
        source_note=result.source_note,
        n_pairs=record.data["pairs"],
        files=", ".join(path.name for files in data.pairs for path in files),
        noise=noise,
        report=_report(record),
        scores=_scores(record, candidates),
        made=_made(loaded, record),
        wrong=_wrong(translated),
    )


def task_card(
    loaded: LoadedModel,
    record: RunRecord,
    translated: Sequence[Translation],
    heads: Sequence[HeadAlignment],
    final_loss: float,
) -> str:
    """The Markdown card of a model of a built-in task.

    Args:
        loaded: the model.
        record: the record of its training run.
        translated: held-out pairs with the model's translations.
        heads: cross-attention heads, best first.
        final_loss: mean loss of the last updates.
    """
    assert record.plan.data.task is not None
    task = TASKS[record.plan.data.task]
    wrong = [translation for translation in translated if not translation.exact]
    right = [translation for translation in translated if translation.exact]
    return _TASK.format(
        name=loaded.name,
        about=task.about,
        exact=len(right),
        n=len(translated),
        percent=100 * len(right) / len(translated),
        layer=heads[0].layer,
        head=heads[0].head,
        accuracy=heads[0].accuracy,
        heads=", ".join(f"{head.layer}.{head.head} {head.accuracy:.0%}" for head in heads),
        made=_made(loaded, record),
        pairs=_pairs(record),
        unknown=UNKNOWN,
        final_loss=final_loss,
        right=_examples(loaded, right[:N_EXAMPLES]) or "None.",
        n_wrong=len(wrong),
        wrong=_examples(loaded, wrong[:N_EXAMPLES]) or "None.",
        limits=task.limits.format(**record.data, max_len=loaded.model.config.max_len),
    )


def _made(loaded: LoadedModel, record: RunRecord) -> str:
    """The section that both cards share."""
    plan, progress = record.plan, record.progress
    return _MADE.format(
        **vars(plan.updates) | vars(loaded.model.config),
        norm_places=NORM_PLACES[loaded.model.config.norm_position],
        command=record.command,
        changes=_changes(progress),
        n_parameters=sum(parameter.numel() for parameter in loaded.model.parameters()),
        dtype=str(plan.result.dtype).removeprefix("torch."),
        updates=_updates(record),
        batches=_batches(record),
        tokens=progress.tokens,
        units=loaded.target.unit,
        rounds=_rounds(record),
        rate=_rate(plan),
        time=_time(progress.seconds),
        hardware=_hardware(record),
        torch=torch.__version__,
        snapshots=_snapshots(plan),
    )


def _rounds(record: RunRecord) -> str:
    if not record.n_labels:
        return "rounds of newly drawn pairs"
    return f"{record.progress.tokens / record.n_labels:.1f} rounds through the data"


def _snapshots(plan: TrainingPlan) -> str:
    if not plan.checks.snapshots:
        return ""
    steps = ", ".join(f"{step:,}" for step in snapshot_steps(plan.updates.steps, plan.checks.snapshots)[:-1])
    return (
        f"- Snapshots of the weights after {steps} updates, in half precision, and the loss of the updates\n"
        "  are in `snapshots`: the page Training shows what was learned when.\n"
    )


def _pairs(record: RunRecord) -> str:
    seed, data = record.plan.updates.seed, record.data
    if not data["pairs"]:
        return f"sentence pairs drawn with seed {seed}, others in every round"
    return f"{data['pairs']:,} sentence pairs drawn with seed {seed}, {data['different']:,} of them different"


def _examples(loaded: LoadedModel, translated: Sequence[Translation]) -> str:
    source, target = word_coder(loaded.source).tokenizer, word_coder(loaded.target).tokenizer
    lines = []
    for translation in translated:
        line = f"- {source.join(translation.pair.source)} → {target.join(translation.words)}"
        if not translation.exact:
            line += f" (expected: {target.join(translation.pair.target)})"
        lines.append(line)
    return "\n".join(lines)


def _changes(progress: Progress) -> str:
    """The options that were changed on resuming."""
    if not progress.changes:
        return ""
    note = "The command may give a different model, as options were changed during the run:"
    return "\n".join(["", note, "", *(f"    {change}" for change in progress.changes), ""])


def _updates(record: RunRecord) -> str:
    done, planned = record.progress.step, record.plan.updates.steps
    return (
        f"{done:,} updates" if done == planned else f"{done:,} of {planned:,} planned updates, stopped early,"
    )


def _scores(record: RunRecord, candidates: Sequence[Candidate]) -> str:
    if candidates[0].scores is None:
        return f"Nothing was validated. These are {candidates[0].name}."
    names = " and ".join(path.name for path in record.plan.checks.valid)
    lines = [
        f"On the validation pairs ({names}), greedily decoded, against all references, by sacrebleu:",
        "",
        "| weights | BLEU | chrF | loss, nats per sub-word |",
        "| --- | --- | --- | --- |",
    ]
    for number, candidate in enumerate(candidates):
        if candidate.scores is not None:
            chosen = ", which are the model's" if number == 0 else ""
            scores = candidate.scores
            when = f", after {record.progress.best_step:,} updates" if candidate.name == BEST else ""
            figures = f"{scores.bleu:.1f} | {scores.chrf:.1f} | {scores.loss:.3f}"
            lines.append(f"| {candidate.name}{when}{chosen} | {figures} |")
    return "\n".join(lines)


def _report(record: RunRecord) -> str:
    """The pairs left out, by reason."""
    report = record.data["report"]
    reasons = dict(sorted(report["left_out"].items(), key=lambda item: -item[1]))
    if record.data["left_out"]:
        reasons[f"more than {record.plan.data.longest} sub-words"] = record.data["left_out"]
    lines = [f"- {count:,} left out: {reason}" for reason, count in reasons.items()]
    return "\n".join([f"Of {report['seen']:,} pairs in the files:", "", *(lines or ["- none left out"])])


def _batches(record: RunRecord) -> str:
    n_batches = record.plan.updates.accumulate * record.n_processes
    return "a batch" if n_batches == 1 else f"{n_batches} batches"


def _rate(plan: TrainingPlan) -> str:
    updates = plan.updates
    peak = "" if updates.schedule == "paper" else f"up to {updates.peak:g} "
    return f"{peak}after {updates.warmup:,} updates, then the schedule {updates.schedule!r}"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 3600:.1f} h"


def _hardware(record: RunRecord) -> str:
    if record.device.type == "cuda":
        return f"{record.n_processes} x {torch.cuda.get_device_name(record.device)}"
    processes = f"{record.n_processes} processes, each of " if record.n_processes > 1 else ""
    return f"{processes}{record.n_threads} threads on a {platform.machine()} with {os.cpu_count()} cores"


def _wrong(translated: Sequence[Translated]) -> str:
    """An evenly spaced sample of translations that equal none of their references."""
    wrong = [one for one in translated if one.translation not in one.references]
    if not wrong:
        return "None."
    step = max(1, len(wrong) // N_WRONG)
    lines = [
        f"{len(wrong)} of {len(translated)} translations of validation sentences equal none of their "
        "references; many of them are right nevertheless. A sample:",
        "",
    ]
    for one in wrong[::step][:N_WRONG]:
        lines.append(f"- {_plain(one.source)} → {_plain(one.translation)} ({_plain(one.references[0])})")
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Escape text for Markdown."""
    return "".join(f"\\{character}" if character in _MARKDOWN else character for character in text)
