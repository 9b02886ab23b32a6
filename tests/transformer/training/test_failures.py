"""Whatever stops a training run is reported in a sentence, and leaves the last saved state unchanged."""

from __future__ import annotations

import resource
import shutil
import signal
from functools import partial
from pathlib import Path

import pytest

from tests.transformer.training.runs import TINY, Run, metrics, state, train, write_pairs
from transformer.__main__ import main

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return ["--pairs", str(write_pairs(tmp_path_factory.mktemp("pairs") / "pairs.tsv"))]


@pytest.fixture(scope="module")
def begun(files: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training run of 20 updates."""
    out = tmp_path_factory.mktemp("begun") / "model"
    train(out.parent, *files, *TINY, "--out", str(out))
    return out


@pytest.fixture
def copy(begun: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(begun, tmp_path / "model"))


def refused(run: Run, status: int = 1) -> str:
    """The output of a run that fails without a traceback."""
    assert run.wait() == status, run.said
    assert "Traceback" not in run.said
    return run.said


def limit_files(n_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))


def test_a_full_disk(copy: Path, tmp_path: Path) -> None:
    path = copy / "training" / "state.safetensors"
    before = path.read_bytes()
    limit = partial(limit_files, len(before) // 2)
    said = refused(Run(tmp_path, "--resume", "--out", str(copy), "--steps", "40", before=limit))
    assert f"The state can't be saved ({path}" in said
    assert "File too large" in said
    assert "Errno" not in said
    assert "free some space, and resume with" in said
    assert "The state after update 20 is saved" in said
    assert "--resume" in said
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*.part"))
    train(tmp_path, "--resume", "--out", str(copy), "--steps", "40")
    assert state(copy)[1]["step"] == 40
    steps = [line["step"] for line in metrics(copy) if "loss" in line]
    assert steps == [*range(3, 19, 3), 20, *range(21, 40, 3), 40]


def test_a_loss_that_is_not_finite(files: list[str], tmp_path: Path) -> None:
    """After a saved state and before the first; the message's advice works."""
    broken = [*files, *TINY, "--peak", "1e30", "--schedule", "inverse-root", "--warmup", "1"]
    saving, out = tmp_path / "saving", tmp_path / "model"
    said = refused(Run(tmp_path, *broken, "--save-every", "1", "--out", str(saving)))
    step = state(saving)[1]["step"]
    assert f"failed in update {step + 1} (epoch 0, up to batch {step + 1}): the loss is nan" in said
    assert f"The state after update {step:,} is saved: choose a lower --peak, a longer --warm" in said
    said = refused(Run(tmp_path, *broken, "--save-every", "1000", "--out", str(out)))
    assert "No state was saved: choose a lower --peak, a longer --warmup or a smaller --clip, and" in said
    assert f"start with python -m transformer train --resume --out {out}" in said
    train(tmp_path, "--resume", "--out", str(out), "--peak", "0.001")
    assert state(out)[1]["step"] == 20


def test_a_full_disk_at_the_end(copy: Path, tmp_path: Path) -> None:
    """All updates are done, but only small files can be written."""
    said = refused(Run(tmp_path, "--resume", "--out", str(copy), before=partial(limit_files, 20_000)))
    assert f"The model can't be written to {copy} ({copy}" in said
    assert "Errno" not in said
    assert "free some space, and resume with" in said


@pytest.mark.parametrize("number, status", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_asked_to_stop(number: int, status: int, files: list[str], tmp_path: Path) -> None:
    """It finishes its update and saves, whatever --save-every is."""
    out = tmp_path / "model"
    run = Run(tmp_path, *files, *TINY, "--steps", "100000", "--save-every", "100000", "--out", str(out))
    run.wait_for(lambda: (out / "training" / "metrics.jsonl").exists() and len(metrics(out)) > 1)
    run.kill(number)
    said = refused(run, status)
    step = state(out)[1]["step"]
    assert "Stopping once this update is done and saved" in said
    assert f"Stopped after update {step:,}, saved" in said
    assert f"--resume --out {out}" in said


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--seed", "2"], "--seed was 1 when this run started"),
        (["--d-model", "32"], "--d-model was 16"),
        (["--dropout", "0.3"], "--dropout was 0.1"),
        (["--batch-tokens", "90"], "--batch-tokens was 200"),
        (["--max-ratio", "9"], "--max-ratio was 4.0"),
        (["--vocab-size", "400"], "--vocab-size was 330"),
        (["--overwrite"], "give only one"),
        (["--steps", "19"], "--steps is 19, but 20 updates are already done"),
        (["--steps", "30", "--pairs", "other.tsv", "--seed", "2"], "--seed was 1 when this run started"),
    ],
)
def test_another_model_or_other_data_would_be_another_run(
    arguments: list[str], message: str, begun: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refused in one line, without any change."""
    before = (begun / "training" / "plan.json").read_bytes()
    assert main(["train", "--resume", "--out", str(begun), *arguments]) == 1
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert (begun / "training" / "plan.json").read_bytes() == before


def test_training_on_validation_pairs_is_warned_of(files: list[str], tmp_path: Path) -> None:
    """Also for the same file under another name, but not for other files."""
    pairs, out = Path(files[1]), tmp_path / "model"
    (tmp_path / "valid.tsv").symlink_to(pairs)
    given = [*files, *TINY, "--steps", "6", "--max-len", "80", "--out", str(out)]
    said = train(tmp_path, *given, "--valid", str(tmp_path / "valid.tsv"))
    assert f"--valid {tmp_path / 'valid.tsv'} is one of the files of --pairs" in said
    said = train(tmp_path, "--resume", "--out", str(out), "--valid", str(write_pairs(tmp_path / "new", 5)))
    assert "is one of the files of --pairs" not in said


def test_the_files_may_be_moved_but_not_replaced(copy: Path, files: list[str], tmp_path: Path) -> None:
    moved, other = shutil.copy(files[1], tmp_path / "moved.tsv"), write_pairs(tmp_path / "other.tsv", seed=5)
    said = train(tmp_path, "--resume", "--out", str(copy), "--pairs", str(moved))
    assert f"is {moved} from here on" in said
    said = refused(Run(tmp_path, "--resume", "--out", str(copy), "--pairs", str(other)))
    assert "have changed since this run started" in said
    assert "from here on" not in said
    assert "Reusing the encoded corpus" in train(tmp_path, "--resume", "--out", str(copy)), (
        "nothing was lost by that"
    )


def test_options_that_do_not_change_the_past_may_change(copy: Path, tmp_path: Path) -> None:
    """A finished run may be finished again with the same number of steps, or continued with more."""
    assert "Saved the last weights" in train(tmp_path, "--resume", "--out", str(copy), "--steps", "20")
    changed = ["--steps", "30", "--schedule", "cosine", "--peak", "0.002", "--save-every", "10", "--half"]
    said = train(tmp_path, "--resume", "--out", str(copy), *changed)
    assert "--steps was 20 and is 30 from here on." in said
    assert "--schedule was linear and is cosine from here on." in said
    assert "--peak was 0.001 and is 0.002 from here on." in said
    assert "--half was False and is True from here on." in said
    assert state(copy)[1]["step"] == 30
    assert "--steps was" not in train(tmp_path, "--resume", "--out", str(copy)), "the choices were kept"


def test_files_that_have_changed_are_noticed_and_missing_ones_are_not_needed(
    files: list[str], tmp_path: Path
) -> None:
    """With other pairs, neither the encoded corpus nor the state can be used."""
    pairs = Path(shutil.copy(files[1], tmp_path / "pairs.tsv"))
    out = tmp_path / "model"
    train(tmp_path, "--pairs", str(pairs), *TINY, "--out", str(out))
    pairs.write_text(pairs.read_text() + "one more\tuno in più\n")
    said = refused(Run(tmp_path, "--resume", "--out", str(out)))
    assert "have changed since this run started" in said
    pairs.unlink()
    train(tmp_path, "--resume", "--out", str(out), "--steps", "22")
    assert "There is no file" in refused(
        Run(tmp_path, "--pairs", str(pairs), *TINY, "--vocab-size", "331", "--out", str(out), "--overwrite")
    )


def test_a_folder_in_use(begun: Path, files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = state(begun)[1]
    assert main(["train", *files, *TINY, "--out", str(begun)]) == 1
    said = capsys.readouterr().err
    assert "--resume" in said
    assert "--overwrite" in said
    assert state(begun)[1] == before


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--vocab-size", "5"], "more than"),
        (["--languages", "en", "qq"], "qq"),
        (["--longest", "1"], "more than 1 sub-words on a side. Allow more with --longest"),
        (["--max-words", "1"], "All pairs were left out"),
    ],
)
def test_after_an_error_the_corrected_command_needs_no_overwrite(
    arguments: list[str], message: str, files: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "model"
    assert message in refused(Run(tmp_path, *files, *TINY, *arguments, "--out", str(out)))
    assert (out / "training" / "plan.json").exists(), "else there is nothing to test"
    train(tmp_path, *files, *TINY, "--steps", "6", "--out", str(out))
    assert state(out)[1]["step"] == 6


def test_the_files_of_a_run_without_a_state_may_be_overwritten(files: list[str], tmp_path: Path) -> None:
    """It was killed before its first state, but after writing a corpus, metrics and a snapshot."""
    out = tmp_path / "model"
    choices = [*files, *TINY, "--snapshots", "4", "--save-every", "100000", "--tensorboard"]
    run = Run(tmp_path, *choices, "--steps", "100000", "--out", str(out))
    run.wait_for(lambda: (out / "training" / "metrics.jsonl").exists() and len(metrics(out)) > 2)
    run.kill()
    run.wait()
    assert (out / "snapshots" / "0").exists()
    train(tmp_path, *choices, "--out", str(out))
    assert next(line["step"] for line in metrics(out) if "loss" in line) == 3


def test_a_strangers_file_is_never_touched(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(Run(tmp_path, *files, *TINY, "--vocab-size", "5", "--out", str(tmp_path / "model")))
    for name in ("notes.txt", "training/notes.txt", "training/corpus/notes.txt", "snapshots/0/n.txt", "n/"):
        out = Path(shutil.copytree(tmp_path / "model", tmp_path / f"with {name.replace('/', ' ')}"))
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir() if name.endswith("/") else path.write_text("mine")
        before = sorted(out.rglob("*"))
        assert main(["train", *files, *TINY, "--out", str(out)]) == 1
        assert "is not empty" in capsys.readouterr().err
        assert sorted(out.rglob("*")) == before


@pytest.mark.parametrize("name", ["plan.json", "lock"])
def test_a_strangers_file_with_a_name_of_ours_is_never_touched(
    name: str, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model" / "training" / name
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    assert main(["train", *files, *TINY, "--out", str(tmp_path / "model")]) == 1
    assert "is not empty" in capsys.readouterr().err
    assert path.read_text() == "mine"


def test_a_linked_run_is_in_use(
    copy: Path, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its files may be on a larger disk."""
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "training").symlink_to(copy / "training")
    assert main(["train", *files, *TINY, "--out", str(tmp_path / "linked")]) == 1
    assert "is not empty" in capsys.readouterr().err
    assert state(copy)[1]["step"] == 20


def test_two_at_once(files: list[str], tmp_path: Path) -> None:
    out = tmp_path / "model"
    run = Run(tmp_path, *files, *TINY, "--steps", "100000", "--out", str(out))
    run.wait_for((out / "training" / "state.safetensors").exists)
    assert "Another process is training in" in refused(Run(tmp_path, "--resume", "--out", str(out)))
    run.kill()
    assert run.wait() == -signal.SIGKILL


def test_a_damaged_state(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = copy / "training" / "state.safetensors"
    path.write_bytes(path.read_bytes()[:5000])
    assert main(["train", "--resume", "--out", str(copy), "--threads", "1"]) == 1
    assert "can't be read" in capsys.readouterr().err


def test_damaged_weights_of_an_average(
    copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message's advice works."""
    again = ["--resume", "--out", str(copy), "--steps", "28", "--average", "3"]
    train(tmp_path, *again)
    path = copy / "training" / "weights-24.safetensors"
    path.write_bytes(path.read_bytes()[:5000])
    assert main(["train", *again, "--threads", "1"]) == 1
    assert f"{path} can't be read" in capsys.readouterr().err
    path.unlink()
    train(tmp_path, *again)
