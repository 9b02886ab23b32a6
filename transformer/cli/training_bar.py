"""Progress bar of a training run in a terminal, with speed and loss."""

from __future__ import annotations

import sys
import time

from tqdm import tqdm

from transformer.training.loop import Validated
from transformer.training.optimization.trainer import TrainingStep
from transformer.training.state import Progress

_WINDOW = 10.0
"""Approximate number of seconds over which speed and loss are averaged."""

_INTERVAL, _INTERVAL_IN_A_FILE = 0.2, 30.0
"""Seconds between refreshes of the bar, in a terminal and in a log."""


class TrainingBar:
    """A progress bar with tokens/s, loss, learning rate and remaining time; validations are lines above it.

    Speed and loss are running means, which a resumed run restarts; the metrics are unaffected.

    Args:
        steps: number of steps of the run.
        progress: the progress at the start.
        shown: False for no bar.
    """

    def __init__(self, steps: int, progress: Progress, *, shown: bool) -> None:
        self._bar = tqdm(
            total=steps,
            initial=progress.step,
            unit="update",
            disable=not shown,
            smoothing=0.05,
            mininterval=_INTERVAL if sys.stderr.isatty() else _INTERVAL_IN_A_FILE,
        )
        self._tokens, self._loss, self._since = 0.0, 0.0, time.perf_counter()
        self._updates = 0.0

    def __enter__(self) -> TrainingBar:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def show(self, event: TrainingStep | Validated) -> None:
        """Draw an update, or print a validation."""
        if self._bar.disable:
            return
        if isinstance(event, Validated):
            scores, best = event.scores, ", the best so far" if event.is_best else ""
            self._bar.write(
                f"Update {event.step:,}: validation loss {scores.loss:.3f}, BLEU {scores.bleu:.1f}, "
                f"chrF {scores.chrf:.1f}{best}."
            )
            return
        self._tokens += event.n_tokens
        self._loss += event.loss
        self._updates += 1
        seconds = time.perf_counter() - self._since
        self._bar.set_postfix_str(
            f"loss {self._loss / self._updates:.3f}, {self._tokens / seconds:,.0f} tokens/s, "
            f"rate {event.learning_rate:.1e}",
            refresh=False,
        )
        self._bar.update()
        if seconds > _WINDOW:  # halve the weight of earlier updates
            self._since += seconds / 2
            self._tokens, self._loss, self._updates = self._tokens / 2, self._loss / 2, self._updates / 2
