"""python -m transformer analyze: what every head of a model does, over a file of sentences."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

import torch
from tqdm import tqdm

from transformer.analysis.attention_maps import ATTENTION_LABELS, Attention
from transformer.analysis.roles.analysis import HeadAnalysis
from transformer.analysis.roles.comparison import ComparisonError, HeadChange, compare
from transformer.analysis.roles.definitions import DEFINITIONS, VERSION
from transformer.analysis.roles.report import HeadReport, HeadRoles, ReportError
from transformer.analysis.roles.sentences import ids_digest, prepare_all
from transformer.cli.command import STOPPED, CommandError
from transformer.cli.inputs import open_with_answers
from transformer.cli.options import Analyze
from transformer.data.corpus import CorpusError, read_pairs
from transformer.device import choose_device
from transformer.errors import SentenceError
from transformer.files import LockedError, locked, write_json, write_tensors
from transformer.loaded import LoadedModel
from transformer.training.optimization.ranks import Ranks, RanksError, join_ranks, own_device

REPORT, PLAN, PARTS, LOCK = "heads.json", "plan.json", "parts", ".lock"
"""The files in the folder: the result; what is analysed; finished parts, until there is a result; a lock."""
N_CHANGES = 10
"""Changed heads that are printed."""


def run_analysis(command: Analyze) -> int:
    """Analyse what is not analysed yet, write the report and print a summary.

    Raises:
        CheckpointError: for a model that can't be opened.
        CommandError: for files that can't be read or written, and a folder of another analysis.
    """
    if command.limit < 0:
        raise CommandError(f"--limit is {command.limit}: it must be at least 1, or 0 for all sentences.")
    against = None if command.against is None else read_report(command.against)
    try:
        device = own_device(choose_device(command.device))
        with join_ranks(device) as ranks:
            return _analyze(command, device, ranks, against)
    except (CorpusError, SentenceError, RanksError) as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(
            f"{command.out} can't be written to ({error.strerror or error}): free some space, or name "
            "another folder with --out."
        ) from error


def read_report(path: Path) -> HeadReport:
    """Read the result of an analysis, from its file or folder.

    Raises:
        CommandError: there is none.
    """
    file = path / REPORT if path.is_dir() else path
    try:
        return HeadReport.from_json(file.read_bytes())
    except OSError as error:
        raise CommandError(f"{file} can't be read ({error.strerror or error}).") from error
    except ReportError as error:
        raise CommandError(f"{file}: {error}") from error


def _analyze(command: Analyze, device: torch.device, ranks: Ranks, against: HeadReport | None) -> int:
    pairs = drawn_pairs(command.pairs, command.limit, command.seed)
    loaded = open_with_answers(command.model, command.checkpoint, device)
    sentences, n_left_out = prepare_all(loaded, pairs)
    analysis = HeadAnalysis(loaded, sentences, n_left_out, command.seed)
    with _own_folder(command.out, _plan(analysis)) if ranks.is_first else nullcontext():
        ranks.wait()  # until the first has the folder
        report_file = command.out / REPORT
        if not report_file.exists():
            try:
                _compute_parts(analysis, command.out / PARTS, ranks)
            except KeyboardInterrupt:
                if ranks.is_first:
                    _say_stopped(command, analysis)
                return STOPPED
        ranks.wait()
        if not ranks.is_first:
            return 0
        if not report_file.exists():
            _write_report(analysis, command.out)
        _drop_parts(analysis, command.out / PARTS)
        report = read_report(command.out)
    print(summary(report))
    if against is not None:
        try:
            print(changes_text(compare(against, report), against.model))
        except ComparisonError as error:
            raise CommandError(f"--against {command.against}: {error}") from error
    print(f"{report_file}: open it on the page Heads.")
    return 0


def drawn_pairs(paths: Sequence[Path], limit: int, seed: int) -> list[tuple[str, str]]:
    """Sources with their first translations, at most `limit` of them, in the order of the file.

    Files are often sorted, so those at the beginning may all be short: reservoir sampling (Vitter 1985,
    algorithm R) draws them from the whole file, and stores no others.
    """
    firsts = (next(own) for _, own in groupby(read_pairs(*paths), key=lambda pair: pair.source))
    if limit == 0:
        return [(pair.source, pair.target) for pair in firsts]
    rng = Random(seed)
    drawn: list[tuple[int, str, str]] = []
    for number, pair in enumerate(firsts):
        place = number if number < limit else rng.randrange(number + 1)
        if place < limit:
            drawn[place : place + 1] = [(number, pair.source, pair.target)]
    return [(source, target) for _, source, target in sorted(drawn)]


def _plan(analysis: HeadAnalysis) -> dict[str, Any]:
    """What determines the result."""
    return {
        "version": VERSION,
        "model": _weights_digest(analysis.loaded),
        "ids": ids_digest(analysis.sentences),
        "seed": analysis.seed,
        "part": analysis.part_size,
    }


def _weights_digest(loaded: LoadedModel) -> str:
    found = hashlib.sha256(repr(loaded.model.config).encode())
    for name, parameter in loaded.model.named_parameters():
        found.update(name.encode())
        found.update(parameter.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return found.hexdigest()[:16]


@contextmanager
def _own_folder(folder: Path, plan: dict[str, Any]) -> Iterator[None]:
    """Make or continue the folder of this analysis, and lock it."""
    (folder / PARTS).mkdir(parents=True, exist_ok=True)
    try:
        with locked(folder / LOCK):
            file = folder / PLAN
            if file.exists() and json.loads(file.read_text(encoding="utf-8")) != plan:
                raise CommandError(
                    f"{folder} has the analysis of another model, other sentences or another seed: name "
                    "another folder with --out, or delete this one."
                )
            write_json(file, plan)
            yield
    except LockedError as error:
        raise CommandError(f"Another process is writing to {folder}: wait for it, or stop it.") from error


def _part_file(folder: Path, number: int) -> Path:
    return folder / f"{number:06d}.safetensors"


def _compute_parts(analysis: HeadAnalysis, folder: Path, ranks: Ranks) -> None:
    """Compute this process's parts, except those that an earlier start finished."""
    own = range(ranks.rank, analysis.n_parts, ranks.count)
    bar = tqdm(
        total=len(own),
        desc="analysing",
        unit=f" × {analysis.part_size} sentences",
        disable=None if ranks.is_first else True,
    )
    with bar:
        for number in own:
            file = _part_file(folder, number)
            if not file.exists():
                write_tensors(file, analysis.part(number))
            bar.update()


