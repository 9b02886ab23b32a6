"""python -m transformer train: from files of sentence pairs to a model with its card."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial

import torch
from tqdm import tqdm

from transformer.cli.command import CommandError, program
from transformer.cli.train_checks import check, check_threads, resumed_otherwise, warnings
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
    is_loss_of_a_process,
    joined,
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
"""Why a training run can't be; their messages are printed as they are."""

_CALMER = "choose a lower --peak, a longer --warmup or a smaller --clip, and "
_ROOM = "make room, and "
"""What has to be done before a run that ended can be resumed."""


def run_train(arguments: Sequence[str]) -> int:
    """Train as the options say; returns the exit status.

    Raises:
        CommandError, DeviceError, CheckpointError: for what can't be done.
    """
    try:
        return run_training(parse(arguments))
    except REFUSALS as error:
        raise CommandError(str(error)) from error


def run_training(command: Train) -> int:
    """Prepare, train, choose the best weights, save; returns the exit status."""
    check_plan(command.plan)
    check_threads(command)
    device = own_device(choose_device(command.run.device))
    if command.updates.precision == "float16" and device.type != "cuda":
        raise CommandError(f"--precision float16 needs a GPU with CUDA; on {device.type} take bfloat16.")
    if command.run.threads is not None:
        torch.set_num_threads(command.run.threads)
    if device.type == "cpu":
        keep_freed_memory()
    folder = TrainingFolder(command.run.out)
    try:
        with joined(device) as ranks, _begun(command, folder) if ranks.is_first else nullcontext():
            ranks.wait()
            with stop_requests(partial(_acknowledge, ranks)) as stop:
                return _train(command, folder, device, ranks, stop)
    except RuntimeError as error:
        if not is_loss_of_a_process(error):
            raise
        raise CommandError(_kept(folder, "Another process of this run ended.")) from error


@contextmanager
def _begun(command: Train, folder: TrainingFolder) -> Iterator[None]:
    """Make the folder, lock it, and prepare what is read."""
    check(command, folder)
    differences = resumed_otherwise(command, folder) if command.run.resume else []
    for warning in warnings(command):
        tell(warning)
    with ExitStack() as held:
        try:
            folder.path.mkdir(parents=True, exist_ok=True)
            held.enter_context(locked(folder.lock))
            if not command.run.resume:
                folder.clear()
                folder.save_plan(command.plan)
            prepare(folder, command.plan, tell, _watch)
            folder.save_plan(command.plan)
            for difference in differences:  # only now that nothing can refuse them any more
                tell(difference)
        except KeyboardInterrupt:
            tell(f"Stopped before the first update: begin with that {_how(folder)}")
            raise
        except LockedError as error:
            raise CommandError(f"Another process trains in {folder.out} now: stop it first.") from error
        except OSError as error:
            raise CommandError(
                f"Nothing can be written to {folder.path} ({error.strerror or error}): make room, or name "
                "another folder with --out."
            ) from error
        yield


def _train(
    command: Train, folder: TrainingFolder, device: torch.device, ranks: Ranks, stop: StopRequest
) -> int:
    prepared = open_prepared(folder, command.plan, ranks, _watch)
    plan = replace(command.plan, updates=prepared.updates)
    loaded = first_model(plan, folder.out.resolve().name, prepared, device, ranks)
    validation = Validation(plan.checks.valid, loaded) if plan.checks.valid else None
    trainer = new_trainer(plan.updates, loaded, ranks)
    run = TrainingRun(loaded, trainer, prepared.data, plan, folder, validate=validation, stop=stop)
    _follow(run, folder, ranks, resumes=command.run.resume and folder.state.exists())
    if run.ended == "stopped":
        if ranks.is_first:
            tell(f"Stopped after update {run.progress.step:,}, and saved: continue {_how(folder)}")
        return stop.exit_status
    if ranks.is_first:
        if run.ended == "patience":
            tell(f"Stopped early: {plan.checks.patience} validations were no better than the best one.")
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
            tell(finish_run(loaded, folder, run, validation, record))
        except OSError as error:
            what = f"The model can't be written to {folder.out} ({_reason(error)})."
            raise CommandError(_kept(folder, what, _ROOM)) from error
    return 0


def _follow(run: TrainingRun, folder: TrainingFolder, ranks: Ranks, *, resumes: bool) -> None:
    try:
        if resumes:
            run.resume()
        with run, TrainingBar(run.plan.updates.steps, run.progress, shown=ranks.is_first) as bar:
            for event in run.events():
                bar.show(event)
    except NonFiniteError as error:
        raise CommandError(_kept(folder, f"Training failed in {error}.", _CALMER)) from error
    except OSError as error:
        raise CommandError(_kept(folder, f"The state can't be saved ({_reason(error)}).", _ROOM)) from error


def _kept(folder: TrainingFolder, what: str, first: str = "") -> str:
    """Say what happened, what is saved, what to do `first`, and the command that then continues."""
    try:
        step = saved_step(folder.state)
    except StateError:
        return f"{what} No state had been saved: {first}begin {_how(folder)}"
    return (
        f"{what} The last good state, of update {step:,}, is kept: {first}continue from there {_how(folder)}"
    )


def _reason(error: OSError) -> str:
    """What the system says; of a library's error, which has no number, what the library says."""
    said = error.strerror or str(error)
    return said if error.filename is None else f"{error.filename}: {said}"


def _how(folder: TrainingFolder) -> str:
    return f"with {program()} train --resume --out {folder.out}"


def _acknowledge(ranks: Ranks) -> None:
    if ranks.is_first:
        tell("\nAsked to stop: finishing this update, then saving. Asked again, the run ends at once.")


def _watch(pairs: Iterable[tuple[str, str]], what: str) -> Iterable[tuple[str, str]]:
    """Show how many pairs have been read."""
    watched: Iterable[tuple[str, str]] = tqdm(pairs, what, unit=" pairs", leave=False, disable=None)
    return watched


def tell(message: str) -> None:
    """Report progress on standard error, where the bar is too."""
    print(message, file=sys.stderr, flush=True)
