"""A reader's progress: steps read, questions answered, and the small file that saves both.

A file may come from anyone, so it is validated strictly and limited in size. It does not say which answers
are right: that is computed from the run when an answer is shown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from viz.address import as_typed
from viz.pages.learn.lessons.format.questions import Answer
from viz.saved_data import SavedData, SavedDataError

FILE = "headlight-answers.json"
"""The default name of a file of answers."""
FILE_KIND = SavedData("answers", version=1, largest=1_000_000)
MOST = 2_000
"""Most answers, and most steps, in one file."""
LONGEST = 10_000
"""Most characters in a name or sentence."""


@dataclass(frozen=True)
class Given:
    """A reader's prediction.

    Attributes:
        model, text: the model and sentence it is about.
        answer: what was predicted.
    """

    model: str
    text: str
    answer: Answer


@dataclass
class Progress:
    """What one reader has read and answered.

    Attributes:
        answers: the last prediction for each (lesson, question).
        read: the steps seen, as (lesson, step index).
    """

    answers: dict[tuple[str, str], Given] = field(default_factory=dict)
    read: set[tuple[str, int]] = field(default_factory=set)

    def take(self, other: Progress) -> None:
        """Merge in other progress; its answers replace earlier ones."""
        self.answers |= other.answers
        self.read |= other.read


def write_progress(progress: Progress) -> bytes:
    """Serialise progress as JSON."""
    answers = [
        {
            "lesson": lesson,
            "question": question,
            "model": given.model,
            "sentence": given.text,
            "answer": given.answer,
        }
        for (lesson, question), given in progress.answers.items()
    ]
    read = [[lesson, step] for lesson, step in sorted(progress.read)]
    return json.dumps(
        FILE_KIND.head | {"answers": answers, "read": read}, ensure_ascii=False, indent=1
    ).encode()


def read_progress(content: bytes) -> Progress:
    """Read a file of answers.

    Raises:
        SavedDataError: if it is anything else.
    """
    value = FILE_KIND.read(content)
    return Progress(
        {
            (_text(entry, "lesson"), _text(entry, "question")): Given(
                _text(entry, "model"), _text(entry, "sentence"), _answer(entry.get("answer"))
            )
            for entry in _entries(value, "answers", dict)
        },
        {_step(entry) for entry in _entries(value, "read", list)},
    )


def _entries(value: Mapping[str, Any], name: str, kind: type) -> list[Any]:
    entries = value.get(name)
    if not isinstance(entries, list) or not all(isinstance(entry, kind) for entry in entries):
        raise _damaged(name)
    if len(entries) > MOST:
        raise SavedDataError(f"The file has {len(entries):,} {name}; there can be at most {MOST:,}.")
    return entries


def _text(entry: Mapping[str, Any], name: str) -> str:
    text = entry.get(name)
    if not isinstance(text, str) or len(text) > LONGEST:
        raise _damaged(name)
    return as_typed(text)


def _answer(value: object) -> Answer:
    """Check an answer's type; whether the question accepts it is checked when it is shown."""
    if type(value) is int or type(value) is float:
        return value
    if isinstance(value, list) and len(value) == 2 and all(type(part) is int for part in value):
        return value
    raise _damaged("answer")


def _step(entry: list[Any]) -> tuple[str, int]:
    if len(entry) == 2 and isinstance(entry[0], str) and type(entry[1]) is int and len(entry[0]) <= LONGEST:
        return as_typed(entry[0]), entry[1]
    raise _damaged("read")


def _damaged(name: str) -> SavedDataError:
    return SavedDataError(
        f"The file has been changed or damaged: {name!r} is missing or not what it should be. Choose another."
    )
