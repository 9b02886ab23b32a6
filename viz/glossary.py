"""The terms of the app linked to their explanations, at their first mention on each page."""

from __future__ import annotations

import re

from viz.terms import TERMS

_BY_FORM = {form.lower(): term for term in TERMS for form in (term.name, *term.forms)}
_CODE = r"(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)"
_PROTECTED = rf"{_CODE}|\$[^$]*\$|\[[^\]]*\]\([^)]*\)|\b(?:arrow|Tab|Enter) keys?\b"
_SPOKEN = "|".join(sorted(map(re.escape, _BY_FORM), key=len, reverse=True))
_PATTERN = re.compile(
    rf"(?P<protected>{_PROTECTED})|(?<![\w-])(?P<term>{_SPOKEN})s?(?![\w-])", re.IGNORECASE | re.DOTALL
)


def links(*names: str) -> dict[str, dict[str, str]]:
    """For the headings of a view, by term: a link to its lesson, and its explanation."""
    return {
        name: {"href": f"#lesson-{_BY_FORM[name].lesson}", "title": _BY_FORM[name].text} for name in names
    }


def linked(markdown: str, known: set[str] | None = None) -> str:
    """Link the first mention of each term in our own Markdown to its explanation.

    Code, formulas and links stay as they are. A link leads to `#lesson-` and the name of the term's lesson;
    its title is the explanation.

    Args:
        markdown: the text. Users' text in it is in code spans.
        known: names of terms that need no further link; those in this text are added.
    """
    known = set() if known is None else known

    def link(found: re.Match[str]) -> str:
        if found["protected"]:
            return found[0]
        term = _BY_FORM[found["term"].lower()]
        if term.name in known:
            return found[0]
        known.add(term.name)
        return f'[{found[0]}](#lesson-{term.lesson} "{term.text}")'

    return _PATTERN.sub(link, markdown)
