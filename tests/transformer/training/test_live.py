"""A live training run: its process can be stopped, killed and resumed, and never outlives its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from transformer.data.tasks import TASKS
from transformer.run import run_sentence
from transformer.training.live import run as job
from transformer.training.live import worker
from transformer.training.live.choices import live_plan
from transformer.training.live.folder import LiveFolder
from transformer.training.live.run import FullError, LiveTraining, TrainingSlots, UserTraining
from transformer.training.live.worker import NICENESS, train
from transformer.training.plan import TaskName, TrainingPlan
from transformer.training.prepare import new_model, task_coders
from transformer.training.snapshots import saved_snapshots

SMALL = live_plan("reverse", n_layers=1, n_heads=2, d_model=8, steps=60)
ENDLESS = live_plan("copy", n_layers=1, n_heads=2, d_model=8, steps=20_000)
QUICK = "tests.transformer.training.quick_worker"
PATIENCE = 120.0
"""Seconds that a busy machine may need for what takes a few."""


class Obedient:
    """A stop request that is made after this many checks."""

    is_deserted = False

    def __init__(self, questions: int) -> None:
        self.questions = questions

    @property
    def is_made(self) -> bool:
        self.questions -= 1
        return self.questions < 0


@pytest.fixture(autouse=True)
def few_sentences_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "N_HELD_OUT", 3)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "_WORKER", QUICK)


@pytest.fixture
def begin() -> Iterator[Callable[..., LiveTraining]]:
    """Make training runs that are closed at the end of the test."""
    made: list[LiveTraining] = []

    def make(plan: TrainingPlan, slots: TrainingSlots | None = None, silence: float = 1000.0) -> LiveTraining:
        made.append(LiveTraining(plan, slots or TrainingSlots(1), silence=silence))
        made[-1].start()
        return made[-1]

    yield make
    for training in made:
        training.close()


def wait(is_so: Callable[[], object]) -> None:
    """Wait until `is_so` is true."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def is_there(process_id: int) -> bool:
    """True if the process exists, even as a zombie."""
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


def folder_of(path: Path, plan: TrainingPlan = SMALL) -> LiveFolder:
    """The folder of a run about to begin."""
    folder = LiveFolder(path)
    folder.begin(plan)
    return folder


def run(folder: LiveFolder, questions: int = 1000) -> str:
    """Train in this process; returns how it ended."""
    return train(folder, Obedient(questions)).how


def weights(files: LiveFolder) -> dict[str, torch.Tensor]:
    return files.read_weights(SMALL)[1].model.state_dict()


@pytest.mark.slow
def test_an_interrupted_training_ends_with_the_weights_and_the_course_of_an_unbroken_one(
    tmp_path: Path,
) -> None:
    unbroken, broken = folder_of(tmp_path / "unbroken"), folder_of(tmp_path / "broken")
    assert run(unbroken) == "finished"
    assert run(broken, 0) == run(broken, 1) == run(broken, 13) == run(broken, 20) == "stopped"
    assert broken.shown_step() == 34
    assert run(broken) == "finished"
    expected = weights(unbroken)
    assert all(torch.equal(weight, expected[name]) for name, weight in weights(broken).items())
    assert broken.read_curves().history == unbroken.read_curves().history
    assert broken.read_curves().exact == unbroken.read_curves().exact
    assert saved_snapshots(broken.out) == saved_snapshots(unbroken.out)


@pytest.mark.slow
def test_updates_after_the_last_save_are_made_again(tmp_path: Path) -> None:
    files = folder_of(tmp_path / "killed")
    run(files, 10)
    saved = files.state.read_bytes()
    run(files, 7)
    files.state.write_bytes(saved)  # as after kill -9
    assert run(files) == "finished"
    history = files.read_curves().history
    assert history.steps == tuple(range(1, SMALL.updates.steps + 1))
    assert history.losses[-1] < history.losses[0]


