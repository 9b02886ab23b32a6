"""python -m transformer train: from files of sentence pairs to a model with its card."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial

import torch
import tyro
from tqdm import tqdm

from transformer.checkpoints.folder import LoadedModel, open_model, save_model
from transformer.cli import train_task
from transformer.cli.command import CommandError
from transformer.cli.train_checks import check, check_threads, resumed_otherwise, warnings
from transformer.cli.train_options import PROGRAM, Train, parse
from transformer.cli.training_bar import TrainingBar
from transformer.data.corpus import CorpusError
from transformer.data.encoded import EncodedCorpusError
from transformer.device import choose_device
from transformer.errors import SentenceError, TextError
from transformer.files import LockedError, locked
from transformer.model.config import ConfigError
from transformer.model.transformer import Transformer
from transformer.training.finishing import LAST, Candidate, finish
from transformer.training.folder import TrainingFolder
from transformer.training.loop import CorpusTraining
from transformer.training.memory import keep_freed_memory
from transformer.training.metrics import TensorBoardError
from transformer.training.plan import PlanError, TrainingPlan
from transformer.training.plan_words import options
from transformer.training.preparing import Prepared, open_prepared, prepare
from transformer.training.ranks import Ranks, RanksError, is_loss_of_a_process, joined, own_device
from transformer.training.snapshots import save_history, save_snapshot
from transformer.training.state import StateError, saved_step
from transformer.training.stopping import StopRequest, stop_requests
from transformer.training.trainer import NonFiniteError, Trainer
from transformer.training.translator_card import Making, translator_card
from transformer.training.validation import Validation

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
"""What is said of a training that can't be; the messages are for people."""

MEBIBYTE = 1 << 20

_CALMER = "choose a lower --peak, a longer --warmup or a smaller --clip, and "
_ROOM = "make room, and "
"""What has to be done before a training that ended can go on."""


def run_train(arguments: Sequence[str]) -> int:
    """Train as the options say; returns the exit status.

    Raises:
        CommandError, DeviceError, CheckpointError: for what can't be done.
    """
    if any(argument == "--task" or argument.startswith("--task=") for argument in arguments):
        task: train_task.Train = tyro.cli(train_task.Train, prog=PROGRAM, args=arguments)
        return train_task.run_training(task)
    try:
        return run_training(parse(arguments))
    except REFUSALS as error:
        raise CommandError(str(error)) from error


def run_training(command: Train) -> int:
    """Prepare, train, choose the best weights, save; returns the exit status."""
    command.plan.check()
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
        raise CommandError(_kept(folder, "Another process of this training ended.")) from error


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
    plan, prepared = command.plan, open_prepared(folder)
    loaded = new_model(plan, folder.out.resolve().name, prepared, device, ranks)
    validation = Validation(plan.checks.valid, loaded) if plan.checks.valid else None
    training = CorpusTraining(
        loaded,
        new_trainer(plan, loaded, ranks),
        prepared.corpus,
        plan,
        folder,
        validate=validation,
        stop=stop,
    )
    _go_on(training, folder, ranks, resumes=command.run.resume and folder.state.exists())
    if training.ended == "stopped":
        if ranks.is_first:
            tell(f"Stopped after update {training.progress.step:,}, and saved: go on {_how(folder)}")
        return stop.exit_status
    if ranks.is_first:
        if training.ended == "patience":
            tell(f"Stopped early: {plan.checks.patience} validations were no better than the best one.")
        _finish(loaded, folder, training, validation, ranks)
    return 0


def new_model(
    plan: TrainingPlan, name: str, prepared: Prepared, device: torch.device, ranks: Ranks
) -> LoadedModel:
    """Make the model with its first weights, and seed what its dropout draws from, in each process anew."""
    config = plan.model.config(
        src_vocab_size=len(prepared.source.vocabulary), tgt_vocab_size=len(prepared.target.vocabulary)
    )
    model = Transformer(config, torch.Generator().manual_seed(plan.updates.seed)).to(device)
    torch.manual_seed(plan.updates.seed + ranks.rank)
    return LoadedModel(name=name, model=model, source=prepared.source, target=prepared.target)


