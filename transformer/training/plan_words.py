"""Choices of a training in words: what changed, and the command that makes them again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from transformer.training.plan import PlanError, TrainingPlan, option

_FIXED_GROUPS = ("data", "filters", "model")
_FIXED = ("updates.batch_tokens", "updates.seed")
_FREE = ("data.pairs",)
"""The files may have been moved: whether they hold the same pairs is told by their contents."""


def changes(old: TrainingPlan, new: TrainingPlan) -> list[str]:
    """What a training that goes on will do otherwise than it began, in words.

    Raises:
        PlanError: for a change of the model or of the order of the data: that is another training.
    """
    return [f"{name} was {was} and is {now} from here on." for name, was, now in changed(old, new)]


def changed(old: TrainingPlan, new: TrainingPlan) -> list[tuple[str, str, str]]:
    """The options that are not as they were, as they were and as they are; raises as `changes` does."""
    found = []
    for (name, before), (_, now) in zip(_settled(old), _settled(new), strict=True):
        if before == now:
            continue
        is_fixed = name in _FIXED or name.partition(".")[0] in _FIXED_GROUPS
        if is_fixed and name not in _FREE:
            raise PlanError(
                f"{option(name)} was {_shown(before)} when this training began: with {_shown(now)} it would "
                "be another one. Leave the option out to go on, or begin anew in another folder."
            )
        found.append((option(name), _shown(before), _shown(now)))
    return found


def _settled(plan: TrainingPlan) -> Iterator[tuple[str, Any]]:
    """Every choice by name, a size that was left to the preset as the preset has it."""
    config = plan.model.config(src_vocab_size=1, tgt_vocab_size=1)
    for name, value in plan.choices():
        group, _, size = name.partition(".")
        yield name, getattr(config, size) if group == "model" and value is None else value


def _shown(value: Any) -> str:
    if value in (None, ()):
        return "not given"
    return " ".join(map(_shown, value)) if isinstance(value, tuple) else str(value)


def options(plan: TrainingPlan) -> str:
    """Spell the choices that are not those that are made when nothing is said, as options for a shell."""
    words: list[str] = []
    for (name, value), (_, usual) in zip(plan.choices(), TrainingPlan().choices(), strict=True):
        if value == usual:
            continue
        if isinstance(value, bool):
            words.append(option(name) if value else option(name).replace("--", "--no-", 1))
        elif value and isinstance(value, tuple) and isinstance(value[0], tuple):
            for files in value:
                words += [option(name), *map(str, files)]
        else:
            words += [option(name), *map(str, value if isinstance(value, tuple) else (value,))]
    return shlex.join(words)
