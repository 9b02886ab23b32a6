"""The lessons: each module in this folder is one, ordered by number."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from viz.pages.learn.lessons.format.parts import Lesson


@cache
def lessons() -> Mapping[str, Lesson]:
    """All lessons by file name, with dashes for underscores, ordered by number."""
    found = {
        module.name.replace("_", "-"): import_module(f"{__name__}.{module.name}").LESSON
        for module in iter_modules(__path__)
        if not module.ispkg
    }
    return dict(sorted(found.items(), key=lambda item: item[1].number))
