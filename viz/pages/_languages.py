"""The names of languages."""

NAMES = {"en": "English", "it": "Italian", "de": "German", "es": "Spanish", "fr": "French"}


def language(code: str | None, unknown: str = "Source") -> str:
    """Name the language of a code; the code itself where the name is not known, `unknown` without a code."""
    return unknown if code is None else NAMES.get(code, code)
