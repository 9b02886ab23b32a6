"""What `python -m transformer train` checks before it begins, and what it warns of."""

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
    """Raise CommandError for an impossible number of threads."""
    threads = command.run.threads
    if threads is not None and threads < 1:
        raise CommandError(f"--threads is {threads}: it must be at least 1.")


def check(command: Train, folder: TrainingFolder) -> None:
    """Find out what would stop a run later, before anything is printed or written.

    Raises:
        CommandError, StateError, TensorBoardError, CorpusError: for that, with what to do.
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
    """Refuse what gives its contents only once; what is missing is said by who reads it."""
    given = [("--pairs", path) for files in command.data.pairs for path in files]
    for name, path in [*given, *(("--valid", path) for path in command.checks.valid)]:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise CommandError(
                f"{name} {path} is no regular file (but a pipe, say): it is read several times. Write what "
                "it gives to a file, and name that; a gzipped file is read as it is."
            )


def _check_steps(command: Train, folder: TrainingFolder) -> None:
    """Refuse a new end that the run has passed already; one that is complete may be finished again."""
    before, now = folder.saved_plan().updates.steps, command.updates.steps
    done = saved_step(folder.state) if folder.state.exists() else 0
    if now != before and now <= done:
        raise CommandError(
            f"--steps is {now}, but {done:,} updates have been made already: give more to continue, or leave "
            f"the option out to keep to {before:,}."
        )


def _check_free(folder: TrainingFolder) -> None:
    try:
        is_free = folder.is_free()
    except OSError as error:
        raise CommandError(
            f"{folder.out} can't be looked into ({error.strerror}): name another folder with --out."
        ) from error
    if not is_free:
        raise CommandError(
            f"{folder.out} is not empty: continue the run there with --resume, begin another with "
            "--overwrite, or name another folder with --out."
        )


def resumed_otherwise(command: Train, folder: TrainingFolder) -> list[str]:
    """Say what a resumed run will do otherwise than it began, or than one may think.

    Raises:
        PlanError: for a change that makes it another run.
    """
    before, now = folder.saved_plan(), command.plan
    said = changes(before, now)
    if not folder.state.exists():
        return [*said, "No state had been saved: the run begins with its first update."]
    saved = Progress.from_dict(saved_progress(folder.state))
    if saved.best_step and now.checks.valid and saved.valid != valid_digest(now.checks.valid):
        said.append(
            "The validation pairs are not those of before, or an earlier version did not note which those "
            "were: the best weights are scored on them now, and --patience begins to count again."
        )
    missed = _missed(_moments(now), folder) if _moments(now) != _moments(before) else []
    if missed:
        steps = ", ".join(f"{step:,}" for step in missed)
        said.append(
            f"The weights after {steps} updates were not kept when they were there: --snapshots has them of "
            "the first moment and of those that come from here on."
        )
    return said


def _moments(plan: TrainingPlan) -> tuple[int, ...]:
    return snapshot_steps(plan.updates.steps, plan.checks.snapshots) if plan.checks.snapshots else ()


def _missed(moments: Sequence[int], folder: TrainingFolder) -> list[int]:
    """The steps already passed whose weights were not kept; the first weights its seed makes again."""
    done, kept = saved_step(folder.state), folder.out / SNAPSHOTS
    return [step for step in moments if 0 < step < done and not (kept / str(step)).exists()]


def warnings(command: Train) -> list[str]:
    """Say what can be done and is not likely to be meant."""
    learnt = {path.resolve() for files in command.data.pairs for path in files}
    return [
        f"--valid {path} is one of the files of --pairs: validation will show how well the model knows what "
        "it has learnt, not how it translates new sentences."
        for path in command.checks.valid
        if path.resolve() in learnt
    ]
