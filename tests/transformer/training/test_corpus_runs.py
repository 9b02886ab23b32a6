"""A training run over files of pairs: what it reads, saves, reports and produces."""

from __future__ import annotations

import gzip
import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tests.transformer.training.runs import TINY, metrics, state, train, write_pairs
from transformer.checkpoints.opening import open_model
from transformer.cli.train_options import parse
from transformer.data.corpus import read_references
from transformer.data.encoded import EncodedCorpus
from transformer.model.transformer import Transformer
from transformer.training.choices import changes, options
from transformer.training.evaluation.translations import score, translate_all
from transformer.training.finishing import average, drop_weights, saved_weights
from transformer.training.metrics import MetricsLog
from transformer.training.plan import CheckPlan, ModelPlan, PlanError, TrainingPlan, UpdatePlan
from transformer.training.snapshots import open_snapshots

CHOICES = [*TINY, "--average", "3", "--validate-every", "8", "--tensorboard", "--half"]
CHOICES += ["--careless", "0.2", "--snapshots", "4"]
NOTES = ["--license", "CC BY 2.0 FR", "--source-note", "Made by a grammar."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of pairs with faults, a training run over them, and its output."""
    folder = tmp_path_factory.mktemp("corpus")
    pairs = write_pairs(folder / "pairs.tsv", 110)
    lines = pairs.read_text(encoding="utf-8").splitlines()
    faults = [lines[0], lines[1], "no tab", "a\tb c d e f g h i", f"{'the dog ' * 40}\t{'il cane ' * 40}"]
    pairs.write_text("\n".join([*lines, *faults]) + "\n", encoding="utf-8")
    valid = write_pairs(folder / "valid.tsv", 5, seed=4)
    given = ["--pairs", str(pairs), "--valid", str(valid)]
    said = train(folder, *given, *CHOICES, *NOTES, "--out", str(folder / "model"))
    (folder / "said").write_text(said, encoding="utf-8")
    return folder


@pytest.fixture
def said(folder: Path) -> str:
    return (folder / "said").read_text(encoding="utf-8")


def card_of(out: Path) -> str:
    return (out / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def card(folder: Path) -> str:
    return card_of(folder / "model")


def test_what_is_left_out_is_counted_and_said(folder: Path, said: str, card: str) -> None:
    assert "115 sentence pairs read, 111 kept." in said
    for reason in ("2 left out: the same pair came before", "1 left out: no tab", "1 left out: one side has"):
        assert reason in said
    (line,) = (line["data"] for line in metrics(folder / "model") if "data" in line)
    assert line["report"]["seen"] == 115
    assert line["report"]["left_out"]["no tab"] == 1
    assert "Of 115 pairs in the files:" in card
    assert "- 2 left out: the same pair came before" in card


def test_too_many_sub_words_are_counted_too(folder: Path, said: str, card: str) -> None:
    corpus = EncodedCorpus(folder / "model" / "training" / "corpus")
    n_long = corpus.description["left_out"]
    assert isinstance(n_long, int)
    assert n_long >= 1
    assert f"{n_long} left out: more than 60 sub-words" in said
    assert f"- {n_long} left out: more than 60 sub-words" in card
    assert 111 < len(corpus) + n_long < 111 * 1.4, "a fifth of the pairs come once more, with typing noise"


def test_metrics(folder: Path) -> None:
    lines = metrics(folder / "model")
    updates = [line for line in lines if "loss" in line]
    assert [line["step"] for line in updates] == [3, 6, 9, 12, 15, 18, 20]
    assert updates[-1]["loss"] < updates[0]["loss"]
    assert updates[0]["learning_rate"] == pytest.approx(1e-3 * 3 / 5)
    assert all(line["gradient_norm"] > 0 and line["tokens"] > 0 for line in updates)
    validations = [line for line in lines if "bleu" in line]
    assert [line["step"] for line in validations] == [8, 16, 20]
    assert all(line["valid_loss"] > 0 and 0 <= line["chrf"] <= 100 for line in validations)


def test_tensorboard_shows_the_same(folder: Path) -> None:
    events = EventAccumulator(str(folder / "model" / "training" / "tensorboard")).Reload()
    losses = {event.step: event.value for event in events.Scalars("loss")}
    expected = {line["step"]: line["loss"] for line in metrics(folder / "model") if "loss" in line}
    assert losses == pytest.approx(expected)
    assert [event.step for event in events.Scalars("bleu")] == [8, 16, 20]


def test_the_bar_and_the_validations_are_shown(said: str) -> None:
    assert "tokens/s" in said
    assert "rate" in said
    assert "Update 8: validation loss" in said
    assert "the best so far" in said


def test_the_last_weights_are_kept_and_averaged(folder: Path) -> None:
    kept = saved_weights(folder / "model" / "training")
    assert list(kept) == [12, 16, 20]
    mean = average(list(kept.values()))
    name = "encoder.layers.0.self_attn.w_q.weight"
    three = [load_file(path)[name] for path in kept.values()]
    torch.testing.assert_close(mean[name], (three[0] + three[1] + three[2]) / 3)
    assert torch.equal(
        three[2], load_file(folder / "model" / "training" / "last" / "model.safetensors")[name]
    )


def test_the_card_tells_how_often_the_data_was_gone_through(folder: Path, card: str) -> None:
    corpus = EncodedCorpus(folder / "model" / "training" / "corpus")
    one_round = sum(len(corpus.example(index).tgt) - 1 for index in range(len(corpus)))
    learnt = [line for line in metrics(folder / "model") if "loss" in line][-1]["tokens"]
    assert f"{learnt:,} target sub-words in\n  {learnt / one_round:.1f} rounds through the data" in card


def first_generator(out: Path) -> torch.Tensor:
    """The initial generator for the seed, in a snapshot's precision."""
    config = open_model(str(out)).model.config
    return Transformer(config, torch.Generator().manual_seed(1)).generator.weight.half().float()


def test_snapshots_can_be_opened(folder: Path) -> None:
    snapshots = open_snapshots(str(folder / "model"))
    assert snapshots.steps == (0, 5, 10, 20)
    first = first_generator(folder / "model")
    assert torch.equal(snapshots.open(0).model.generator.weight, first)
    assert not torch.equal(snapshots.open(5).model.generator.weight, first)
    assert snapshots.history.steps == (3, 6, 9, 12, 15, 18, 20)


def test_the_model_is_the_best_of_its_candidates(folder: Path, card: str) -> None:
    """The card lists best, last and average with their scores; the finished model has the first ones."""
    rows = [line.split("|") for line in card.splitlines() if line.startswith("| the ")]
    assert len(rows) == 3
    scores = [float(row[3]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    loaded = open_model(str(folder / "model"))
    data = list(read_references(folder / "valid.tsv"))
    translated = translate_all(loaded, [one.source for one in data])
    found = score(translated, [one.references for one in data])
    assert (f"{found.bleu:.1f}", f"{found.chrf:.1f}") == (rows[0][2].strip(), rows[0][3].strip())
    assert "which are the model's" in rows[0][1]
    assert load_file(folder / "model" / "model.safetensors")["generator.bias"].dtype == torch.float16


def test_the_card_tells_all(folder: Path, card: str) -> None:
    assert card.startswith("# model\n")
    assert "Licence: CC BY 2.0 FR" in card
    for told in ("Made by a grammar.", "20 updates", "seed 1", "float16", "d_model 16"):
        assert told in card, told
    assert "pairs.tsv; 20% of them once more" in card
    assert str(folder) not in card.replace(str(folder / "pairs.tsv"), "").replace(
        str(folder / "valid.tsv"), ""
    )
    wrong = card.partition("## Translations that go wrong")[2]
    assert wrong.count(" → ") == 5


def test_the_command_in_the_card_makes_the_same_choices(folder: Path, card: str) -> None:
    (command,) = (line for line in card.splitlines() if line.startswith("    python -m transformer train "))
    arguments = shlex.split(command)[4:]
    saved = parse(["--resume", "--out", str(folder / "model")]).plan
    assert parse(arguments).plan == saved


@pytest.mark.slow
def test_two_aligned_files_and_several_corpora(folder: Path, tmp_path: Path) -> None:
    lines = [line.split("\t") for line in (folder / "valid.tsv").read_text(encoding="utf-8").splitlines()]
    english, italian = tmp_path / "europarl.en", tmp_path / "europarl.it.gz"
    english.write_text("\n".join(source for source, _ in lines), encoding="utf-8")
    italian.write_bytes(gzip.compress("\n".join(target for _, target in lines).encode()))
    out, more = tmp_path / "model", write_pairs(tmp_path / "more.tsv", 40)
    train(
        tmp_path,
        *["--pairs", str(english), str(italian), "--pairs", str(more)],
        *[*TINY, "--steps", "6", "--lowercase", "--out", str(out)],
    )
    corpus = EncodedCorpus(out / "training" / "corpus")
    different = {"\t".join(line) for line in lines} | set(more.read_text(encoding="utf-8").splitlines())
    assert len(corpus) + int(str(corpus.description["left_out"])) == len(different) > 40
    loaded = open_model(str(out))
    first = loaded.source.decode(corpus.example(0).src)
    assert first == lines[0][0].lower()
    assert "Nothing was validated. These are the last weights." in loaded.card


def assert_last_snapshot_is_of_the_last_update(out: Path, step: int) -> None:
    snapshots = open_snapshots(str(out))
    assert snapshots.steps[-1] == snapshots.history.steps[-1] == step
    opened = snapshots.open(step).model.state_dict()
    last = load_file(out / "training" / "last" / "model.safetensors")
    assert all(torch.equal(opened[name], weight.half().float()) for name, weight in last.items())


@pytest.mark.slow
def test_the_last_snapshot_is_no_average(folder: Path, tmp_path: Path) -> None:
    """The finished model is the mean of the last three weights; the last snapshot has the last ones."""
    out = tmp_path / "model"
    given = ["--pairs", str(folder / "pairs.tsv"), *TINY, "--snapshots", "3"]
    said = train(tmp_path, *given, "--average", "3", "--out", str(out))
    assert "Saved the average of the last 3 saved weights" in said
    assert_last_snapshot_is_of_the_last_update(out, 20)
    name = "generator.weight"
    finished, last = open_model(str(out)), open_snapshots(str(out)).open(20)
    assert not torch.equal(finished.model.state_dict()[name].half(), last.model.state_dict()[name].half())


@pytest.mark.slow
def test_the_last_weights_are_kept_once(folder: Path, tmp_path: Path) -> None:
    """If they are the finished model, they are saved there, in full precision."""
    out = tmp_path / "model"
    train(tmp_path, "--pairs", str(folder / "pairs.tsv"), *TINY, "--snapshots", "3", "--out", str(out))
    assert not (out / "snapshots" / "20").exists()
    opened = open_snapshots(str(out)).open(20).model.state_dict()
    last = load_file(out / "training" / "last" / "model.safetensors")
    assert all(torch.equal(opened[name], weight) for name, weight in last.items())


@pytest.mark.slow
def test_a_run_that_stopped_early_and_is_resumed_with_other_options(folder: Path, tmp_path: Path) -> None:
    """A rate near 0 improves nothing; snapshots and card reflect the updates that were made.

    The last snapshot is of update 8, for which the metrics have no loss.
    """
    out = tmp_path / "model"
    given = ["--pairs", str(folder / "pairs.tsv"), "--valid", str(folder / "valid.tsv"), *TINY]
    still = ["--peak", "1e-12", "--validate-every", "2", "--patience", "3", "--snapshots", "4"]
    still += ["--average", "2"]  # chosen among equal scores, so that the last weights are saved separately
    said = train(tmp_path, *given, *still, "--out", str(out))
    assert "Stopped early: 3 validations without improvement" in said
    assert "Saved" in said
    assert [line["step"] for line in metrics(out) if "bleu" in line] == [2, 4, 6, 8]
    assert_last_snapshot_is_of_the_last_update(out, 8)
    snapshots = open_snapshots(str(out))
    assert snapshots.steps == (0, 5, 8)
    assert snapshots.history.steps == (3, 6, 8)
    assert snapshots.history.losses[2] == pytest.approx(snapshots.history.losses[1], rel=0.05)
    assert snapshots.history.learning_rates[2] == pytest.approx(
        UpdatePlan(peak=1e-12, warmup=5, steps=20).rate(16)(8), rel=1e-3
    )
    card = card_of(out)
    assert "- Training: 8 of 20 planned updates, stopped early, of a batch of up to 200 positions" in card
    assert "| the weights of the best validation, after 2 updates | " in card
    assert "options were changed" not in card

    train(tmp_path, "--resume", "--out", str(out), "--patience", "0", "--peak", "0.001")
    train(tmp_path, "--resume", "--out", str(out), "--steps", "22")
    card = card_of(out)
    assert "- Training: 22 updates of a batch of up to 200 positions" in card
    changed = card.partition("may give a different model, as options were changed during the run:")[2]
    assert changed.startswith(
        "\n\n"
        "    after update 8: --peak 0.001, before it 1e-12\n"
        "    after update 8: --patience 0, before it 3\n"
        "    after update 20: --steps 22, before it 20\n\n- Model:"
    )
    best = state(out)[1]["best_step"]
    assert f"| the weights of the best validation, after {best} updates" in card


@pytest.mark.slow
def test_snapshots_of_a_training_that_was_begun_without(folder: Path, tmp_path: Path) -> None:
    """Past weights can't be recovered, which is reported; the initial ones are recreated from the seed."""
    out = tmp_path / "model"
    train(tmp_path, "--pairs", str(folder / "pairs.tsv"), *TINY, "--steps", "6", "--out", str(out))
    said = train(tmp_path, "--resume", "--steps", "20", "--snapshots", "5", "--out", str(out))
    assert "The weights after 2, 5 updates were not saved at the time" in said
    snapshots = open_snapshots(str(out))
    assert snapshots.steps == (0, 10, 20)
    assert torch.equal(snapshots.open(0).model.generator.weight, first_generator(out))
    assert "were not saved at the time" not in train(tmp_path, "--resume", "--half", "--out", str(out)), (
        "once is enough"
    )


def test_choices_survive_a_file_and_a_command_line() -> None:
    plan = parse([*CHOICES, *NOTES, "--pairs", "a b.tsv", "--pairs", "c.en", "c.it", "--valid", "d.tsv"]).plan
    assert plan.data.pairs == ((Path("a b.tsv"),), (Path("c.en"), Path("c.it")))
    assert TrainingPlan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan
    assert parse(shlex.split(options(plan))).plan == plan
    assert options(TrainingPlan()) == ""


def test_choices_of_another_version_are_refused() -> None:
    values = TrainingPlan().to_dict()
    values["updates"]["colour"] = "red"
    with pytest.raises(PlanError, match="colour"):
        TrainingPlan.from_dict(values)
    with pytest.raises(PlanError, match="data"):
        TrainingPlan.from_dict({})


def test_only_what_changed_is_said() -> None:
    old = TrainingPlan()
    assert changes(old, old) == []
    assert changes(old, replace(old, updates=UpdatePlan(steps=7))) == [
        "--steps was 10000 and is 7 from here on."
    ]
    with pytest.raises(PlanError, match="--seed was 1"):
        changes(old, replace(old, updates=UpdatePlan(seed=2)))
    with_files = replace(old, checks=CheckPlan(valid=(Path("v.tsv"),)))
    assert changes(old, with_files) == ["--valid was not given and is v.tsv from here on."]


def test_sizes_that_were_left_to_the_preset_are_named() -> None:
    """Naming the preset's own size is no change; naming another is refused with the preset's number."""
    old = TrainingPlan()
    d_model = old.model.config(src_vocab_size=1, tgt_vocab_size=1).d_model
    assert changes(old, replace(old, model=ModelPlan(d_model=d_model))) == []
    with pytest.raises(PlanError, match=f"--d-model was {d_model} when this run started: with 32 "):
        changes(old, replace(old, model=ModelPlan(d_model=32)))


def test_weights_of_lost_updates_are_dropped(tmp_path: Path) -> None:
    for step in (2, 4, 6, 8):
        (tmp_path / f"weights-{step}.safetensors").touch()
    drop_weights(tmp_path, last=2, step=6)
    assert list(saved_weights(tmp_path)) == [4, 6]
    drop_weights(tmp_path, last=0, step=6)
    assert not saved_weights(tmp_path)


def test_metrics_go_on_after_what_a_state_knows_of(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    log = MetricsLog(path)
    log.write({"step": 1, "loss": 2.0, "name": "è"})
    known = log.position()
    log.write({"step": 2, "loss": float("nan")})
    log.close()
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[1]) == {"step": 2, "loss": None}
    with path.open("a") as file:
        file.write('{"step": 3, "lo')  # power failed here
    log = MetricsLog(path, keep=known)
    log.write({"step": 2, "loss": 1.0})
    log.close()
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1, 2]
    assert json.loads(lines[0])["name"] == "è"


@pytest.mark.slow
def test_no_number_of_steps_is_one_round(tmp_path: Path) -> None:
    """The warmup is a twentieth of it; the card shows the command as given."""
    pairs, out = write_pairs(tmp_path / "pairs.tsv", 40), tmp_path / "model"
    train(tmp_path, "--pairs", str(pairs), *TINY, "--steps", "0", "--warmup", "0", "--out", str(out))
    progress = state(out)[1]
    assert (progress["epoch"], progress["plan"]["updates"]["steps"]) == (0, progress["step"])
    assert progress["plan"]["updates"]["warmup"] == max(1, round(0.05 * progress["step"]))
    assert progress["batch"] == progress["step"]
    card = card_of(out)
    assert "in 1.0 rounds through the data" in " ".join(card.split())
    assert "--steps 0 --" in card
