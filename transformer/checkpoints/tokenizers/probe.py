"""Tries a tokenizer's files in a separate process before native libraries parse them in this one.

`python -m transformer.checkpoints.tokenizers.probe` reads {"family": ..., "texts": {name: {"text" or
"base64": ...}}} from standard input, builds the tokenizer and splits a few texts with it, under limits on
memory and time, and writes {"refused": null or a sentence}. A crash there does no harm.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from transformer.checkpoints.reading.limits import limit_process
from transformer.checkpoints.reading.raw import Texts, from_plain_texts, json_object, to_plain_texts
from transformer.checkpoints.tokenizers.building import TOKENIZER_FILES, build
from transformer.checkpoints.tokenizers.library import ORDINARY, LibraryTokenizer
from transformer.checkpoints.tokenizers.marian import MarianSide
from transformer.checkpoints.tokenizers.tokenizer_json import patterns_of
from transformer.errors import CheckpointError
from transformer.files import CODE

_MOST_GROWTH = 20
"""Most characters that one character may be normalized to; Unicode's own maximum is 18 (U+FDFA)."""
_LITERAL = re.compile(r"[^\\^$.|?*+()\[\]{}]+")
_RUN = 40
_MOST_RUNS = 500

SAMPLES = (
    "",
    " ",
    "The cat isn't here: 3.14 €, naïve café.",
    "  two  spaces\tand\na line\r\n",
    "你好，世界 🦝👩‍👩‍👧 e\u0301 עברית \u2581x\u200b\u0007\ufffd",
    *(character * 300 + "!\x00" for character in "a 1.A\n\u2581"),
    "aA1 .," * 60,
    *ORDINARY,
)
"""Ordinary and odd texts, and long runs, on which a bad pattern would take forever."""


@dataclass(frozen=True)
class ProbeLimits:
    """Limits of the separate process.

    Attributes:
        memory_bytes: largest address space.
        seconds: wall-clock time.
    """

    memory_bytes: int = 2 * 2**30
    seconds: float = 60.0


def probe(texts: Texts, family: str, limits: ProbeLimits | None = None) -> None:
    """Try a folder's tokenizer files in a separate process.

    Args:
        texts: the folder's small files; only the tokenizer's are used.
        family: the model's family.
        limits: limits other than the default ones.

    Raises:
        CheckpointError: when the files are refused, or the process crashes or exceeds its limits.
    """
    limits = limits or ProbeLimits()
    files = to_plain_texts({name: texts[name] for name in TOKENIZER_FILES if name in texts})
    task = {"family": family, "texts": files, "memory_bytes": limits.memory_bytes, "seconds": limits.seconds}
    environment = {"PATH": os.defpath, "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    if "SYSTEMROOT" in os.environ:  # Python can't start without it on Windows
        environment["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
    try:
        done = subprocess.run(
            [sys.executable, "-s", "-m", "transformer.checkpoints.tokenizers.probe"],
            input=json.dumps(task).encode(),
            capture_output=True,
            cwd=CODE,
            env=environment,
            timeout=limits.seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CheckpointError(
            f"The tokenizer's files take more than {limits.seconds:.0f} s for a few short texts: copy them "
            "again, or remove them from a copy of the folder and type token ids instead."
        ) from error
    refused = _answer(done.stdout) if done.returncode == 0 else _CRASHED
    if refused is not None:
        raise CheckpointError(refused)


_CRASHED = (
    "The tokenizer's files crash the library that reads them, or take more memory than any tokenizer does: "
    "copy them again, or remove them from a copy of the folder and type token ids instead."
)


def _answer(output: bytes) -> str | None:
    try:
        refused = json.loads(output)["refused"]
    except (ValueError, KeyError, TypeError):
        return _CRASHED
    return refused if refused is None or isinstance(refused, str) else _CRASHED


def _main() -> None:
    """Entry point of the separate process."""
    task: dict[str, Any] = json.load(sys.stdin)
    limit_process({"AS": task["memory_bytes"], "CPU": int(task["seconds"]) + 1, "FSIZE": 0, "CORE": 0})
    try:
        _try(from_plain_texts(task["texts"]), task["family"])
        refused = None
    except CheckpointError as error:
        refused = str(error)
    json.dump({"refused": refused}, sys.stdout)


def _try(texts: Texts, family: str) -> None:
    built = build(texts, family)
    try:
        if isinstance(built, LibraryTokenizer):
            _try_library(built, (*SAMPLES, *_runs(texts)))
        elif built is not None:
            for side in built:
                _try_marian(side)
    except CheckpointError:
        raise
    except Exception as error:  # any error of a library is a reason to refuse
        raise CheckpointError(
            f"The tokenizer's files don't work ({error}): copy them again, or remove them from a copy of the "
            "folder and type token ids instead."
        ) from error


def _try_library(built: LibraryTokenizer, samples: Iterable[str]) -> None:
    tokenizer = built.tokenizer
    if tokenizer.normalizer is not None:
        codes = (code for code in range(0x30000) if unicodedata.category(chr(code)) not in ("Cs", "Cn"))
        if any(len(tokenizer.normalizer.normalize_str(chr(code))) > _MOST_GROWTH for code in codes):
            raise CheckpointError(
                "The tokenizer's normalizer makes long texts of short ones, which no model's does: take its "
                "files from where the model came from."
            )
    for sample in samples:
        for framed in (False, True):
            ids = tokenizer.encode(sample, add_special_tokens=framed).ids
            tokenizer.decode(ids, skip_special_tokens=True)


def _runs(texts: Texts) -> Iterator[str]:
    """Long repetitions of literals in the file's own patterns, on which they may take forever."""
    plain = json_object(texts, "tokenizer.json")
    literals = [literal for pattern in patterns_of(plain) for literal in _LITERAL.findall(pattern)]
    parts = dict.fromkeys(part for literal in literals for part in (literal, *literal))
    for part in islice(parts, _MOST_RUNS):
        yield part * _RUN + "!"


def _try_marian(side: MarianSide) -> None:
    for sample in SAMPLES:
        side.join(piece for piece, _ in side.cut(sample))


if __name__ == "__main__":
    _main()
