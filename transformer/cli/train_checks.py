"""Checks and warnings of `python -m transformer train` before training."""

from __future__ import annotations

from collections.abc import Sequence

from transformer.cli.command import CommandError
from transformer.cli.train_options import Train
from transformer.data.corpus import read_references
from transformer.training.choices import changes
from transformer.training.evaluation.validation import valid_digest
from transformer.training.folder import TrainingFolder
from transformer.training.metrics import check_tensorboard
from transformer.training.plan import TrainingPlan
from transformer.training.snapshots import FOLDER as SNAPSHOTS
from transformer.training.snapshots import snapshot_steps
from transformer.training.state import Progress, saved_progress, saved_step


def check_threads(command: Train) -> None:
    """Raises CommandError for an impossible number of threads."""
    threads = command.run.threads
    if threads is not None and threads < 1:
        raise CommandError(f"--threads is {threads}: it must be at least 1.")


def check(command: Train, folder: TrainingFolder) -> None:
    """Find errors that would stop the run later, before anything is printed or written.

    Raises:
        CommandError, StateError, TensorBoardError, CorpusError: say what to do.
    """
    _check_regular(command)
    if command.run.resume:
        _check_steps(command, folder)
    elif not command.run.overwrite:
        _check_free(folder)
    if command.checks.tensorboard:
        check_tensorboard()
    if command.checks.valid:
        list(read_references(*command.checks.valid))


def _check_regular(command: Train) -> None:
    """Refuse pipes and devices, which can be read only once; missing files are found on reading."""
    given = [("--pairs", path) for files in command.data.pairs for path in files]
    for name, path in [*given, *(("--valid", path) for path in command.checks.valid)]:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise CommandError(
                f"{name} {path} is not a regular file but, say, a pipe, and is read several times. Save its "
                "contents to a file; gzipped files are fine."
            )


def _check_steps(command: Train, folder: TrainingFolder) -> None:
    """Refuse a new number of steps that the run has already passed; a complete run may be finished again."""
    before, now = folder.saved_plan().updates.steps, command.updates.steps
    done = saved_step(folder.state) if folder.state.exists() else 0
    if now != before and now <= done:
        raise CommandError(
            f"--steps is {now}, but {done:,} updates are already done: give more to continue, or leave the "
            f"option out to keep {before:,}."
        )


def _check_free(folder: TrainingFolder) -> None:
    try:
        is_free = folder.is_free()
    except OSError as error:
        raise CommandError(
            f"{folder.out} can't be read ({error.strerror}): name another folder with --out."
        ) from error
    if not is_free:
        raise CommandError(
            f"{folder.out} is not empty: continue the run there with --resume, start another with "
            "--overwrite, or name another folder with --out."
        )


def resume_differences(command: Train, folder: TrainingFolder) -> list[str]:
    """Messages on what a resumed run will do differently.

    Raises:
        PlanError: for a change that would make it a different run.
    """
    before, now = folder.saved_plan(), command.plan
    messages = changes(before, now)
    if not folder.state.exists():
        return [*messages, "No state was saved: the run starts with its first update."]
    saved = Progress.from_dict(saved_progress(folder.state))
    if saved.best_step and now.checks.valid and saved.valid != valid_digest(now.checks.valid):
        messages.append(
            "The validation pairs have changed, or an earlier version did not record them: the best weights "
            "are scored again on these, and --patience starts over."
        )
    missed = _missed(_snapshot_steps(now), folder) if _snapshot_steps(now) != _snapshot_steps(before) else []
    if missed:
        steps = ", ".join(f"{step:,}" for step in missed)
        messages.append(
            f"The weights after {steps} updates were not saved at the time: --snapshots will have the "
            "initial weights and those from here on."
        )
    return messages


def _snapshot_steps(plan: TrainingPlan) -> tuple[int, ...]:
    return snapshot_steps(plan.updates.steps, plan.checks.snapshots) if plan.checks.snapshots else ()


def _missed(steps: Sequence[int], folder: TrainingFolder) -> list[int]:
    """Past steps without a snapshot, except step 0, whose weights the seed reproduces."""
    done, snapshots = saved_step(folder.state), folder.out / SNAPSHOTS
    return [step for step in steps if 0 < step < done and not (snapshots / str(step)).exists()]


def warnings(command: Train) -> list[str]:
    """Messages on options that are valid but probably not intended."""
    training_files = {path.resolve() for files in command.data.pairs for path in files}
    return [
        f"--valid {path} is one of the files of --pairs: validation will measure memorisation, not how well "
        "the model translates new sentences."
        for path in command.checks.valid
        if path.resolve() in training_files
    ]
