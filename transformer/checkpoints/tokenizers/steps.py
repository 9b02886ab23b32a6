"""The steps of a tokenizer.json: what it does to text before and after the model cuts it.

Steps work in a row, so one that makes a text a little longer fills all memory when it is there forty times.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from transformer.errors import CheckpointError

_STAGES = ("normalizer", "pre_tokenizer", "decoder", "post_processor")
_MOST_STEPS = 64
_LONGEST_PATTERN = 2_000
_CHARACTER = (
    r"(?:[^\\^$.|?*+()\[\]{}]"  # itself
    r"|\."  # any
    r"|\\[sSdDwWnrtfv]|\\[pP]\{\^?\w+\}|\\[\\^$.|?*+()\[\]{}/-]"  # one of a kind, or a sign as itself
    r"|\[\^?(?:[^\\\[\]]|\\.)+\])"  # one of a list
)
_TIMES = r"(?:\+|\{[1-9][0-9]{0,2}(?:,[0-9]{0,3})?\})?"  # at least once
_WORD = f"(?:{_CHARACTER}{_TIMES})+"
_TAKES_CHARACTERS = re.compile(rf"{_WORD}(?:\|{_WORD})*")
"""Regular expressions that never match between two characters, where a replacement would be an insertion."""


def steps_of(plain: Mapping[str, Any], *stages: str) -> Iterator[dict[str, Any]]:
    """The steps of a file's stages, of all of them unless some are named, and the steps inside them."""
    waiting = [plain.get(stage) for stage in stages or _STAGES]
    while waiting:
        step = waiting.pop()
        if isinstance(step, list):
            waiting += step
        elif isinstance(step, dict):
            yield step
            waiting += [step.get(name) for name in ("normalizers", "pretokenizers", "decoders", "processors")]


def patterns_of(plain: Mapping[str, Any]) -> Iterator[str]:
    """What the steps look for in text."""
    for step in steps_of(plain):
        pattern = step.get("pattern")
        if isinstance(pattern, dict):
            yield from (text for text in pattern.values() if isinstance(text, str))


def check_steps(plain: Mapping[str, Any]) -> None:
    """Refuse steps that make text grow.

    Raises:
        CheckpointError: says which step.
    """
    steps = list(steps_of(plain))
    if len(steps) > _MOST_STEPS:
        raise CheckpointError(f"tokenizer.json works in more than {_MOST_STEPS} steps: it is no model's.")
    if max((len(text) for text in patterns_of(plain)), default=0) > _LONGEST_PATTERN:
        raise CheckpointError(f"tokenizer.json has a pattern of more than {_LONGEST_PATTERN:,} characters.")
    for step in steps:
        if len(str(step.get("prepend", ""))) > _LONGEST_PATTERN:
            raise CheckpointError(f"tokenizer.json prepends more than {_LONGEST_PATTERN:,} characters.")
        if "content" in step and isinstance(step.get("pattern"), dict):  # the library needs no type
            _check_replacement(step["pattern"], str(step["content"]))


def _check_replacement(pattern: Mapping[str, Any], target: str) -> None:
    source, expression = pattern.get("String"), pattern.get("Regex")
    inserts = source == "" or (isinstance(expression, str) and not _TAKES_CHARACTERS.fullmatch(expression))
    if target and inserts:
        raise CheckpointError(
            f"tokenizer.json puts {target!r:.80} where it finds {json.dumps(pattern):.80}, which may be "
            "between any two characters; no model's tokenizer does that: take it from where the model came "
            "from."
        )
    longest = len(source) if isinstance(source, str) else 1
    if len(target) > max(1, longest):
        raise CheckpointError(
            f"tokenizer.json replaces {json.dumps(pattern):.80} by the longer {target!r:.80}, which no "
            "model's tokenizer does: take it from where the model came from."
        )