def _say_stopped(command: Analyze, analysis: HeadAnalysis) -> None:
    done = sum(_part_file(command.out / PARTS, number).exists() for number in range(analysis.n_parts))
    n = min(done * analysis.part_size, len(analysis.sentences))
    print(
        f"Stopped after {n:,} of {len(analysis.sentences):,} sentences. "
        "The same command continues from here.",
        file=sys.stderr,
    )


def _write_report(analysis: HeadAnalysis, out: Path) -> None:
    """Write the report from the parts."""
    from safetensors.torch import load_file

    files = [_part_file(out / PARTS, number) for number in range(analysis.n_parts)]
    write_json(out / REPORT, analysis.report([load_file(file) for file in files]).to_dict())


def _drop_parts(analysis: HeadAnalysis, folder: Path) -> None:
    """Delete the parts of a finished report."""
    for number in range(analysis.n_parts):
        _part_file(folder, number).unlink(missing_ok=True)
    folder.rmdir()


def summary(report: HeadReport) -> str:
    """How many heads of each attention have which main role."""
    twins = "a random model" if report.n_twins == 1 else f"{report.n_twins} random models"
    left_out = f", {report.n_left_out:,} left out" if report.n_left_out else ""
    lines = [f"{report.model}: {report.n_sentences:,} sentences{left_out}, next to {twins}"]
    attentions = list(dict.fromkeys(head.attention for head in report.heads))
    names = {attention: ATTENTION_LABELS[attention] for attention in attentions}
    width = max(map(len, names.values()))
    for attention in attentions:
        own = [head for head in report.heads if head.attention == attention]
        lines.append(f"{names[attention]:{width}}  {len(own):3} heads: {_counted(own)}")
    lines += [
        f"Not measured: {DEFINITIONS[role].label} ({why})." for role, why in report.not_measured.items()
    ]
    return "\n".join(lines)


def _counted(heads: Sequence[HeadRoles]) -> str:
    counts = Counter(DEFINITIONS[head.role].label if head.role else "none" for head in heads)
    order = sorted(counts, key=lambda name: (name == "none", -counts[name], name))
    return ", ".join(f"{counts[name]} {name}" for name in order)


def changes_text(changes: Sequence[HeadChange], name: str) -> str:
    """The heads that changed most, as a table."""
    moved = sum(one.before.head != one.after.head for one in changes)
    lines = [
        f"Compared with {name}: {moved} of {len(changes)} heads do what another head of their layer did.",
        f"{'head':24}  {'looks':>6}  {'writes':>6}  {'role':>6}  what it does",
    ]
    for one in changes[:N_CHANGES]:
        place = _place(one.after.attention, one.after.layer, one.after.head)
        roles = [DEFINITIONS[head.role].label if head.role else "none" for head in (one.before, one.after)]
        does = roles[0] if roles[0] == roles[1] else " -> ".join(roles)
        lines.append(f"{place:24}  {one.looks:6.3f}  {one.writes:6.3f}  {one.role:6.3f}  {does}")
    return "\n".join(lines)


def _place(attention: Attention, layer: int, head: int) -> str:
    return f"{attention} layer {layer} head {head}"
