"""The lessons, a file each: whatever module of this folder has a LESSON is one, ordered by their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from viz.lessons.parts import Lesson


@cache
def lessons() -> Mapping[str, Lesson]:
    """All lessons by the names of their files, with dashes for underscores; in the order of their numbers."""
    modules = {
        module.name.replace("_", "-"): import_module(f"{__name__}.{module.name}")
        for module in iter_modules(__path__)
    }
    found = {name: module.LESSON for name, module in modules.items() if hasattr(module, "LESSON")}
    return dict(sorted(found.items(), key=lambda item: item[1].number))
