"""What the card of a translator says of a training run that did not go as its command says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.transformer.training.runs import TINY, state, train, write_pairs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training run in which nothing becomes better, so that it stops early."""
    folder = tmp_path_factory.mktemp("card")
    pairs, valid = write_pairs(folder / "pairs.tsv", 40), write_pairs(folder / "valid.tsv", 3, seed=4)
    still = ["--peak", "1e-12", "--validate-every", "2", "--patience", "3"]
    given = ["--pairs", str(pairs), "--valid", str(valid), *TINY, *still]
    train(folder, *given, "--out", str(folder / "model"))
    return folder


def card(folder: Path) -> str:
    return (folder / "model" / "README.md").read_text(encoding="utf-8")


def test_the_updates_that_were_made_are_told(folder: Path) -> None:
    assert "- Training: 8 of 20 planned updates, stopped early, of a batch of up to 200 positions" in card(
        folder
    )
    assert "| the weights of the best validation, after 2 updates | " in card(folder)
    assert "choices changed" not in card(folder)


def test_choices_that_changed_on_the_way_are_told(folder: Path) -> None:
    """As long as the training goes on, whatever it is resumed with later."""
    resume = ["--resume", "--out", str(folder / "model")]
    train(folder, *resume, "--patience", "0", "--peak", "0.001")
    train(folder, *resume, "--steps", "22")
    assert "- Training: 22 updates of a batch of up to 200 positions" in card(folder)
    told = card(folder).partition("may make another model than this one, for choices changed on the way:")[2]
    assert told.startswith(
        "\n\n"
        "    after update 8: --peak 0.001, before it 1e-12\n"
        "    after update 8: --patience 0, before it 3\n"
        "    after update 20: --steps 22, before it 20\n\n- Model:"
    )
    best = state(folder / "model")[1]["best_step"]
    assert f"| the weights of the best validation, after {best} updates" in card(folder)