def test_the_course_tells_steps_rates_checks_and_speed(tmp_path: Path) -> None:
    files = folder_of(tmp_path / "course")
    assert files.read_curves().tokens_per_second == 0.0
    run(files)
    curves = files.read_curves()
    rate = SMALL.updates.rate(SMALL.model.d_model or 0)
    assert curves.history.learning_rates == pytest.approx([rate(step) for step in range(1, 61)])
    assert curves.checked_steps[0] == 0
    assert curves.checked_steps[-1] == SMALL.updates.steps
    assert all(0 <= share <= 1 for share in curves.exact)
    assert curves.tokens_per_second > 0
    assert saved_snapshots(files.out)[0] == 0
    with files.metrics.open("a") as file:
        file.write('{"step": 61, "lo')  # still being written
    assert files.read_curves() == curves


@pytest.mark.parametrize("task, typed", [("sort", "Rac coon\u200b"), ("toy-en-it", "the dog is black.")])
def test_the_model_of_every_moment_runs_what_is_typed(tmp_path: Path, task: TaskName, typed: str) -> None:
    plan = live_plan(task, n_layers=1, n_heads=2, d_model=8, steps=2)
    files = folder_of(tmp_path / task, plan)
    assert run(files) == "finished"
    assert saved_snapshots(files.out) == (0, 1, 2)
    first, last = (files.read_weights(plan, step)[1].model.state_dict() for step in (0, 2))
    generator = torch.Generator().manual_seed(plan.updates.seed)
    fresh = new_model(plan, task, task_coders(TASKS[task]), generator).model.state_dict()
    assert all(torch.equal(weight, fresh[name].half().float()) for name, weight in first.items())
    assert not torch.equal(first["generator.weight"], last["generator.weight"])
    for step in (None, 0, 1, 2):
        source = run_sentence(files.read_weights(plan, step)[1], TASKS[task].spell(typed)).source
        assert "".join(source.tokens) == typed.replace(" ", "").replace("\u200b", "").lower()
        assert not any(source.unknown)


def test_what_goes_wrong_is_said_in_words(tmp_path: Path) -> None:
    files = folder_of(tmp_path / "broken")
    run(files, 3)
    metadata, saved = _metadata(files.state), load_file(files.state)
    saved["model.generator.bias"] *= torch.nan
    save_file(saved, files.state, metadata)
    ended = train(files, Obedient(1000))
    assert (ended.how, "lower learning rate" in ended.message) == ("failed", True)
    files.state.write_bytes(b"scrambled")
    ended = train(files, Obedient(1000))
    assert (ended.how, "can't be read" in ended.message) == ("failed", True)
    files.state.unlink()
    (files.path / "shown.safetensors.part").mkdir()  # where weights are written
    ended = train(files, Obedient(1000))
    assert (ended.how, "can't be saved in" in ended.message) == ("failed", True)


