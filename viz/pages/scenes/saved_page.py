"""Scenes as one HTML file with their runs and choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias
from urllib.parse import urlencode

from transformer.decoding.greedy import DecodingStep
from transformer.device import DeviceError
from transformer.errors import CheckpointError, SentenceError
from transformer.model.config import ConfigError
from viz.address import LONGEST
from viz.page_titles import TITLES
from viz.pages.explore.viewed_run import key_in_address, viewed_run
from viz.pages.scenes.session import lack
from viz.pages.shared.attention_view import choice_in_address
from viz.scenes import Scene
from viz.session import MODEL, RunKey, checkpoint_slot, load_model, run_of
from viz.viewer.packed import pack_run
from viz.viewer.page import Heading, PageScene, ShownRun, page_overhead, scenes_page

Report: TypeAlias = Callable[[float, str], object]
"""Called with the share of the work done, from 0 to 1, and the current step."""
_REFUSALS = (CheckpointError, ConfigError, DeviceError, SentenceError)
"""The app's errors whose messages are written for users."""


@dataclass(frozen=True)
class SavedPage:
    """A page of scenes.

    Attributes:
        content: the HTML file.
        n_scenes: number of scenes.
        n_shown: number of scenes that show their picture, in the viewer or as a still.
    """

    content: bytes
    n_scenes: int
    n_shown: int


def make_page(scenes: Sequence[Scene], report: Report, stills: Sequence[str] = ()) -> SavedPage:
    """Make a page of one or more scenes.

    Each run is computed once, however many scenes show it, and only one at a time is in memory. A scene that
    has no picture says why.

    Args:
        scenes: the scenes.
        report: called with the progress.
        stills: by scene, its picture as an untrusted SVG; "" or missing where there is none.
    """
    made: dict[int, PageScene] = {}
    numbers_of: dict[RunKey, list[int]] = {}
    for number, scene in enumerate(scenes):
        still = stills[number] if number < len(stills) and scene.is_still else ""
        if still:
            made[number] = replace(_titled(scene), still=still)
            continue
        key = _run_key(scene)
        if isinstance(key, str):
            made[number] = _without_run(scene, key)
        else:
            numbers_of.setdefault(key, []).append(number)
    for count, (key, numbers) in enumerate(numbers_of.items()):
        own = [scenes[number] for number in numbers]
        made |= zip(numbers, _shown(key, own, count, len(numbers_of), report), strict=True)
    page = scenes_page([made[number] for number in range(len(scenes))])
    return SavedPage(page, len(scenes), sum(bool(scene.shown or scene.still) for scene in made.values()))


def _run_key(scene: Scene) -> RunKey | str:
    """The run of a scene, or the reason why the page can't show one."""
    missing = lack(scene)
    if missing:
        return _because(missing)
    if scene.is_still:
        return f"The page {TITLES[scene.page]} had no picture of it when this file was saved."
    opened = checkpoint_slot().opened
    own = {MODEL: opened.name} if scene.checkpoint and opened is not None else {}
    try:
        return key_in_address({**scene.values, **own})
    except _REFUSALS as error:
        return _because(error)


def _shown(key: RunKey, scenes: Sequence[Scene], count: int, runs: int, report: Report) -> list[PageScene]:
    """The scenes of one run: the run number `count` of `runs`, counted from 0."""
    label = f"Run {count + 1} of {runs}"
    report(count / runs, f"{label} …")

    def on_step(step: DecodingStep, limit: int) -> None:
        report((count + (step.position + 1) / (limit + 1)) / runs, f"{label}: the model is writing …")

    try:
        run = run_of(*key, on_step=on_step)
        viewed = viewed_run(key, run)
        choices = [choice_in_address(scene.values, viewed) for scene in scenes]
        packed = pack_run(viewed, choices, overhead=page_overhead(), runs=runs)
    except _REFUSALS as error:
        return [_without_run(scene, _because(error)) for scene in scenes]
    heading = Heading(key.text, run.translation, load_model(key.choice).name)
    return [
        PageScene(scene.title, TITLES[scene.page], heading, scene.caption, ShownRun(packed, number))
        for number, scene in enumerate(scenes)
    ]


def _because(reason: object) -> str:
    return f"The picture is not in this file. When it was saved, Headlight reported: “{reason}”"


def _without_run(scene: Scene, why: str) -> PageScene:
    """A scene that lists its choices and says how to open it in the app."""
    address = f"{scene.page}?{urlencode(scene.choices, doseq=True)}"
    is_short = len(address) <= LONGEST
    where = "at this address:" if is_short else "from the file of scenes."
    return replace(
        _titled(scene),
        notes=(why, f"To see it, start Headlight and open it {where}"),
        chosen=_chosen(scene),
        address=address if is_short else "",
    )


def _titled(scene: Scene) -> PageScene:
    """A scene with its words and without its picture."""
    heading = Heading(scene.sentence or TITLES[scene.page], "", scene.checkpoint or scene.model)
    return PageScene(scene.title, TITLES[scene.page], heading, scene.caption)


def _chosen(scene: Scene) -> tuple[tuple[str, str], ...]:
    """The choices other than the model and the sentence, with readable names."""
    texts = {name: "\n".join(values) for name, values in scene.choices.items() if any(values)}
    return tuple(
        (name.replace("_", " "), text)
        for name, text in texts.items()
        if name != MODEL and text.replace("\n", " / ") != scene.sentence
    )
