"""The wheel, installed outside the checkout: the public API, the command, the app with its models."""

from __future__ import annotations

import site
import subprocess
import sys
import tomllib
import urllib.request
import venv
from pathlib import Path

import pytest

from scripts.browser import comes_up, free_port

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SENTENCE = "My favourite animal is the raccoon."


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of a new environment with the wheel installed and this environment's libraries."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    environment = folder / "environment"
    venv.create(environment, symlinks=True, with_pip=False)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    (packages,) = (environment / "lib").glob("*/site-packages")
    libraries = "\n".join(site.getsitepackages())  # skips their own .pth files, which add the checkout
    (packages / "libraries.pth").write_text(libraries, encoding="utf-8")
    return python.parent


def output_of(folder: Path, *command: str) -> str:
    """The output of a program started outside the checkout."""
    name, *arguments = command
    program = [str(folder / name), *arguments]
    done = subprocess.run(program, cwd=folder.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_public_face_has_the_shipped_models(programs: Path) -> None:
    code = (
        "import headlight, transformer, viz.theme\n"
        "from pathlib import Path\n"
        "assert all(str(Path(p).resolve()).startswith(str(Path.cwd().resolve()))"
        " for p in (headlight.__file__, transformer.__file__, viz.theme.__file__))\n"
        f"run = headlight.run(headlight.open('toy-en-it'), {SENTENCE!r})\n"
        "print(run.translation, headlight.plot_training('toy-en-it').layout.legend.title.text)"
    )
    printed = output_of(programs, "python", "-c", code)
    assert printed.strip() == "il mio animale preferito è il procione. Training of toy-en-it"


def test_the_command_has_the_commands_and_its_own_name(programs: Path) -> None:
    translated = output_of(programs, "headlight", "translate", "--model", "toy-en-it", SENTENCE)
    assert translated.strip() == "il mio animale preferito è il procione."
    assert output_of(programs, "headlight", "train", "--help").startswith("usage: headlight train")
    assert "headlight translate SENTENCE" in output_of(programs, "headlight", "--help")


def test_the_app_shows_a_sentence(programs: Path) -> None:
    code = (
        "import headlight\n"
        "from pathlib import Path\n"
        "from streamlit.testing.v1 import AppTest\n"
        "app = AppTest.from_file(Path(headlight.__file__).parent / 'app.py', default_timeout=120).run()\n"
        "assert not app.exception, app.exception\n"
        "assert any('Computed by `transformer/' in text.value for text in app.markdown)\n"
        "print(app.title[0].value)"
    )
    assert output_of(programs, "python", "-c", code).strip() == "Explore"


def test_the_app_opens_with_its_settings_and_serves_the_scripts_as_files(programs: Path) -> None:
    port = free_port()
    options = ["--server.headless", "true", "--server.port", str(port)]
    command = [str(programs / "headlight"), *options]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    names = [component["name"] for component in settings["tool"]["streamlit"]["component"]["components"]]
    with subprocess.Popen(command, cwd=programs.parent, stdout=subprocess.DEVNULL) as server:
        try:
            url = f"http://127.0.0.1:{port}"
            assert comes_up(server, f"{url}/_stcore/health")
            for name in names:
                script = f"{url}/_stcore/bidi-components/headlight.{name}/{name}.js"
                with urllib.request.urlopen(script) as answer:
                    assert answer.read() == (ROOT / "headlight" / "browser" / f"{name}.js").read_bytes()
        finally:
            server.terminate()