def _metadata(path: Path) -> dict[str, str]:
    with safe_open(path, framework="pt") as file:
        return dict(file.metadata())


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file that the processes of training runs wait for before they begin."""
    spawn, gate = subprocess.Popen, tmp_path / "gate"
    waiting = 'until [ -e "$0" ]; do sleep 0.05; done; exec "$@"'

    def held(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        return spawn(["sh", "-c", waiting, str(gate), *command], **options)

    monkeypatch.setattr(subprocess, "Popen", held)
    return gate


@pytest.mark.slow
def test_a_training_begins_is_killed_goes_on_and_stops(
    begin: Callable[..., LiveTraining], gate: Path
) -> None:
    """When killed, it reports its failure in words, and continues from where it was."""
    slots = TrainingSlots(1)
    training = begin(ENDLESS, slots)
    with pytest.raises(FullError, match="One training run is active on this machine"):
        begin(SMALL, slots)
    before = training.status
    gate.touch()
    wait(lambda: training.curves().history.steps)
    assert (before, training.status) == ("starting", "running")
    process_id = training.process_id
    assert process_id is not None
    assert os.getpriority(os.PRIO_PROCESS, process_id) >= min(19, os.nice(0) + NICENESS)
    os.kill(process_id, signal.SIGKILL)
    wait(lambda: not training.is_active)
    assert (training.status, "signal 9" in training.message) == ("failed", True)
    wait(lambda: not is_there(process_id))
    training.start()
    wait(lambda: training.status == "running")
    assert training.message == ""
    training.stop()
    wait(lambda: not training.is_active)
    assert training.status == "stopped"
    steps = training.curves().history.steps
    assert steps == tuple(range(1, len(steps) + 1))


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_training_that_was_stopped_goes_on_and_finishes(
    begin: Callable[..., LiveTraining], gate: Path
) -> None:
    slots = TrainingSlots(1)
    training = begin(SMALL, slots)
    training.stop()
    before = training.status
    gate.touch()
    wait(lambda: not training.is_active)
    assert (before, training.status) == ("stopping", "stopped")
    training.start()
    wait(lambda: not training.is_active)
    assert (training.status, training.message) == ("finished", "")
    assert training.curves().history.steps == tuple(range(1, SMALL.updates.steps + 1))
    found = training.model()
    assert found is not None
    assert found[0] == SMALL.updates.steps
    assert [training.model(step) is not None for step in training.moments()]
    process_id = training.process_id
    assert process_id is not None
    training.close()
    training.close()
    assert not training.folder.out.exists()
    assert not is_there(process_id)
    gate.unlink()
    begin(SMALL, slots)  # its slot is free


@pytest.mark.slow
@pytest.mark.parametrize(
    "code, message",
    [("raise SystemExit(1)", "exit status 1"), ("import os; os.kill(os.getpid(), 11)", "signal 11")],
)
def test_a_crash_is_said_in_words(
    code: str, message: str, begin: Callable[..., LiveTraining], monkeypatch: pytest.MonkeyPatch
) -> None:
    spawn = subprocess.Popen
    with monkeypatch.context() as patch:
        patch.setattr(
            subprocess, "Popen", lambda _, **options: spawn([sys.executable, "-c", code], **options)
        )
        training = begin(SMALL)
    wait(lambda: not training.is_active)
    assert training.status == "failed"
    assert message in training.message


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_process_that_can_not_write_how_it_ended_is_said_in_words() -> None:
    """As on a full disk."""
    training = LiveTraining(SMALL, TrainingSlots(1), silence=1000.0)
    try:
        (training.folder.path / "ended.json.part").mkdir()
        training.start()
        wait(lambda: not training.is_active)
        assert training.status == "failed"
        assert "Free some space, and resume" in training.message
    finally:
        training.close()


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_training_that_nobody_looks_at_saves_and_ends(begin: Callable[..., LiveTraining]) -> None:
    training = begin(ENDLESS, silence=0.3)
    wait(lambda: not training.is_active)
    assert (training.status, training.message) == ("deserted", "")
    assert training.folder.state.exists()


PARENT = f"""
import time
from transformer.training.live import run
from transformer.training.live.choices import live_plan
run._WORKER = {QUICK!r}
plan = live_plan("copy", n_layers=1, n_heads=2, d_model=8, steps=20_000)
training = run.LiveTraining(plan, run.TrainingSlots(1))
training.start()
print(training.process_id, training.folder.out, flush=True)
time.sleep(1000)
"""


@pytest.mark.slow
def test_the_process_ends_and_leaves_nothing_when_the_server_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        process_id, name = parent.stdout.readline().split()
        folder = Path(name)
        wait((folder / "training" / "metrics.jsonl").exists)
        assert is_there(int(process_id))
        parent.kill()
    wait(lambda: not folder.exists())
    wait(lambda: not is_there(int(process_id)))


@pytest.mark.slow
def test_a_user_has_one_training_at_a_time() -> None:
    slots = TrainingSlots(1)
    own, other = UserTraining(slots), UserTraining(slots)
    own.begin(ENDLESS)
    first = own.training
    assert first is not None
    with pytest.raises(FullError):
        other.begin(SMALL)
    assert other.training is None
    own.begin(SMALL)
    assert own.training is not first
    assert not first.folder.out.exists()
    own.close()
    assert own.training is None
    other.begin(SMALL)
    other.close()
