"""The small JSON files that users save: scenes, and answers to lessons. A file may come from anyone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


class SavedDataError(ValueError):
    """A file that can't be read; the message says why and what to do."""


@dataclass(frozen=True)
class SavedData:
    """One kind of file.

    Attributes:
        what: the content as messages and the file itself name it, such as "scenes".
        version: version of the format; files of earlier ones, which began at 1, are read too.
        largest: bytes of the largest file that is read.
    """

    what: str
    version: int
    largest: int

    @property
    def head(self) -> dict[str, Any]:
        """The fields that identify the file, which precede its content."""
        return {"kind": f"headlight {self.what}", "version": self.version}

    def read(self, content: bytes) -> dict[str, Any]:
        """Parse a file of this kind.

        Raises:
            SavedDataError: the content is not such a file.
        """
        if len(content) > self.largest:
            raise SavedDataError(
                f"The file has {len(content):,} bytes; at most {self.largest:,} are read. "
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
        if value.get("version") not in range(1, self.version + 1):
            raise SavedDataError(
                f"The file was saved by another version of Headlight, whose {self.what} this one can't read."
            )
        return value
