"""The small JSON files that users keep: scenes, and answers to lessons. One may come from anybody."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


class SavedDataError(ValueError):
    """What can't be read; the message says why and what to do."""


@dataclass(frozen=True)
class SavedData:
    """One kind of file.

    Attributes:
        what: it holds, as messages say it: "scenes". The file says so of itself, with the version.
        version: of its form.
        largest: bytes of the largest that is read.
    """

    what: str
    version: int
    largest: int

    @property
    def head(self) -> dict[str, Any]:
        """What a file says of itself, beside what it holds."""
        return {"kind": f"headlight {self.what}", "version": self.version}

    def read(self, content: bytes) -> dict[str, Any]:
        """Everything that a file of this kind says.

        Raises:
            SavedDataError: for what is none.
        """
        if len(content) > self.largest:
            raise SavedDataError(
                f"The file has {len(content):,} bytes; a file of {self.what} has at most {self.largest:,}. "
                "Choose a file that Headlight has saved."
            )
        try:
            value = json.loads(content.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise SavedDataError("The file is not JSON. Choose a file that Headlight has saved.") from error
        if not isinstance(value, dict) or value.get("kind") != self.head["kind"]:
            raise SavedDataError(
                f"The file holds no {self.what}. Choose a file that Headlight has saved as {self.what}."
            )
        if value.get("version") != self.version:
            raise SavedDataError(
                f"The file was saved by another version of Headlight, whose {self.what} this one can't read."
            )
        return value
