"""Each answer to an open question is shown with its effect on the model, and the preferred one is marked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from streamlit.delta_generator import DeltaGenerator

from tests.pages.app import press, texts
from tests.pages.checkpoint.page import PATH, open_path, opened, questions, start
from tests.support.checkpoints import hostile_file
from tests.support.torch_names import as_torch_saves_it
from tests.transformer.checkpoints.importing.families.own_layout.test_described import Gpt, documented
from transformer.checkpoints.opening import open_model
from transformer.checkpoints.places import MODELS

NAME = "toy-en-it"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A trained model whose files don't reveal that its norms come first."""
    torch.save(as_torch_saves_it(open_model(NAME).model), tmp_path / "pytorch_model.bin")
    shutil.copy(MODELS / NAME / "vocabulary.json", tmp_path)
    return tmp_path


def test_each_answer_has_its_figure_and_the_preferred_is_marked(folder: Path) -> None:
    app = opened(folder)
    shown = texts(app)
    assert "✓ before (norm_first=True): " in shown
    assert "✓ after" not in shown
    assert "after, as in the paper (norm_first=False): 10." in shown
    assert "1: changes nothing here" in shown
    assert "in bits per token" in shown


@pytest.mark.slow
def test_a_large_model_is_tried_when_asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viz.pages.checkpoint.answers.SMALL", 1_000)
    app = opened(folder)
    assert "✓ before" not in texts(app)
    press(app, "Try every answer")
    assert "✓ before (norm_first=True): " in texts(app)


def test_names_are_text_while_answers_are_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[str] = []

    def progress(self: DeltaGenerator, value: float, text: str) -> DeltaGenerator:
        waits.append(text)
        return drawn(self, value, text)

    drawn = DeltaGenerator.progress
    monkeypatch.setattr(DeltaGenerator, "progress", progress)
    opened(hostile_file(tmp_path / "odd.safetensors"))
    assert any("example" in text for text in waits)
    assert not [text for text in waits if "![" in text], "Markdown would fetch the picture"


def test_a_layout_of_ones_own_is_described_on_the_page(tmp_path: Path) -> None:
    torch.save(Gpt().state_dict(), tmp_path / "mine.pt")
    app = start(PATH)
    app.text_area(key="checkpoint_path_map").set_value(documented())
    open_path(app, tmp_path / "mine.pt")
    assert "As its mapping file says" in texts(app)
    questions(app)["norm_eps"].set_value(1e-6)
    press(app, "Reopen with these answers")
    assert "As its mapping file says" in texts(app), "it is opened again as it was described"
