"""The names of languages."""

NAMES = {"en": "English", "it": "Italian", "de": "German", "es": "Spanish", "fr": "French"}


def language(code: str) -> str:
    """Name the language of a code; the code itself where the name is not known."""
    return NAMES.get(code, code)
