"""Replacements that insert text are refused; those of real models' tokenizers are accepted."""

from __future__ import annotations

from typing import Any

import pytest

from transformer.checkpoints.tokenizers.tokenizer_json import check_steps
from transformer.errors import CheckpointError


def replacing(pattern: dict[str, str], content: str, stage: str = "normalizer") -> dict[str, Any]:
    return {stage: {"type": "Replace", "pattern": pattern, "content": content}}


@pytest.mark.parametrize(
    "expression, content",
    [
        (" {2,}", " "),
        (" {2,}", "\u2581"),
        (" +\u2581", "\u2581"),
        (r"\s+", " "),
        (r"\n", " "),
        (r"[\n\r\t]", " "),
        (r"\s{2,}|[\n\r\t]", " "),
        (r"[^\p{L}\p{N}]+|\p{^L}|\.", " "),
        ("^\u2581+$", ""),
        (r"^\s*|x?", ""),
    ],
)
@pytest.mark.parametrize("stage", ["normalizer", "decoder"])
def test_expressions_of_real_models_are_fine(expression: str, content: str, stage: str) -> None:
    check_steps(replacing({"Regex": expression}, content, stage))


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "^",
        "$",
        "(?<=ou)|(?<=x)",
        "(?=a)",
        "(?:)",
        "()+",
        r"\b",
        r"\G",
        "a*",
        "a?",
        "a{0,}",
        "a{,2}",
        "a{2}{0}",
        "a{1}?",
        "a|",
        "|a",
        "a||b",
        "a|^",
    ],
)
@pytest.mark.parametrize("stage", ["normalizer", "decoder"])
def test_expressions_that_may_match_nothing_are_refused(expression: str, stage: str) -> None:
    with pytest.raises(CheckpointError, match="between any two characters"):
        check_steps(replacing({"Regex": expression}, "x", stage))


def test_an_empty_text_is_replaced_nowhere() -> None:
    with pytest.raises(CheckpointError, match="between any two characters"):
        check_steps(replacing({"String": ""}, "x"))


def test_a_step_needs_no_type_and_may_lie_in_another() -> None:
    """To the library, any step with a pattern and a content is a replacement."""
    step = {"pattern": {"Regex": "^"}, "content": "x"}
    with pytest.raises(CheckpointError, match="between any two characters"):
        check_steps({"normalizer": {"type": "Sequence", "normalizers": [step]}})
