"""Learning rate schedules; steps count from 1."""

from __future__ import annotations

import math


def paper_rate(step: int, *, d_model: int, warmup_steps: int) -> float:
    """Rise linearly, then fall with the step's inverse square root (paper, section 5.3, equation 3)."""
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def inverse_root_rate(step: int, *, peak: float, warmup_steps: int) -> float:
    """The paper's schedule, scaled to a given peak."""
    return peak * min(step / warmup_steps, math.sqrt(warmup_steps / step))


def linear_rate(step: int, *, peak: float, warmup_steps: int, total_steps: int) -> float:
    """Rise linearly to the peak, then fall linearly to almost 0 at the last step.

    If the length of the run is known, this trains a better model than the paper's schedule (section 5.3,
    equation 3), whose rate stays high.
    """
    rise = step / warmup_steps
    fall = (total_steps + 1 - step) / (total_steps + 1 - warmup_steps)
    return peak * min(rise, fall)


def cosine_rate(step: int, *, peak: float, warmup_steps: int, total_steps: int) -> float:
    """Rise linearly to the peak, then fall to almost 0 along half a cosine (Loshchilov and Hutter 2017)."""
    if step <= warmup_steps:
        return peak * step / warmup_steps
    done = (step - warmup_steps) / (total_steps + 1 - warmup_steps)
    return peak * (1 + math.cos(math.pi * done)) / 2
