"""Options of a live training run, limited to keep it short."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from transformer.model.config import NORM_POSITIONS, NormPosition
from transformer.training.plan import (
    CheckPlan,
    DataPlan,
    ModelPlan,
    PlanError,
    Schedule,
    TaskName,
    TrainingPlan,
    UpdatePlan,
)
from transformer.training.prepare import find_leak

WARMUP_SHARE = 0.1
"""Warmup as a share of the steps."""
BATCH_TOKENS = 512
"""Positions per batch, padding included."""
N_SNAPSHOTS = 10
N_LAYERS, N_HEADS, D_MODEL = 2, 4, 64
"""Default sizes."""
MAX_LEN = {"toy-en-it": 128, "copy": 32, "reverse": 32, "sort": 32}
"""Longest sentence for each task's models, in tokens."""

RANGES = {
    "n_layers": (1, 6),
    "n_heads": (1, 16),
    "d_model": (2, 256),
    "steps": (1, 20_000),
    "seed": (0, 2**31 - 1),
}
"""Ranges of the integer options, limited because a server has other users."""
CHOICES = {
    "task": get_args(TaskName),
    "norm_position": NORM_POSITIONS,
    "schedule": ("linear", "cosine", "inverse-root"),
}


def live_plan(
    task: TaskName = "reverse",
    *,
    n_layers: int = N_LAYERS,
    n_heads: int = N_HEADS,
    d_model: int = D_MODEL,
    norm_position: NormPosition = "pre",
    steps: int = 1000,
    peak: float = 3e-3,
    schedule: Schedule = "linear",
    seed: int = 1,
    leak: str = "",
) -> TrainingPlan:
    """The plan of a live training run; equal plans give equal weights.

    Args:
        task: a built-in task.
        n_layers: number of encoder layers, and of decoder layers.
        n_heads: attention heads per layer.
        d_model: width of the residual stream; the feed-forward is four times as wide.
        norm_position: one of NORM_POSITIONS.
        steps: number of updates.
        peak: highest learning rate.
        schedule: learning rate schedule after warmup.
        seed: seed of initial weights and sentences.
        leak: a change that leaks the labels, one of transformer.training.leaks; empty for none.

    Raises:
        PlanError: for an unknown option value, or a number out of range.
    """
    _check(dict(locals()))
    return TrainingPlan(
        data=DataPlan(task=task),
        model=ModelPlan(
            preset="toy",
            d_model=d_model,
            n_heads=n_heads,
            n_encoder_layers=n_layers,
            n_decoder_layers=n_layers,
            d_ff=4 * d_model,
            max_len=MAX_LEN[task],
            dropout=0.0,  # it would slow down short runs of small models
            norm_position=norm_position,
            leak=leak,
        ),
        updates=UpdatePlan(
            steps=steps,
            batch_tokens=BATCH_TOKENS,
            schedule=schedule,
            peak=peak,
            warmup=max(1, round(WARMUP_SHARE * steps)),
            smoothing=0.0,
            seed=seed,
        ),
        checks=CheckPlan(save_every=steps, snapshots=N_SNAPSHOTS, log_every=1),
    )


def _check(given: Mapping[str, Any]) -> None:
    """Raise PlanError unless the arguments of `live_plan` are possible."""
    for name, allowed in CHOICES.items():
        if given[name] not in allowed:
            raise PlanError(f"{name} is {given[name]!r}: choose one of {', '.join(allowed)}.")
    for name, (least, most) in RANGES.items():
        value = given[name]
        if type(value) is not int or not least <= value <= most:
            raise PlanError(f"{name} is {value!r}: it must be a whole number from {least:,} to {most:,}.")
    peak = given["peak"]
    if type(peak) not in (int, float) or not 0 < peak <= 1:
        raise PlanError(f"peak is {peak!r}: it must be above 0 and at most 1.")
    if given["leak"]:
        find_leak(given["leak"])
    d_model, n_heads = given["d_model"], given["n_heads"]
    if d_model % 2 or d_model % n_heads:
        raise PlanError(
            f"d_model {d_model} can't be split into {n_heads} equal heads, or is odd: choose an even width "
            "that the number of heads divides."
        )
