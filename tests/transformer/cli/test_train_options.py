"""The options that start and resume a training run."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from transformer.__main__ import main
from transformer.checkpoints.opening import open_model
from transformer.cli.train_options import Train, parse
from transformer.training.folder import TrainingFolder
from transformer.training.plan import TrainingPlan
from transformer.training.prepare import fingerprint


def switches(command: Train | None = None) -> dict[str, bool]:
    """The boolean options by name."""
    choices = (TrainingPlan() if command is None else command.plan).choices()
    return {name.partition(".")[2]: value for name, value in choices if isinstance(value, bool)}


SWITCHES = list(switches())


def begun(arguments: list[str], out: Path) -> tuple[list[str], Train]:
    """A command and its parsed plan, which is saved as by a training run."""
    command = [*arguments, "--out", str(out)]
    given = parse(command)
    folder = TrainingFolder(out)
    folder.path.mkdir(parents=True)
    folder.save_plan(given.plan)
    return command, given


def test_every_switch_may_be_given_again_and_turned_off(tmp_path: Path) -> None:
    assert len(SWITCHES) == 7
    command, given = begun(["--pairs", "a.tsv", *(f"--{name}" for name in SWITCHES)], tmp_path)
    assert all(switches(given).values())
    assert parse([*command, "--resume"]).plan == given.plan
    off = parse(["--resume", "--out", str(tmp_path), *(f"--no-{name}" for name in SWITCHES)])
    assert not any(switches(off).values())


def test_the_shipped_models_command_is_resumed_by_adding_resume(tmp_path: Path) -> None:
    card = open_model("en-it").card
    spelled = card[card.index("-m transformer train") :].partition("\n\n")[0]
    words = shlex.split(spelled.replace("\\\n", " "))[3:]
    assert "--half" in words
    at = words.index("--out")
    command, given = begun(words[:at] + words[at + 2 :], tmp_path)
    assert f"--steps {given.plan.updates.steps} " in spelled
    assert parse([*command, "--resume"]).plan == given.plan


def test_every_option_may_be_given_again(tmp_path: Path) -> None:
    """None has its default value, so that an ignored option would be noticed."""
    options = """--task reverse --n-pairs 7 --pairs a.tsv --pairs b.en b.it --languages de fr
    --lowercase --vocab-size 70 --shared-vocabulary --longest 50
    --typing-noise 0.2 --min-words 2 --max-words 9 --max-characters 99 --max-ratio 3 --duplicates --faults
    --preset toy --d-model 16 --n-heads 2 --n-encoder-layers 1 --n-decoder-layers 1 --d-ff 8 --max-len 60
    --dropout 0.3 --norm-position post --activation gelu --positions learned --start-from en-it --steps 9
    --batch-tokens 77
    --accumulate 2 --schedule cosine --peak 0.1 --warmup 3 --smoothing 0.2 --clip 2 --precision bfloat16
    --compile --seed 5 --valid v.en v.it --validate-every 4 --patience 3 --save-every 2 --average 2
    --snapshots 4 --log-every 6 --tensorboard --half --max-file-mib 3 --license MIT --source-note Mine"""
    command, given = begun(options.split(), tmp_path)
    usual = dict(TrainingPlan().choices())
    usual.pop("model.leak")  # for live runs only, not an option
    assert not [name for name, value in given.plan.choices() if value == usual.get(name)]
    assert parse([*command, "--resume"]).plan == given.plan


def test_choices_of_an_earlier_version_are_read(tmp_path: Path) -> None:
    """An earlier version had --careless for --typing-noise, which still works, and no tasks."""
    command, given = begun(["--pairs", "a.tsv", "--careless", "0.2"], tmp_path)
    assert given.plan.data.typing_noise == 0.2
    old = given.plan.to_dict()
    old["data"]["careless"] = old["data"].pop("typing_noise")
    for later in ("task", "n_pairs", "shared_vocabulary"):
        del old["data"][later]
    TrainingFolder(tmp_path).plan.write_text(json.dumps(old), encoding="utf-8")
    assert (
        parse([*command, "--resume"]).plan == parse(["--resume", "--out", str(tmp_path)]).plan == given.plan
    )
    assert fingerprint(given.plan)["data"].keys() == old["data"].keys() - {"pairs"}


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("", "There is nothing to learn from"),
        ("--pairs no-such-file", "There is no file no-such-file"),
        ("--pairs a --valid no-such-file", "There is no file no-such-file"),
        ("--pairs a b c", "--pairs takes a file of pairs or two aligned files, not 3"),
        ("--pairs a --steps -1", "--steps is -1"),
        ("--pairs a --longest 200 --max-len 200", "has positions for 199 sub-words"),
        ("--pairs a --d-model 30 --n-heads 4", "d_model 30 can't be split"),
        ("--pairs a --peak 0", "--peak is 0"),
        ("--pairs a --peak inf", "--peak is inf: it must be a number"),
        ("--pairs a --peak nan", "--peak is nan"),
        ("--pairs a --max-ratio nan", "--max-ratio is nan: it must be at least 1"),
        (f"--pairs a --seed {2**63}", "--seed is 9223372036854775808: it must be from 0 to 2^63"),
        ("--pairs a --threads 0", "--threads is 0: it must be at least 1"),
        ("--pairs /dev/null", "--pairs /dev/null is not a regular file"),
        ("--pairs a --valid /dev/null", "--valid /dev/null is not a regular file"),
        ("--pairs a --max-file-mib 0", "--max-file-mib is 0"),
        ("--pairs a --snapshots 1", "--snapshots is 1"),
        ("--pairs a --smoothing 1", "--smoothing is 1"),
        ("--pairs a --warmup 5000 --steps 5000", "--warmup 5000 leaves nothing"),
        ("--pairs a --precision float16 --device cpu", "float16 needs a GPU"),
        ("--resume", "There is no run in"),
        ("--task reverse --pairs a.tsv", "--task makes its own pairs"),
        ("--task reverse --n-pairs 0", "--n-pairs is 0"),
        ("--task=reverse --steps 3 --warmup 3", "--warmup 3 leaves nothing of --steps 3"),
        ("--task toy-en-it --threads 0", "--threads is 0"),
        ("--task toy-en-it --seed -1", "--seed is -1"),
    ],
)
def test_impossible_options_get_a_one_line_message(
    arguments: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", *arguments.split(), "--out", str(tmp_path / "model")]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert printed.err.count("\n") == 1
