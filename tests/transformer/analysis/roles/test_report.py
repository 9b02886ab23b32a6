"""Reports are read back as written, and anything else is refused with a message."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.models import tiny_model
from tests.transformer.analysis.roles.test_roles import PAIRS
from transformer.analysis.roles.analysis import analyze
from transformer.analysis.roles.report import LARGEST_FILE, HeadReport, ReportError


@pytest.fixture(scope="module")
def content() -> bytes:
    return json.dumps(analyze(tiny_model(), PAIRS).to_dict()).encode()


def test_a_report_is_read_as_it_was_written(content: bytes) -> None:
    assert HeadReport.from_json(content) == analyze(tiny_model(), PAIRS)


@pytest.mark.parametrize(
    "broken, message",
    [
        (b"\x00", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not the result of an analysis"),
        (b'{"format": "headlight heads", "version": 99}', "another version"),
        (b'{"format": "headlight heads", "version": 1}', "damaged"),
        (b" " * (LARGEST_FILE + 1), "larger than"),
    ],
)
def test_other_files_are_refused(broken: bytes, message: str) -> None:
    with pytest.raises(ReportError, match=message):
        HeadReport.from_json(broken)


@pytest.mark.parametrize(
    "path, value",
    [
        (("heads",), []),
        (("heads", 0, "attention"), "mine"),
        (("heads", 0, "attention"), ["encoder"]),
        (("heads", 0, "layer"), -1),
        (("heads", 0, "head"), 1),
        (("heads", 0, "learned"), ["x" * 300]),
        (("heads", 0, "weights"), [0.5]),
        (("heads", 0, "scores", "previous", "score"), float("nan")),
        (("heads", 0, "scores", "previous", "low"), "0.5"),
        (("heads", 0, "scores", "previous", "examples", 0, 0), 10**6),
        (("heads", 0, "scores", "previous", "examples", 0), []),
        (("texts",), {"a": 1}),
        (("model",), 3),
        (("seed",), True),
        (("chances",), None),
        (("row_lengths", "encoder"), [10**400]),
    ],
)
def test_every_value_is_checked(path: tuple[Any, ...], value: object, content: bytes) -> None:
    values = json.loads(content)
    place = values
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    with pytest.raises(ReportError, match="damaged"):
        HeadReport.from_json(json.dumps(values).encode())
