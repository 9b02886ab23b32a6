"""Check the views' JavaScript with tools from npm, which it installs; say so if Node.js is missing.

    python -m scripts.node check     check types, lint and formatting, and that the build matches the sources
    python -m scripts.node format    format the scripts
    python -m scripts.node build     build headlight/browser

Running Headlight needs nothing from npm: the built files are in the repository.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = ROOT / "node_modules"
LOCK = ROOT / "package-lock.json"
STAMP = MODULES / ".deps"
INSTALL_SECONDS = 600
NOT_INSTALLED = (
    "The tools for the scripts of the views can't be installed: see npm's message above. The scripts are not "
    "checked; what the browser loads is in the repository."
)
MISSING = "no node and npm on PATH, so the scripts of the views are not checked (Debian: apt-get install npm)"


def main() -> None:
    """Run a script from package.json; a missing Node.js is an error in CI only."""
    if not has_npm():
        print(MISSING, flush=True)
        sys.exit(1 if os.environ.get("CI") else 0)
    if not install():
        print(NOT_INSTALLED, flush=True)
        sys.exit(0)
    sys.exit(subprocess.run(["npm", "run", "--silent", *sys.argv[1:]], cwd=ROOT, check=False).returncode)


def has_npm() -> bool:
    """Tell whether node and npm are on PATH."""
    return bool(shutil.which("node") and shutil.which("npm"))


def install() -> bool:
    """Install the pinned tools if they are missing; tell whether they are installed.

    `npm ci` won't do: it refuses a lock file without builds for other systems, which some registries lack.
    """
    if STAMP.exists() and STAMP.stat().st_mtime >= LOCK.stat().st_mtime:
        return True
    command = ["npm", "install", "--no-save", "--no-audit", "--no-fund"]
    try:
        subprocess.run(command, cwd=ROOT, check=True, timeout=INSTALL_SECONDS)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return False
    STAMP.touch()
    return True


if __name__ == "__main__":
    main()
