"""Scenes: views that a user has saved, each an address with a caption; and the file of scenes.

A file may come from anyone: it is validated strictly, limited in size, and refused with a reason.
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
"""In characters."""
LONGEST_CHOICES = 20_000
"""Characters of all choices together; sentences that a model can read are much shorter."""
FILE = "headlight-scenes.json"
"""The default name of a file of scenes."""
FILE_KIND = SavedData("scenes", version=2, largest=4_000_000)
"""Fits MOST_SCENES of the largest size, and can be read quickly."""
_NAME = re.compile(r"(?!embed)[A-Za-z][\w -]{0,59}")
"""Excludes Streamlit's own `embed` and `embed_options`, which would remove the page's controls."""
_LANDMARK = re.compile(r"#?[\w-]{1,120}")
PICTURES: Mapping[str, str] = {
    "explore": "viewer",
    "learn": "lesson_step",
    "step-by-step": "token_path",
    "lab": "lab_outputs",
    "decode": "beam_tree",
    "positions": "pe_curves",
    "masks": "masks",
    "layer-norm": "norm_statistics",
    "checkpoint": "architecture",
    "heads": "heads_scatter",
}
"""By page, the key of the element that a scene shows; on other pages it shows the first picture."""
_SENTENCES = ("text", "numbers")
_SENTENCES_OF = {"masks": ("batch", "number_batch"), "training": (), "checkpoint": ()}
"""By page, the choices that contain its sentence; for all other pages, `_SENTENCES`."""

Choices: TypeAlias = Mapping[str, tuple[str, ...]]
"""The values in an address by name; a name may have several."""


class SceneError(SavedDataError):
    """Scenes that can't be read or saved; the message says why and what to do."""


@dataclass(frozen=True)
class Scene:
    """A view that a user has saved.

    Attributes:
        page: its path, one of `TITLES`.
        choices: every value in the address.
        caption: the user's own sentence about it; "" for none.
        checkpoint: label of the opened file or folder that it needs; "" for a model of the picker.
        place: the key of the picture that it shows; "" for the page's own. In files of version 1 any key
            or, after a "#", heading: it stands for the picture that follows.
    """

    page: str
    choices: Choices = field(default_factory=dict)
    caption: str = ""
    checkpoint: str = ""
    place: str = ""

    @property
    def model(self) -> str:
        """The model's name in the picker; "" if the address has none."""
        return self.choices.get("model", ("",))[-1]

    @property
    def values(self) -> dict[str, str]:
        """The last value of each choice, which applies where a name can have only one."""
        return {name: values[-1] for name, values in self.choices.items()}

    @property
    def sentence(self) -> str:
        """The scene's sentence, or several joined; "" for none. It may be any text."""
        found = (self.choices.get(name, ("",))[-1] for name in _SENTENCES_OF.get(self.page, _SENTENCES))
        return " / ".join(next((text for text in found if text.strip()), "").split("\n"))

    @property
    def title(self) -> str:
        """The page's title, with the sentence if there is one."""
        return f"{TITLES[self.page]}: {self.sentence}" if self.sentence else TITLES[self.page]

    @property
    def pictures(self) -> tuple[str, ...]:
        """The keys of the picture that it shows, in order of preference."""
        return tuple(filter(None, (self.place, PICTURES.get(self.page))))

    @property
    def is_still(self) -> bool:
        """True if a saved page shows a still of its picture; False if it has the viewer with the run."""
        return self.page != "explore" or self.pictures[0] != PICTURES["explore"]

    def data(self) -> dict[str, Any]:
        """The scene as JSON, without empty values."""
        choices = {
            name: values[0] if len(values) == 1 else [*values] for name, values in self.choices.items()
        }
        optional = {"caption": self.caption, "checkpoint": self.checkpoint, "place": self.place}
        return {"page": self.page, "choices": choices} | {
            name: value for name, value in optional.items() if value
        }


def read_scenes(content: bytes) -> list[Scene]:
    """Read a file of scenes.

    Raises:
        SavedDataError: the content is not a valid file of scenes.
    """
    return scenes_of(FILE_KIND.read(content).get("scenes"))


def scenes_of(value: object) -> list[Scene]:
    """Parse an untrusted JSON value as scenes.

    Raises:
        SceneError: a scene is invalid; the message names the first one and the reason.
    """
    if not isinstance(value, list):
        raise SceneError("The scenes are not a list. Choose a file that Headlight has saved.")
    if len(value) > MOST_SCENES:
        raise SceneError(
            f"There are {len(value):,} scenes; Headlight keeps at most {MOST_SCENES}. Remove some."
        )
    scenes = []
    for number, each in enumerate(value, start=1):
        try:
            scenes.append(scene_of(each))
        except SceneError as error:
            raise SceneError(f"Scene {number}: {error}") from error
    return scenes


def scene_of(value: object) -> Scene:
    """Parse an untrusted JSON value as a scene.

    Raises:
        SceneError: it is invalid; the message says why.
    """
    if not isinstance(value, dict):
        raise SceneError("it is not an object with a page and choices.")
    unknown = value.keys() - Scene.__dataclass_fields__.keys()
    if unknown:
        raise SceneError(f"{_shown(min(unknown))} is not a property of a scene.")
    page = value.get("page")
    if not isinstance(page, str) or page not in TITLES:
        raise SceneError(f"Headlight has no page {_shown(page)}.")
    return Scene(
        page,
        _choices(value.get("choices", {})),
        _text(value.get("caption", ""), "caption", LONGEST_CAPTION),
        _text(value.get("checkpoint", ""), "checkpoint", LONGEST_CAPTION),
        _place(value.get("place", "")),
    )


def _choices(value: object) -> Choices:
    if not isinstance(value, dict) or len(value) > MOST_CHOICES:
        raise SceneError(f"its choices are not an object of at most {MOST_CHOICES} texts.")
    choices = {}
    for name, given in value.items():
        values = given if isinstance(given, list) else [given]
        if not _NAME.fullmatch(name) or not values or not all(isinstance(each, str) for each in values):
            raise SceneError(f"its choice {_shown(name)} is not text.")
        choices[name] = tuple(as_typed(each) for each in values)
    length = sum(len(text) for values in choices.values() for text in values)
    if length > LONGEST_CHOICES:
        raise SceneError(
            f"its sentence and choices have {length:,} characters, and at most {LONGEST_CHOICES:,} are "
            "allowed. Shorten the sentence."
        )
    return choices


def _text(value: object, name: str, longest: int) -> str:
    if not isinstance(value, str):
        raise SceneError(f"its {name} is not text.")
    if len(value) > longest:
        raise SceneError(
            f"its {name} has {len(value):,} characters, and at most {longest} are allowed. Shorten it."
        )
    return as_typed(value)


def _place(value: object) -> str:
    match value:
        case "" | None:
            return ""
        case str(name) | [str(name), int() | float()] if _LANDMARK.fullmatch(name):
            return name  # version 1 has its distance from the top of the window too
    raise SceneError("its place on the page is not a name.")


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else type(value).__name__
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
