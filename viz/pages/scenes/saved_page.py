"""Scenes as one HTML file: what each of them has in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlencode

from transformer.decoding.greedy import DecodingStep
from transformer.device import DeviceError
from transformer.errors import CheckpointError, SentenceError
from transformer.model.config import ConfigError
from viz.address import LONGEST
from viz.page_titles import TITLES
from viz.pages.explore.asked import Asked, asked_said, held_run
from viz.pages.scenes.session import lack
from viz.pages.shared.attention_view import choice_said
from viz.scenes import Scene
from viz.session import MODEL, checkpoint_slot, load_model, run_of
from viz.viewer.packed import pack_run
from viz.viewer.page import Heading, PageScene, ShownRun, page_overhead, scenes_page

Tell: TypeAlias = Callable[[float, str], object]
"""Is told how much of the work is done, from 0 to 1, and what is being done."""
_EXPLORE = "explore"
_REFUSALS = (CheckpointError, ConfigError, DeviceError, SentenceError)
"""What the pages of the app refuse, in words for users."""


@dataclass(frozen=True)
class SavedPage:
    """A page of scenes.

    Attributes:
        content: of the file.
        n_scenes: all of them.
        n_shown: those with the viewer of their run.
    """

    content: bytes
    n_scenes: int
    n_shown: int


def make_page(scenes: Sequence[Scene], tell: Tell) -> SavedPage:
    """Make a page of one or more scenes.

    A run is made once, however many scenes show it, and only one at a time is held. A scene whose run can't
    be made says why.
    """
    made: dict[int, PageScene] = {}
    numbers_of: dict[Asked, list[int]] = {}
    for number, scene in enumerate(scenes):
        asked = _asked(scene)
        if isinstance(asked, str):
            made[number] = _without_run(scene, asked)
        else:
            numbers_of.setdefault(asked, []).append(number)
    for count, (asked, numbers) in enumerate(numbers_of.items()):
        own = [scenes[number] for number in numbers]
        made |= zip(numbers, _shown(asked, own, count, len(numbers_of), tell), strict=True)
    page = scenes_page([made[number] for number in range(len(scenes))])
    return SavedPage(page, len(scenes), sum(scene.shown is not None for scene in made.values()))


def _asked(scene: Scene) -> Asked | str:
    """What a scene asks for, or why there is no run of it."""
    if scene.page != _EXPLORE:
        return f"This is a moment on the page {TITLES[scene.page]}, whose pictures need the app."
    missing = lack(scene)
    if missing:
        return _because(missing)
    opened = checkpoint_slot().opened
    own = {MODEL: opened.name} if scene.checkpoint and opened is not None else {}
    try:
        return asked_said({**scene.said, **own})
    except _REFUSALS as error:
        return _because(error)


def _shown(asked: Asked, scenes: Sequence[Scene], count: int, runs: int, tell: Tell) -> list[PageScene]:
    """Scenes of one run, which is the run number `count` of so many."""
    label = f"Run {count + 1} of {runs}"
    tell(count / runs, f"{label} …")

    def on_step(step: DecodingStep, limit: int) -> None:
        tell((count + (step.position + 1) / (limit + 1)) / runs, f"{label}: the model is writing …")

    try:
        run = run_of(*asked, on_step=on_step)
        held = held_run(asked, run)
        packed = pack_run(
            held, [choice_said(scene.said, held) for scene in scenes], overhead=page_overhead(), runs=runs
        )
    except _REFUSALS as error:
        return [_without_run(scene, _because(error)) for scene in scenes]
    heading = Heading(asked.text, run.translation, load_model(asked.choice).name)
    return [
        PageScene(scene.title, TITLES[scene.page], heading, scene.caption, ShownRun(packed, number))
        for number, scene in enumerate(scenes)
    ]


def _because(reason: object) -> str:
    return f"The attention is not in this file. When it was saved, Headlight said: “{reason}”"


def _without_run(scene: Scene, why: str) -> PageScene:
    """A scene that says what was chosen, and where to find it in the app."""
    address = f"{scene.page}?{urlencode(scene.choices, doseq=True)}"
    is_short = len(address) <= LONGEST
    where = "at this address of the app:" if is_short else "from the file of scenes."
    return PageScene(
        scene.title,
        TITLES[scene.page],
        Heading(scene.subject or TITLES[scene.page], "", scene.checkpoint or scene.model),
        scene.caption,
        notes=(why, f"To see it, start Headlight and open it {where}"),
        chosen=_chosen(scene),
        address=address if is_short else "",
    )


def _chosen(scene: Scene) -> tuple[tuple[str, str], ...]:
    """What the address says beside the model and the subject, by readable names."""
    told = {name: "\n".join(values) for name, values in scene.choices.items() if any(values)}
    return tuple(
        (name.replace("_", " "), text)
        for name, text in told.items()
        if name != MODEL and text.replace("\n", " / ") != scene.subject
    )
