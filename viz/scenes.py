"""Scenes: moments that a user has kept, each an address with a caption, and the file that holds them.

A file may come from anybody: it is read strictly, within limits, and what it lacks or has too much is said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from viz.address import as_typed
from viz.page_titles import TITLES
from viz.saved_data import SavedData, SavedDataError

MOST_SCENES = 100
MOST_CHOICES = 80
LONGEST_CAPTION = 500
"""Characters."""
LONGEST_CHOICES = 20_000
"""Characters of what an address says: a sentence that a model reads is much shorter."""
FILE = "headlight-scenes.json"
"""The name of a file of scenes."""
FILE_KIND = SavedData("scenes", version=1, largest=4_000_000)
"""MOST_SCENES of the largest scenes fit, and nobody waits for more to be read."""
_NAME = re.compile(r"(?!embed)[A-Za-z][\w -]{0,59}")
"""Streamlit's own `embed` and `embed_options`, which would take the page's controls away, are none."""
_LANDMARK = re.compile(r"#?[\w-]{1,120}")
_FARTHEST = 10_000.0
_SUBJECTS = ("text", "numbers")
_SUBJECTS_OF = {"masks": ("batch", "number_batch"), "training": (), "checkpoint": ()}
"""Of each page the choices that say what it is about; of all others `_SUBJECTS`."""

Choices: TypeAlias = Mapping[str, tuple[str, ...]]
"""What an address says, by name; a name may have several values."""
Place: TypeAlias = tuple[str, float]
"""What stood nearest to the upper edge of the window, and how far below it, in rem."""


class SceneError(SavedDataError):
    """Scenes that can't be read or kept; the message says why and what to do."""


@dataclass(frozen=True)
class Scene:
    """A moment that a user has kept.

    Attributes:
        page: its path, one of `TITLES`.
        choices: everything that the address said.
        caption: the user's own sentence about it; "" for none.
        checkpoint: the name of the file or folder that it needs; "" for a model that the picker has anyway.
        place: where the page was scrolled to; None for its beginning.
    """

    page: str
    choices: Choices = field(default_factory=dict)
    caption: str = ""
    checkpoint: str = ""
    place: Place | None = None

    @property
    def model(self) -> str:
        """The model, as the picker has it; "" where the address says none."""
        return self.choices.get("model", ("",))[-1]

    @property
    def said(self) -> dict[str, str]:
        """The last value of each choice: what counts where a name has one value only."""
        return {name: values[-1] for name, values in self.choices.items()}

    @property
    def subject(self) -> str:
        """The sentence that it is about, or several; "" for none. It may be any text."""
        found = (self.choices.get(name, ("",))[-1] for name in _SUBJECTS_OF.get(self.page, _SUBJECTS))
        return " / ".join(next((text for text in found if text.strip()), "").split("\n"))

    @property
    def title(self) -> str:
        """The page, and its subject."""
        return f"{TITLES[self.page]}: {self.subject}" if self.subject else TITLES[self.page]

    def data(self) -> dict[str, Any]:
        """The scene as JSON has it; what is empty is left out."""
        choices = {
            name: values[0] if len(values) == 1 else [*values] for name, values in self.choices.items()
        }
        optional = {"caption": self.caption, "checkpoint": self.checkpoint, "place": self.place}
        return {"page": self.page, "choices": choices} | {
            name: [*value] if isinstance(value, tuple) else value for name, value in optional.items() if value
        }


def read_scenes(content: bytes) -> list[Scene]:
    """Read a file of scenes.

    Raises:
        SavedDataError: for what is none.
    """
    return scenes_of(FILE_KIND.read(content).get("scenes"))


def scenes_of(value: object) -> list[Scene]:
    """Take a JSON value, from anybody, as scenes.

    Raises:
        SceneError: naming the scene that is wrong, and what is wrong with it.
    """
    if not isinstance(value, list):
        raise SceneError("The scenes are not a list. Choose a file that Headlight has saved.")
    if len(value) > MOST_SCENES:
        raise SceneError(
            f"These are {len(value):,} scenes; Headlight keeps at most {MOST_SCENES}. Remove some."
        )
    scenes = []
    for number, each in enumerate(value, start=1):
        try:
            scenes.append(scene_of(each))
        except SceneError as error:
            raise SceneError(f"Scene {number}: {error}") from error
    return scenes


def scene_of(value: object) -> Scene:
    """Take a JSON value, from anybody, as a scene.

    Raises:
        SceneError: says what is wrong with it.
    """
    if not isinstance(value, dict):
        raise SceneError("it is not an object with a page and choices.")
    unknown = value.keys() - Scene.__dataclass_fields__.keys()
    if unknown:
        raise SceneError(f"it has {_shown(min(unknown))}, which no scene has.")
    page = value.get("page")
    if not isinstance(page, str) or page not in TITLES:
        raise SceneError(f"Headlight has no page {_shown(page)}.")
    return Scene(
        page,
        _choices(value.get("choices", {})),
        _text(value.get("caption", ""), "caption", LONGEST_CAPTION),
        _text(value.get("checkpoint", ""), "checkpoint", LONGEST_CAPTION),
        _place(value.get("place")),
    )


def _choices(value: object) -> Choices:
    if not isinstance(value, dict) or len(value) > MOST_CHOICES:
        raise SceneError(f"its choices are not an object of at most {MOST_CHOICES} texts.")
    choices = {}
    for name, given in value.items():
        values = given if isinstance(given, list) else [given]
        if not _NAME.fullmatch(name) or not values or not all(isinstance(each, str) for each in values):
            raise SceneError(f"its choice {_shown(name)} is not a text.")
        choices[name] = tuple(as_typed(each) for each in values)
    length = sum(len(text) for values in choices.values() for text in values)
    if length > LONGEST_CHOICES:
        raise SceneError(
            f"its sentence and choices have {length:,} characters; a scene has room for "
            f"{LONGEST_CHOICES:,}. Shorten the sentence."
        )
    return choices


def _text(value: object, name: str, longest: int) -> str:
    if not isinstance(value, str):
        raise SceneError(f"its {name} is not a text.")
    if len(value) > longest:
        raise SceneError(
            f"its {name} has {len(value):,} characters; there is room for {longest}. Shorten it."
        )
    return as_typed(value)


def _place(value: object) -> Place | None:
    match value:
        case None:
            return None
        case [str(landmark), int() | float() as offset] if _LANDMARK.fullmatch(landmark):
            if not isinstance(offset, bool) and abs(offset) <= _FARTHEST:
                return landmark, float(offset)
    raise SceneError("its place on the page is not a name and a distance.")


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else type(value).__name__
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
