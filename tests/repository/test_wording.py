"""The product's English: phrases that mislead or puzzle readers are found wherever they occur."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("transformer", "viz", "headlight", "scripts", "bench", "docs", "tests")
SUFFIXES = {".py", ".js", ".css", ".md", ".ipynb", ".toml"}
LEFT_OUT = ("tests/repository/test_wording.py", "headlight/browser/")
"""This list itself, and built files."""

PHRASES = {
    r"(?<![a-z])behind(?![a-z])": "after, or that follows: to many readers behind means earlier",
    r"\b(?:go|goes|going|gone|went) on from\b": "continue from",
    r"\b(?:go|goes|going|gone|went) on with\b|\b(?:are|be|was|were) followed on\b": "continue, continue with",
    r"\banew\b": "again, from the start; restart",
    r"\b(?:broke|breaks|break|broken) off\b": "failed, ended",
    r"\b(?:share|shares|shared|dealt) out\b": "renormalise, shard",
    r"(?<![-\"])\bcareless(?:ly)?\b(?!\")": "typing noise",
    r"\ball alike\b|\beverything alike\b|\beverywhere alike\b": "uniform",
    r"\bcomes? by them\b": "are computed",
    r"\bthe next but one\b|\bsome tens of\b": "say the number",
    r"\b[Aa] training\b(?! (?:run|step|set|example|pair|loop|data))|\btrainings\b": "a training run",
    r"(?i)\b(?:a|one) (?:row|column|line|map|file|colour|server|number|bar|point|label|byte|pixel|chip)"
    r" an? \w+|\bone a (?:line|token|position|row|head|step)\b": "one row per head",
    r"(?i)\bnumbers of tokens\b": "ids",
    r"\bare no numbers\b|\bis no number\b": "not finite",
}


def texts() -> list[Path]:
    found = [*ROOT.glob("*.md"), *ROOT.glob("*.py"), *(ROOT / "assets").rglob("*.md")]
    for folder in FOLDERS:
        found += [path for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    return [
        path
        for path in found
        if path.name != "CHANGELOG.md"
        and not path.relative_to(ROOT).as_posix().startswith(LEFT_OUT)
        and "node_modules" not in path.parts
    ]


def places(phrase: str, path: Path) -> list[str]:
    """Where a phrase occurs, even across a line break."""
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(ROOT).as_posix()
    spaced = phrase.replace(" ", r"[\s#*]+")
    return [f"{name}:{text.count(chr(10), 0, at.start()) + 1}: {at[0]!r}" for at in re.finditer(spaced, text)]


@pytest.mark.parametrize("phrase", PHRASES)
def test_what_misleads_is_written_nowhere(phrase: str) -> None:
    found = [place for path in texts() for place in places(phrase, path)]
    listed = "\n".join(found)
    assert not found, f"Write {PHRASES[phrase]!r} in:\n{listed}"
