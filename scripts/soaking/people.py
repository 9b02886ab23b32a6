"""People without a browser: each types sentences with words of their own, at a human pace."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from websockets.exceptions import WebSocketException

from scripts.soaking.connection import Connection, PageError

TROUBLE = (OSError, WebSocketException, EOFError)
"""What a visitor meets when a worker is killed; TimeoutError is one of them."""
RETURN_SECONDS = 60.0
"""A browser must be served again in this time after it has lost its connection."""
PAUSE_SECONDS = (4.0, 12.0)
"""Between two things that a person does."""
SENTENCES = (
    "{0} likes the small dog .",
    "yesterday {0} saw a black cat in the garden .",
    "the friend of {0} reads a book because it is good .",
    "my sister and {0} don't want to eat now .",
    "why does {0} sleep ?",
)
_SYLLABLES = ("ba", "de", "fi", "go", "lu", "ma", "ne", "pi", "ro", "su", "ta", "ve", "zi", "ko", "du")
_PAGES = (
    "",
    "decode",
    "step-by-step",
    "why",
    "positions",
    "masks",
    "layer-norm",
    "learn",
    "lab",
    "checkpoint",
    "heads",
)


def names(count: int, rng: random.Random) -> list[str]:
    """Different words that no page has by itself, none of them a part of another."""
    found: dict[str, None] = {}
    while len(found) < count:
        found["x" + "".join(rng.choice(_SYLLABLES) for _ in range(5)) + "q"] = None
    return list(found)


@dataclass
class Findings:
    """What went wrong, and how long people waited; shared by all threads.

    Attributes:
        errors: what no user may see, each once with how often it was seen.
        waits: seconds of each answer.
        returns: seconds from a lost connection to the complete page.
        done: how often each thing was done.
    """

    errors: Counter[str] = field(default_factory=Counter)
    waits: list[float] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)

    def add(self, who: str, error: object) -> None:
        """Record an error and print it at once."""
        line = f"{who}: {error}"
        if not self.errors[line]:
            print(line, flush=True)
        self.errors[line] += 1


class Person(threading.Thread):
    """One of them.

    Args:
        url: the server.
        own: the word in all of this person's sentences.
        others: the words of the others, of which none may be received.
        findings: where to record.
        over: set when the soak ends.
        rng: what this person does.
        checkpoint: files of a model to upload; empty for a person who opens none.
        trains: watches live training runs.
    """

    def __init__(
        self,
        url: str,
        own: str,
        others: Sequence[str],
        findings: Findings,
        over: threading.Event,
        rng: random.Random,
        *,
        checkpoint: Sequence[Path] = (),
        trains: bool = False,
    ) -> None:
        super().__init__(name=own, daemon=True)
        self._url, self._own, self._over, self._rng = url, own, over, rng
        self._others = [other.encode() for other in others]
        self._findings, self._checkpoint, self._trains = findings, checkpoint, trains
        self._connection: Connection | None = None
        self._cookies: dict[str, str] = {}
        self._path, self._query = "", ""
        self._lost_at: float | None = None
        self._has_typed = False

    def run(self) -> None:
        """Visit until the soak is over."""
        while not self._over.is_set():
            try:
                if self._connection is None:
                    self._arrive()
                self._act()
            except PageError as error:
                self._findings.add(self._own, f"on the page {self._path or 'start'}: {error}")
                self._leave(as_new=True)
            except TROUBLE as error:
                self._lose(error)
            except Exception as error:
                self._findings.add(self._own, f"the visitor failed: {error!r}")
                self._leave(as_new=True)
            self._over.wait(self._rng.uniform(*PAUSE_SECONDS) if self._lost_at is None else 0.5)
        self._leave(as_new=True)

    def _arrive(self) -> None:
        """Open the page at its address, as a browser does at first and after a lost connection."""
        connection = Connection(self._url, self._path, self._query, self._cookies)
        try:
            self._see(connection, connection.open())
        except BaseException:
            connection.close()
            raise
        self._connection, self._cookies = connection, connection.cookies
        if self._lost_at is not None:
            self._findings.returns.append(time.monotonic() - self._lost_at)
            self._lost_at = None
            has_box = any(kind == "text_input" and "entence" in label for kind, label in connection.widgets)
            if self._has_typed and has_box and self._own.encode() not in connection.received:
                self._findings.add(
                    self._own, f"the sentence is not on the page {self._path or 'start'} again"
                )

    def _act(self) -> None:
        """Do one thing that a person might do."""
        connection, rng = self._connection, self._rng
        assert connection is not None
        chance = rng.random()
        if chance < 0.05:
            self._findings.done["left and came back"] += 1
            self._leave(as_new=True)
        elif self._trains and chance < 0.5:
            self._train(connection)
        elif self._checkpoint and chance < 0.2:
            self._open_checkpoint(connection)
        elif chance < 0.75:
            self._type(connection)
        else:
            self._go(connection, rng.choice([path for path in _PAGES if path != connection.path]))
            self._findings.done["changed pages"] += 1

    def _go(self, connection: Connection, path: str) -> None:
        self._path = path
        self._see(connection, connection.go(path))

    def _type(self, connection: Connection) -> None:
        label = next(
            (label for kind, label in connection.widgets if kind == "text_input" and "entence" in label), ""
        )
        if not label:
            self._go(connection, "")
            return
        sentence = self._rng.choice(SENTENCES).format(self._own)
        self._see(connection, connection.type(label, sentence))
        self._has_typed = True
        self._findings.done["typed a sentence"] += 1
        if self._own.encode() not in connection.received:
            self._findings.add(self._own, f"the answer on {connection.path or 'start'} lacks the typed word")

    def _open_checkpoint(self, connection: Connection) -> None:
        self._go(connection, "checkpoint")
        self._see(connection, connection.pick("What to look at", "Upload"))
        if ("button", "Close it") in connection.widgets:
            self._see(connection, connection.press("Close it"))
            return
        uploads = connection.upload(self._checkpoint)
        self._see(connection, connection.press("Open it", uploads))
        opened = ("button", "Close it") in connection.widgets
        self._findings.done["opened a checkpoint" if opened else "was refused a checkpoint"] += 1

    def _train(self, connection: Connection) -> None:
        """Start, watch, and at times pause or clear a run."""
        if connection.path != "training":
            self._go(connection, "training")
        offered = [label for kind, label in connection.widgets if kind == "button"]
        for label, chance in (("Start", 1.0), ("Stop and clear", 0.1), ("Pause", 0.1), ("Resume", 0.5)):
            if label in offered and self._rng.random() < chance:
                self._see(connection, connection.press(label))
                self._findings.done[f"pressed {label}"] += 1
                return
        self._see(connection, connection.go("training"))
        self._findings.done["watched a training run"] += 1

    def _see(self, connection: Connection, seconds: float) -> None:
        """Record a complete answer, and look for words of others in it."""
        self._findings.waits.append(seconds)
        self._path, self._query = connection.path, connection.query
        for other in self._others:
            if other in connection.received:
                self._findings.add(self._own, f"received {other.decode()}'s text on the page {self._path}")

    def _lose(self, error: BaseException) -> None:
        now = time.monotonic()
        if self._lost_at is None:
            self._lost_at = now
            self._findings.done["lost a connection"] += 1
        elif now - self._lost_at > RETURN_SECONDS:
            self._findings.add(self._own, f"not served for {RETURN_SECONDS:.0f} s: {error!r}")
            self._lost_at = now
        self._leave(as_new=False)

    def _leave(self, *, as_new: bool) -> None:
        """Close the connection; as new, the browser then forgets everything."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if as_new:
            self._path, self._query, self._cookies, self._has_typed, self._lost_at = "", "", {}, False, None
