"""Sentences for the report of an import: what was passed over, drawn or taken for zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transformer.checkpoints.reading.raw import RawCheckpoint

if TYPE_CHECKING:
    from transformer.checkpoints.importing.mapping import WeightPlan
    from transformer.loaded import GenerationSettings


def notes_on_config(raw: RawCheckpoint) -> tuple[str, ...]:
    """Whether a config.json beside the file was passed over."""
    if not (raw.path.is_file() and raw.path.with_name("config.json").is_file()):
        return ()
    return (
        "The config.json in this file's folder was not read: open the folder, and fewer questions remain.",
    )


def notes_on_generation(settings: GenerationSettings) -> tuple[str, ...]:
    """How the makers generate."""
    notes = []
    if not settings.are_greedy:
        notes.append(
            f"Its makers generate with these settings: {settings}. The page Decode and `translate` start "
            "with them."
        )
    if settings.not_applied:
        notes.append(f"Of its makers' settings these are not applied: {', '.join(settings.not_applied)}.")
    return tuple(notes)


def notes_on_stand_ins(weights: WeightPlan) -> tuple[str, ...]:
    """Which weights the files lack, and what stands in for them."""
    drawn = [name for name, kind in weights.stand_ins.items() if kind == "drawn"]
    zeros = [name for name, kind in weights.stand_ins.items() if kind == "zeros" and not drawn]
    notes = []
    if drawn:
        notes.append(
            f"The files have no numbers for {_listed(drawn)}: they are drawn at random, so "
            "the model's output means nothing; how its layers work can still be seen."
        )
    if zeros:
        notes.append(
            f"The files have no numbers for {_listed(zeros)}: zeros replace them, which adds nothing."
        )
    return tuple(notes)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
