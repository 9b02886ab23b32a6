"""Runs as one HTML file that opens from disk, without a server or a network.

A page contains one run, or several scenes to step through, with the runs that they show.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from string import Template

from viz.figures.labels import visible_in_full
from viz.theme import PALETTES, Theme
from viz.viewer.choice import Choice
from viz.viewer.packed import PackedRun, pack_run
from viz.viewer.viewer_run import ViewerRun

SAVED = "Saved from Headlight. This file needs no network and sends nothing."
LONGEST_TITLE, LONGEST_NAME = 60, 40
"""Most characters of the sentence in the page's title, and in its file name."""
LARGE = 120
"""Characters up to which a sentence is set in large type."""
_NOT_ASCII = re.compile("[^\x00-\x7f]")
_STILL_WIDTH = re.compile(r'<svg [^>]*?\bwidth="(\d{1,5})"')
KEYS = (
    "The arrow keys right and left, or Page Down and Page Up, go from scene to scene, Home and End to the "
    "first and the last one. F is the full screen and back."
)
_PAGE_COLORS = ("background", "surface", "text", "muted", "grid", "accent", "warning")
_AROUND = 10_000
"""Bytes of a page without its script and numbers, with room for the tokens of a long run."""


@dataclass(frozen=True)
class Heading:
    """The heading of a run.

    Attributes:
        sentence: the sentence, as typed.
        translation: the output; "" if the model generates nothing.
        model: its name.
    """

    sentence: str
    translation: str
    model: str


@dataclass(frozen=True)
class ShownRun:
    """A packed run, and the index of the choice with which it is shown."""

    run: PackedRun
    number: int = 0


@dataclass(frozen=True)
class PageScene:
    """A scene of a page. All texts are untrusted: they are shown literally.

    Attributes:
        title: its name.
        page: the title of the app's page that it was saved from.
        heading: heading of its run.
        caption: the user's own sentence; "" for none.
        shown: its run, if it has one.
        notes: sentences shown in place of a picture.
        chosen: names and values of what was chosen, shown in place of a picture.
        address: address of the scene in the app; "" for none.
        still: a picture shown in place of a run, as an SVG. The page has it as an image, in which a browser
            runs and loads nothing.
    """

    title: str
    page: str
    heading: Heading
    caption: str = ""
    shown: ShownRun | None = None
    notes: tuple[str, ...] = ()
    chosen: tuple[tuple[str, str], ...] = ()
    address: str = ""
    still: str = ""


def page(run: ViewerRun, choice: Choice, heading: Heading, *, everything: bool = False) -> bytes:
    """Make the page of a run.

    Args:
        run: the run.
        choice: what is shown first, and stored most completely.
        heading: heading of the run. All texts are untrusted: they are shown literally.
        everything: store all numbers exactly, whatever the size.
    """
    packed = pack_run(run, [choice], overhead=page_overhead(), everything=everything)
    return _page([PageScene("", "", heading, shown=ShownRun(packed))], heading.sentence)


def scenes_page(scenes: Sequence[PageScene]) -> bytes:
    """Make a page of one or more scenes, in order; scenes of the same run share it."""
    return _page(scenes, scenes[0].caption or scenes[0].title)


def page_overhead() -> int:
    """Bytes of a page without its runs."""
    return len(_script().encode()) + _AROUND


def file_name(sentence: str) -> str:
    """A file name made of the first words of a sentence: letters of any script, digits, dashes.

    The name is never a path, a command-line option or a device name, on any system.
    """
    words = "".join(character if character.isalnum() else " " for character in visible_in_full(sentence))
    name = "-".join(_cut(words.lower(), LONGEST_NAME).rstrip("…").split())
    return f"headlight-{name or 'view'}.html"


def _page(scenes: Sequence[PageScene], title: str) -> bytes:
    """Make a page that runs only its own script and loads nothing else."""
    script = _script()
    runs = list(dict.fromkeys(scene.shown.run for scene in scenes if scene.shown))
    sections = [_section(scene, runs, is_first=scene is scenes[0]) for scene in scenes]
    text = Template(_file("page.html")).substitute(
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        title=escape(f"{_cut(visible_in_full(title), LONGEST_TITLE)} · Headlight"),
        light=_page_colors(PALETTES["light"]),
        dark=_page_colors(PALETTES["dark"]),
        sections="\n".join(sections),
        notes=_paragraphs([SAVED, KEYS] if scenes[0].title else [SAVED]),
        runs="\n".join(_block("run", run.data) for run in runs),
        script=script,
    )
    return text.encode()


