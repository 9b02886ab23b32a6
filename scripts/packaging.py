"""Hatchling hooks for what the wheel needs from outside its packages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

IN_PACKAGE = (
    "app.py",
    "assets/examples.tsv",
    "assets/icon.svg",
    "assets/models",
    ".streamlit/config.toml",
    "pyproject.toml",  # where Streamlit looks for the scripts of components
)
"""Files next to the packages in a checkout; in an installed wheel they are inside the package headlight."""


class Requirements(MetadataHookInterface):
    """Takes the dependencies from requirements.txt, so that each is listed once."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the dependencies to the project's metadata."""
        lines = (Path(self.root) / "requirements.txt").read_text(encoding="utf-8").splitlines()
        stated = (line.partition("#")[0].strip() for line in lines)
        metadata["dependencies"] = [requirement for requirement in stated if requirement]


class InPackage(BuildHookInterface[Any]):
    """Adds app, models and settings to the wheel; an editable install finds them in the checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files to include."""
        if version == "standard":
            build_data["force_include"] |= {path: f"headlight/{path}" for path in IN_PACKAGE}
