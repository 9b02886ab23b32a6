"""The options of `python -m transformer train`, in groups."""

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
"""Of PyTorch on the CPU, for the small models of the tasks: more would wait for each other."""
_SETTINGS = (tyro.conf.OmitArgPrefixes,)
_Switch = Annotated[bool, tyro.conf.FlagCreatePairsOff]
"""An option without its --no-: what is asked of this run alone, and never saved."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Where it runs.

    Attributes:
        out: the folder of the finished model; the run keeps its files in a folder "training" there.
        resume: continue the run that was begun there, with its choices; others that are given count.
        overwrite: begin another run in a folder that is in use.
        device: cpu, cuda or mps; the fastest there is when left out.
        threads: of PyTorch on the CPU; as many as there are cores when left out.
    """

    out: Path = Path("build/models/new")
    resume: _Switch = False
    overwrite: _Switch = False
    device: str | None = None
    threads: int | None = None


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train a translator on sentence pairs (--pairs), or a small model on a built-in task (--task).

    A run that was stopped, or died, is continued with --resume --out DIR. To train on several GPUs or
    machines: torchrun --nproc-per-node N -m transformer train ...; each process then has batches of its own.

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
        """All choices but where it runs."""
        return TrainingPlan(**{name: group for name, group in vars(self).items() if name != "run"})


def parse(arguments: Sequence[str]) -> Train:
    """Read the options; those that are not given are as the run was begun with, or as fits a --task.

    Raises:
        PlanError: for --resume where no run was begun, and for --resume with --overwrite.
    """
    task = _task(arguments)
    begun = Train()
    if task is not None:
        out = Path("build/models") / task
        begun = Train(run=RunOptions(out=out, threads=TASK_THREADS), **vars(task_plan(task)))
    given = tyro.cli(Train, prog=f"{program()} train", args=arguments, config=_SETTINGS, default=begun)
    if not given.run.resume:
        return given
    if given.run.overwrite:
        raise PlanError(
            "--resume continues the run that is there, --overwrite begins another: give one of the two."
        )
    saved = TrainingFolder(given.run.out).saved_plan()
    # An option that may be repeated adds to what is there.
    default = Train(**vars(saved) | {"data": replace(saved.data, pairs=())})
    resumed = tyro.cli(Train, prog=f"{program()} train", args=arguments, config=_SETTINGS, default=default)
    pairs = resumed.data.pairs or saved.data.pairs
    return replace(resumed, data=replace(resumed.data, pairs=pairs))


def _task(arguments: Sequence[str]) -> TaskName | None:
    """The task that is asked for: what is usual depends on it, so it is looked for first."""
    spelled = " ".join(arguments).replace("--task=", "--task ").split()
    named = spelled[spelled.index("--task") + 1 :][:1] if "--task" in spelled else []
    return next((task for task in get_args(TaskName) if [task] == named), None)