def _section(scene: PageScene, runs: Sequence[PackedRun], *, is_first: bool) -> str:
    heading, shown = scene.heading, scene.shown
    title, sentence = _text(scene.title), visible_in_full(heading.sentence)
    about = [scene.page, _text(heading.model), shown.run.sizes if shown else ""]
    return Template(_file("section.html")).substitute(
        attributes=(f' class="scene" aria-label="{title}"' if title else "")
        + ("" if is_first else " hidden"),
        caption=f'<p class="caption">{_text(scene.caption)}</p>\n' if scene.caption else "",
        size="large" if len(sentence) <= LARGE else "long",
        sentence=escape(sentence),
        translation=_translation(heading),
        about=" · ".join(filter(None, about)),
        body=_body(scene, runs),
    )


def _body(scene: PageScene, runs: Sequence[PackedRun]) -> str:
    if scene.shown is not None:
        return _with_run(scene.shown, runs.index(scene.shown.run))
    if not scene.still:
        return _without_run(scene)
    # No smaller than 0.6 of its size, or it would not be legible: then it scrolls.
    width = _STILL_WIDTH.search(scene.still)
    least = f' style="min-width: {round(0.6 * int(width[1]))}px"' if width else ""
    data = base64.b64encode(scene.still.encode("utf-8", "replace")).decode()
    source = f"data:image/svg+xml;base64,{data}"
    return f'<div class="wide"><img class="still" alt="{_text(scene.title)}" src="{source}"{least}></div>'


def _with_run(shown: ShownRun, number: int) -> str:
    return (
        f'<div class="viewer" data-run="{number}"></div>\n'
        f'<div class="notes">\n{_paragraphs(shown.run.notes)}\n</div>\n'
        f"{_block('choice', shown.run.choices[shown.number])}"
    )


def _without_run(scene: PageScene) -> str:
    rows = (f"<div><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>" for name, value in scene.chosen)
    chosen = f"<dl>\n{chr(10).join(rows)}\n</dl>\n" if scene.chosen else ""
    address = f'<p class="address"><code>{_text(scene.address)}</code></p>\n' if scene.address else ""
    return f'<div class="absent">\n{chosen}{_paragraphs(scene.notes)}\n{address}</div>'


def _translation(heading: Heading) -> str:
    if heading.translation in ("", heading.sentence):
        return ""
    return f'<p class="translation">{_text(heading.translation)}</p>\n'


def _block(name: str, content: str) -> str:
    """A block of data for the script, in base64."""
    return f'<script type="text/plain" class="{name}">{content}</script>'


def _paragraphs(sentences: Sequence[str]) -> str:
    return "\n".join(f"<p>{_text(sentence)}</p>" for sentence in sentences)


def _text(text: str) -> str:
    """Write a text as HTML that shows it literally, line by line."""
    lines = (visible_in_full(line) if line else "" for line in text.replace("\r\n", "\n").split("\n"))
    return escape("\n".join(lines))


def _page_colors(theme: Theme) -> str:
    return " ".join(f"--hl-{name}: {getattr(theme, name)};" for name in _PAGE_COLORS)


def _cut(text: str, longest: int) -> str:
    """Cut a text, between words if possible."""
    if len(text) <= longest:
        return text
    head, _, _ = text[: longest + 1].rpartition(" ")
    return f"{head.rstrip() or text[:longest]}…"


@cache
def _script() -> str:
    """The built script in ASCII, so that its digest is the same in a file of any encoding.

    Raises:
        ValueError: the script contains text that would end its own element.
    """
    script = (files("headlight") / "browser" / "attention_page.js").read_text(encoding="utf-8")
    if "</script" in script.lower() or "<!--" in script:
        raise ValueError("attention_page.js can't be put into a page: it would end its own element.")
    return _NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], script)


@cache
def _file(name: str) -> str:
    return (files("viz.viewer") / name).read_text(encoding="utf-8")
