"""Create .venv and install requirement files into it: what `make` runs before anything else.

Uses the standard library only, and no syntax newer than Python 3.7, so that an old interpreter gets as
far as the message that it is too old.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
PYTHON = ENVIRONMENT / "bin" / "python"
OLDEST_PYTHON = (3, 11)
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PROBE_SECONDS = 4.0
QUIETLY = ("--disable-pip-version-check",)


def main() -> None:
    """Install the requirement files named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("requirements", nargs="+", help="requirement files, relative to the repository")
    arguments = parser.parse_args()
    if sys.version_info < OLDEST_PYTHON:
        sys.exit(
            "Headlight needs Python {}.{} or newer, and {} is {}.{}. Install a newer one, or name it: "
            "make PYTHON=python3.12".format(*OLDEST_PYTHON, sys.executable, *sys.version_info[:2])
        )
    create_environment()
    if not is_installed("torch"):
        install(torch_requirement(), *index_options(torch_index()))
    install(*(word for name in arguments.requirements for word in ("-r", str(ROOT / name))))
    install_headlight()


def install_headlight() -> None:
    """Install the project itself in editable mode, so that the browser loads its scripts once, as files.

    This fails without a network; every update then includes the scripts.
    """
    if not run(PYTHON, "-m", "pip", "install", *QUIETLY, "--no-deps", "--editable", ROOT):
        print("Headlight itself could not be installed: it runs all the same, a little slower.", flush=True)


def create_environment() -> None:
    """Create .venv with pip in it, even if the system's Python lacks ensurepip (Debian)."""
    if is_installed("pip"):
        return
    print("Setting up Headlight in {} (once; a few minutes).".format(ENVIRONMENT), flush=True)
    venv.create(ENVIRONMENT, clear=True, symlinks=True, with_pip=False)
    if run(PYTHON, "-m", "ensurepip", "--default-pip", quiet=True):
        return
    if not run(sys.executable, "-m", "pip", "--python", PYTHON, "install", "pip", quiet=True):
        shutil.rmtree(ENVIRONMENT)
        sys.exit(
            "This Python has neither ensurepip nor pip, so packages can't be installed. "
            "On Debian and Ubuntu: sudo apt-get install python3-venv. Then run make again."
        )


def torch_requirement() -> str:
    """Return the line of requirements.txt that pins PyTorch, such as `torch==2.13.0`."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return next(line.split("#")[0].strip() for line in lines if line.startswith("torch=="))


def torch_index() -> str | None:
    """Return the package index to install PyTorch from; None means pip's own.

    On Linux, pip's own index has only the CUDA build: several gigabytes that a machine without an NVIDIA
    driver can't use. Such a machine gets PyTorch's CPU index, if it answers. The environment variable
    TORCH_INDEX (a URL, or "pip") overrides the choice.
    """
    wanted = os.environ.get("TORCH_INDEX", "")
    if wanted:
        return None if wanted == "pip" else wanted
    if sys.platform != "linux" or has_nvidia_driver():
        return None
    if answers(TORCH_CPU_INDEX):
        return TORCH_CPU_INDEX
    print("PyTorch's CPU index can't be reached: taking PyTorch from pip's own index.", flush=True)
    return None


def has_nvidia_driver() -> bool:
    """Tell whether this Linux machine has an NVIDIA driver loaded or installed."""
    return Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi") is not None


def answers(index: str) -> bool:
    """Tell whether a package index answers within PROBE_SECONDS; pip itself would retry for a minute."""
    try:
        with urllib.request.urlopen("{}/torch/".format(index.rstrip("/")), timeout=PROBE_SECONDS):
            return True
    except (OSError, ValueError):
        return False


def index_options(index: str | None) -> list[str]:
    """Return pip's options for an index; none for pip's own."""
    return [] if index is None else ["--index-url", index]


def is_installed(module: str) -> bool:
    """Tell whether .venv exists and has a module."""
    return PYTHON.exists() and run(
        PYTHON, "-c", "import importlib.util as u, sys; sys.exit(not u.find_spec('{}'))".format(module)
    )


def install(*arguments: str) -> None:
    """Call .venv's pip install; exit with a plain message if it fails."""
    if not run(PYTHON, "-m", "pip", "install", *QUIETLY, *arguments):
        sys.exit("The packages could not be installed: see pip's message above. Run make again to continue.")


def run(*command: str | Path, quiet: bool = False) -> bool:
    """Run a command; tell whether it succeeded."""
    output = subprocess.DEVNULL if quiet else None
    return (
        subprocess.run([str(word) for word in command], stdout=output, stderr=output, check=False).returncode
        == 0
    )


if __name__ == "__main__":
    main()
