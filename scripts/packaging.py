"""What the wheel needs that is not in its packages: hatchling calls this when it builds one."""

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
"""What lies beside the packages in a checkout, and in the package headlight where that is installed."""


class Requirements(MetadataHookInterface):
    """Takes the dependencies from requirements.txt: each is written once."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the dependencies to the project's metadata."""
        lines = (Path(self.root) / "requirements.txt").read_text(encoding="utf-8").splitlines()
        stated = (line.partition("#")[0].strip() for line in lines)
        metadata["dependencies"] = [requirement for requirement in stated if requirement]


class InPackage(BuildHookInterface[Any]):
    """Brings app, models and settings into the wheel; an editable project has them where they are."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files to include."""
        if version == "standard":
            build_data["force_include"] |= {path: f"headlight/{path}" for path in IN_PACKAGE}
