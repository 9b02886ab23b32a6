"""Options of `python -m transformer train`, in groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, get_args

import tyro

from transformer.cli.command import program
from transformer.data.filters import Filters
from transformer.training.choices import task_plan
from transformer.training.folder import TrainingFolder
from transformer.training.plan import (
    CheckPlan,
    DataPlan,
    ModelPlan,
    PlanError,
    ResultPlan,
    TaskName,
    TrainingPlan,
    UpdatePlan,
)

TASK_THREADS = 2
"""PyTorch threads on the CPU for the tasks' small models; more would be slower."""
_SETTINGS = (tyro.conf.OmitArgPrefixes,)
_Switch = Annotated[bool, tyro.conf.FlagCreatePairsOff]
"""A flag without a --no- form, for options that are not saved with the run."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Where the run takes place.

    Attributes:
        out: folder for the finished model; the run's own files are in its sub-folder "training".
        resume: continue the run in this folder with its options, changed by those given.
        overwrite: start a new run in a folder that already has one.
        device: cpu, cuda or mps; by default the fastest one.
        threads: PyTorch threads on the CPU; by default one per core.
    """

    out: Path = Path("build/models/new")
    resume: _Switch = False
    overwrite: _Switch = False
    device: str | None = None
    threads: int | None = None


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train a translator on sentence pairs (--pairs), or a small model on a built-in task (--task).

    To continue a run that was stopped or failed: --resume --out DIR. To train on several GPUs or machines:
    torchrun --nproc-per-node N -m transformer train ...; each process then has its own batches.

    The options of a built-in task: python -m transformer train --task toy-en-it --help.
    """

    run: RunOptions = field(default_factory=RunOptions)
    data: DataPlan = field(default_factory=DataPlan)
    filters: Filters = field(default_factory=Filters)
    model: ModelPlan = field(default_factory=ModelPlan)
    updates: UpdatePlan = field(default_factory=UpdatePlan)
    checks: CheckPlan = field(default_factory=CheckPlan)
    result: ResultPlan = field(default_factory=ResultPlan)

    @property
    def plan(self) -> TrainingPlan:
        """All options except where the run takes place."""
        return TrainingPlan(**{name: group for name, group in vars(self).items() if name != "run"})


def parse(arguments: Sequence[str]) -> Train:
    """Parse the options; defaults come from the run to resume, or from the --task.

    Raises:
        PlanError: for --resume without a run in the folder, or with --overwrite.
    """
    task = _task(arguments)
    usual = Train()
    if task is not None:
        out = Path("build/models") / task
        usual = Train(run=RunOptions(out=out, threads=TASK_THREADS), **vars(task_plan(task)))
    given = tyro.cli(Train, prog=f"{program()} train", args=arguments, config=_SETTINGS, default=usual)
    if not given.run.resume:
        return given
    if given.run.overwrite:
        raise PlanError("--resume continues the run in the folder, --overwrite replaces it: give only one.")
    saved = TrainingFolder(given.run.out).saved_plan()
    # A repeatable option adds to its default.
    default = Train(**vars(saved) | {"data": replace(saved.data, pairs=())})
    resumed = tyro.cli(Train, prog=f"{program()} train", args=arguments, config=_SETTINGS, default=default)
    pairs = resumed.data.pairs or saved.data.pairs
    return replace(resumed, data=replace(resumed.data, pairs=pairs))


def _task(arguments: Sequence[str]) -> TaskName | None:
    """The value of --task, on which the defaults of other options depend."""
    spelled = " ".join(arguments).replace("--task=", "--task ").split()
    named = spelled[spelled.index("--task") + 1 :][:1] if "--task" in spelled else []
    return next((task for task in get_args(TaskName) if [task] == named), None)
