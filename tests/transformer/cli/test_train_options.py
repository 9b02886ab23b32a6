"""The options of a training run, and of resuming it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

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
    """A command and its options, saved as by a training run."""
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
    """None has its default, so that one that is not read would be noticed."""
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
    usual.pop("model.mistake")  # the lab's alone: no option
    assert not [name for name, value in given.plan.choices() if value == usual.get(name)]
    assert parse([*command, "--resume"]).plan == given.plan


def test_choices_of_an_earlier_version_are_read(tmp_path: Path) -> None:
    """It had --careless for --typing-noise, which still works, and no tasks."""
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
