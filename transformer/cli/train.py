"""python -m transformer train: trains a model on sentence pairs and saves it with its card."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial

import torch
from tqdm import tqdm

from transformer.cli.command import CommandError, program
from transformer.cli.train_checks import check, check_threads, resume_differences, warnings
from transformer.cli.train_finish import finish_run
from transformer.cli.train_options import Train, parse
from transformer.cli.training_bar import TrainingBar
from transformer.data.corpus import CorpusError
from transformer.data.encoded import EncodedCorpusError
from transformer.device import choose_device
from transformer.errors import SentenceError, TextError
from transformer.files import LockedError, locked
from transformer.model.config import ConfigError
from transformer.training.card import RunRecord
from transformer.training.choices import check_plan, options
from transformer.training.evaluation.validation import Validation
from transformer.training.folder import TrainingFolder
from transformer.training.loop import TrainingRun
from transformer.training.metrics import TensorBoardError
from transformer.training.optimization.ranks import (
    Ranks,
    RanksError,
    is_lost_process,
    join_ranks,
    own_device,
)
from transformer.training.optimization.trainer import NonFiniteError
from transformer.training.plan import PlanError
from transformer.training.prepare import first_model, new_trainer, open_prepared, prepare
from transformer.training.process import StopRequest, keep_freed_memory, stop_requests
from transformer.training.state import StateError, saved_step

REFUSALS = (
    PlanError,
    ConfigError,
    StateError,
    NonFiniteError,
    RanksError,
    TensorBoardError,
    EncodedCorpusError,
    CorpusError,
    SentenceError,
    TextError,
)
"""Errors of a training run whose messages are printed unchanged."""

_CALMER = "choose a lower --peak, a longer --warmup or a smaller --clip, and "
_ROOM = "free some space, and "
"""What to do before resuming a failed run."""


def run_train(arguments: Sequence[str]) -> int:
    """Train according to the options; returns the exit status.

    Raises:
        CommandError, DeviceError, CheckpointError: if training fails.
        SystemExit: if another process of the run was lost; that is already printed.
    """
    try:
        return run_training(parse(arguments))
    except REFUSALS as error:
        raise CommandError(str(error)) from error


def run_training(command: Train) -> int:
    """Prepare, train, choose the best weights, and save; returns the exit status."""
    check_plan(command.plan)
    check_threads(command)
    device = own_device(choose_device(command.run.device))
    if command.updates.precision == "float16" and device.type != "cuda":
        raise CommandError(f"--precision float16 needs a GPU with CUDA: use bfloat16 on {device.type}.")
    if command.run.threads is not None:
        torch.set_num_threads(command.run.threads)
    if device.type == "cpu":
        keep_freed_memory()
    folder = TrainingFolder(command.run.out)
    with (
        _lost_process_reported(folder),
        join_ranks(device) as ranks,
        _prepared(command, folder) if ranks.is_first else nullcontext(),
    ):
        ranks.wait()
        with stop_requests(partial(_acknowledge, ranks)) as stop, _lost_process_reported(folder):
            return _train(command, folder, device, ranks, stop)


@contextmanager
def _lost_process_reported(folder: TrainingFolder) -> Iterator[None]:
    """If another process of the run can't be reached, say so and exit with status 1.

    It is said here and not by the caller: when a process is lost, torchrun sends the others SIGTERM, which
    would end them silently outside `stop_requests`.
    """
    try:
        yield
    except RuntimeError as error:
        if not is_lost_process(error):
            raise
        print_message(_failure(folder, "Another process of this run ended."))
        raise SystemExit(1) from error


@contextmanager
def _prepared(command: Train, folder: TrainingFolder) -> Iterator[None]:
    """Create and lock the folder, and prepare the data in it."""
    check(command, folder)
    differences = resume_differences(command, folder) if command.run.resume else []
    for warning in warnings(command):
        print_message(warning)
    with ExitStack() as lock:
        try:
            folder.path.mkdir(parents=True, exist_ok=True)
            lock.enter_context(locked(folder.lock))
            if not command.run.resume:
                folder.clear()
                folder.save_plan(command.plan)
            prepare(folder, command.plan, print_message, _with_progress)
            folder.save_plan(command.plan)
            for difference in differences:  # only now, when no error can prevent the changes
                print_message(difference)
        except KeyboardInterrupt:
            print_message(f"Stopped before the first update: start {_with_resume(folder)}")
            raise
        except LockedError as error:
            raise CommandError(f"Another process is training in {folder.out}: stop it first.") from error
        except OSError as error:
            raise CommandError(
                f"{folder.path} can't be written to ({error.strerror or error}): free some space, or name "
                "another folder with --out."
            ) from error
        yield


def _train(
    command: Train, folder: TrainingFolder, device: torch.device, ranks: Ranks, stop: StopRequest
) -> int:
    prepared = open_prepared(folder, command.plan, ranks, _with_progress)
    plan = replace(command.plan, updates=prepared.updates)
    loaded = first_model(plan, folder.out.resolve().name, prepared, device, ranks)
    validation = Validation(plan.checks.valid, loaded) if plan.checks.valid else None
    trainer = new_trainer(plan.updates, loaded, ranks)
    run = TrainingRun(loaded, trainer, prepared.data, plan, folder, validate=validation, stop=stop)
    _follow(run, folder, ranks, resumes=command.run.resume and folder.state.exists())
    if run.ended == "stopped":
        if ranks.is_first:
            print_message(f"Stopped after update {run.progress.step:,}, saved: resume {_with_resume(folder)}")
        return stop.exit_status
    if ranks.is_first:
        if run.ended == "patience":
            print_message(f"Stopped early: {plan.checks.patience} validations without improvement.")
        record = RunRecord(
            command=f"{program()} train {options(command.plan)}",
            plan=plan,
            progress=run.progress,
            n_labels=prepared.data.n_labels,
            data=prepared.data.description,
            device=device,
            n_threads=torch.get_num_threads(),
            n_processes=ranks.count,
        )
        try:
            print_message(finish_run(loaded, folder, run, validation, record))
        except OSError as error:
            what = f"The model can't be written to {folder.out} ({_reason(error)})."
            raise CommandError(_failure(folder, what, _ROOM)) from error
    return 0


def _follow(run: TrainingRun, folder: TrainingFolder, ranks: Ranks, *, resumes: bool) -> None:
    try:
        if resumes:
            run.resume()
        with run, TrainingBar(run.plan.updates.steps, run.progress, shown=ranks.is_first) as bar:
            for event in run.events():
                bar.show(event)
    except NonFiniteError as error:
        raise CommandError(_failure(folder, f"Training failed in {error}.", _CALMER)) from error
    except OSError as error:
        what = f"The state can't be saved ({_reason(error)})."
        raise CommandError(_failure(folder, what, _ROOM)) from error


def _failure(folder: TrainingFolder, what: str, first: str = "") -> str:
    """An error message: what happened, what is saved, what to do `first`, and how to resume."""
    try:
        step = saved_step(folder.state)
    except StateError:
        return f"{what} No state was saved: {first}start {_with_resume(folder)}"
    return f"{what} The state after update {step:,} is saved: {first}resume {_with_resume(folder)}"


def _reason(error: OSError) -> str:
    """The system's message, or that of a library error without an error number."""
    reason = error.strerror or str(error)
    return reason if error.filename is None else f"{error.filename}: {reason}"


def _with_resume(folder: TrainingFolder) -> str:
    return f"with {program()} train --resume --out {folder.out}"


def _acknowledge(ranks: Ranks) -> None:
    if ranks.is_first:
        print_message("\nStopping once this update is done and saved. A second request ends the run at once.")


def _with_progress(pairs: Iterable[tuple[str, str]], what: str) -> Iterable[tuple[str, str]]:
    """Show a progress bar for the pairs."""
    bar: Iterable[tuple[str, str]] = tqdm(pairs, what, unit=" pairs", leave=False, disable=None)
    return bar


def print_message(message: str) -> None:
    """Print to standard error, like the progress bar."""
    print(message, file=sys.stderr, flush=True)
