"""How the learning rate changes over the steps of a training, counted from 1."""

from __future__ import annotations


def linear_rate(step: int, *, peak: float, warmup_steps: int, total_steps: int) -> float:
    """Rise linearly to the peak, then fall linearly to almost 0 at the last step.

    For a training whose length is known this ends better than the paper's schedule (section 5.3,
    equation 3), whose rate is high to the end.
    """
    rise = step / warmup_steps
    fall = (total_steps + 1 - step) / (total_steps + 1 - warmup_steps)
    return peak * min(rise, fall)