def new_trainer(plan: TrainingPlan, loaded: LoadedModel, ranks: Ranks) -> Trainer:
    """Make what updates the model."""
    updates = plan.updates
    return Trainer(
        loaded.model,
        rate=updates.rate(loaded.model.config.d_model),
        smoothing=updates.smoothing,
        max_gradient_norm=updates.clip,
        precision=updates.precision,
        compiled=updates.compile,
        ranks=ranks,
    )


def _go_on(training: CorpusTraining, folder: TrainingFolder, ranks: Ranks, *, resumes: bool) -> None:
    try:
        if resumes:
            training.resume()
        with TrainingBar(training.plan.updates.steps, training.progress, shown=ranks.is_first) as bar:
            for event in training.go_on():
                bar.show(event)
    except NonFiniteError as error:
        raise CommandError(_kept(folder, f"The training broke down in {error}.", _CALMER)) from error
    except OSError as error:
        raise CommandError(
            _kept(folder, f"The training can't be saved ({_reason(error)}).", _ROOM)
        ) from error


def _kept(folder: TrainingFolder, what: str, first: str = "") -> str:
    """Say what happened, what is left, what to do `first`, and the command that then goes on."""
    try:
        step = saved_step(folder.state)
    except StateError:
        return f"{what} No state had been saved: {first}begin anew {_how(folder)}"
    return f"{what} The last good state, of update {step:,}, is kept: {first}go on from there {_how(folder)}"


def _reason(error: OSError) -> str:
    """What the system says; of a library's error, which has no number, what the library says."""
    said = error.strerror or str(error)
    return said if error.filename is None else f"{error.filename}: {said}"


def _how(folder: TrainingFolder) -> str:
    return f"with {PROGRAM} --resume --out {folder.out}"


def _finish(
    loaded: LoadedModel,
    folder: TrainingFolder,
    training: CorpusTraining,
    validation: Validation | None,
    ranks: Ranks,
) -> None:
    plan, result = training.plan, training.plan.result
    loaded.model.eval()
    making = Making(
        command=f"{PROGRAM} {options(plan)}",
        plan=plan,
        progress=training.progress,
        n_pairs=len(training.corpus),
        n_labels=training.corpus.n_labels(),
        data=training.corpus.description,
        device=loaded.model.generator.weight.device,
        n_threads=torch.get_num_threads(),
        n_processes=ranks.count,
    )
    try:
        candidates = finish(loaded, folder, validation, result.dtype)
        translated = [] if validation is None else validation.translate(loaded)
        finished = replace(loaded, card=translator_card(loaded, making, candidates, translated))
        largest = None if result.max_file_mib is None else result.max_file_mib * MEBIBYTE
        save_model(folder.out, finished, dtype=result.dtype, max_file_bytes=largest)
        if plan.checks.snapshots:
            _save_course(folder, training, candidates[0])
    except OSError as error:
        what = f"The model can't be written to {folder.out} ({_reason(error)})."
        raise CommandError(_kept(folder, what, _ROOM)) from error
    tell(f"Saved {candidates[0].name} in {folder.out}.")


def _save_course(folder: TrainingFolder, training: CorpusTraining, chosen: Candidate) -> None:
    """Keep what snapshots end with: the last one, where the finished model is another, and the losses."""
    if chosen.name != LAST:
        save_snapshot(folder.out, training.progress.step, open_model(str(folder.last)).model)
    save_history(folder.out, training.course())


def _acknowledge(ranks: Ranks) -> None:
    if ranks.is_first:
        tell("\nAsked to stop: finishing what is being done, then saving. Asked again, it ends at once.")


def _watch(pairs: Iterable[tuple[str, str]], what: str) -> Iterable[tuple[str, str]]:
    """Show how many pairs have been read."""
    watched: Iterable[tuple[str, str]] = tqdm(pairs, what, unit=" pairs", leave=False, disable=None)
    return watched


def tell(message: str) -> None:
    """Say how a training gets on: on standard error, as its progress bar does."""
    print(message, file=sys.stderr, flush=True)
