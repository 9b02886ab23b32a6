"""python -m transformer train --task: a built-in task, from its grammar to a model with its card."""

from __future__ import annotations

import copy
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch
from tqdm import tqdm

from transformer.checkpoints.folder import LoadedModel, save_model
from transformer.cli.command import STOPPED, CommandError
from transformer.data.tasks import TASKS, SentencePair
from transformer.device import choose_device
from transformer.model.transformer import Transformer
from transformer.training.card import Making, model_card
from transformer.training.memory import keep_freed_memory
from transformer.training.recipe import Recipe, Training, prepare, training_pairs
from transformer.training.snapshots import drop_snapshots, save_history, save_snapshot, snapshot_steps
from transformer.training.task_evaluation import head_alignments, translations
from transformer.training.trainer import TrainingStep

HELD_OUT = 1000
HELD_OUT_SEED = 2017
LAST_STEPS = 50


@dataclass(frozen=True)
class Train:
    """Train a model on a built-in task, save it, and print its score on 1,000 held-out sentences.

    Attributes:
        task: which task.
        out: the folder to write; build/models/TASK when left out.
        overwrite: replace a model that is in the folder.
        seed: of the sentences and of the first weights.
        device: cpu, cuda or mps; the fastest there is when left out.
        threads: of PyTorch on the CPU.
        n_pairs: how many sentence pairs to train on.
        snapshots: keep the weights of so many moments of the training too, the first and the last among them;
            each is twice as late as the one before. 0 keeps none.
    """

    task: Literal["toy-en-it"] = "toy-en-it"
    out: Path | None = None
    overwrite: bool = False
    seed: int = 1
    device: str | None = None
    threads: int = 2
    n_pairs: int = Recipe().n_pairs
    snapshots: int = 0


@dataclass(frozen=True)
class Course:
    """What happened in a training.

    Attributes:
        updates: all of them.
        loads: how many processes wanted to run at each.
        snapshots: copies of the model by step, without the finished one.
    """

    updates: list[TrainingStep]
    loads: list[float]
    snapshots: dict[int, Transformer]


def run_training(command: Train) -> int:
    """Train, evaluate, save."""
    folder = command.out or Path("build") / "models" / command.task
    _check_settings(command)
    device = choose_device(command.device)
    is_new = _reserve(folder, overwrite=command.overwrite)
    torch.set_num_threads(command.threads)
    if device.type == "cpu":
        keep_freed_memory()
    try:
        loaded, course = _train(command, device)
    except KeyboardInterrupt:
        if is_new:
            folder.rmdir()
        kept = "nothing was saved" if is_new else f"nothing was saved, and {folder} is as it was"
        print(f"\nStopped before the training was over: {kept}.", file=sys.stderr)
        return STOPPED
    try:
        drop_snapshots(folder)
        save_model(folder, loaded)
        if command.snapshots:
            _save_snapshots(folder, course)
    except OSError as error:
        raise CommandError(f"The model can't be written to {folder} ({error.strerror}).") from error
    print(f"Saved in {folder}.")
    return 0


def _check_settings(command: Train) -> None:
    for name in ("n_pairs", "threads"):
        if getattr(command, name) < 1:
            option = name.replace("_", "-")
            raise CommandError(f"--{option} is {getattr(command, name)}: it must be at least 1.")
    if command.snapshots < 0 or command.snapshots == 1:
        raise CommandError(f"--snapshots is {command.snapshots}: take 0 for none, or at least 2.")
    if not 0 <= command.seed < 2**63:
        raise CommandError(f"--seed is {command.seed}: it must be from 0 to 2^63 - 1.")


def _reserve(folder: Path, *, overwrite: bool) -> bool:
    """Make the folder before the work begins; tells whether it is new."""
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        raise CommandError(
            f"{folder} is not empty: name another folder with --out, or replace the model with --overwrite."
        )
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(
            f"{folder} can't be made ({error.strerror}): name another folder with --out."
        ) from error
    if not os.access(folder, os.W_OK):
        raise CommandError(f"{folder} can't be written to: name another folder with --out.")
    return is_new


def _train(command: Train, device: torch.device) -> tuple[LoadedModel, Course]:
    task, recipe = TASKS[command.task], replace(Recipe(), n_pairs=command.n_pairs)
    started, cpu_started = time.perf_counter(), time.process_time()
    pairs = list(
        tqdm(training_pairs(task, recipe, command.seed), "sentences", recipe.n_pairs, unit="", leave=False)
    )
    training = prepare(task, pairs, recipe, seed=command.seed, device=device)
    steps = snapshot_steps(training.n_steps, command.snapshots)[:-1] if command.snapshots else ()
    course = _run_steps(training, steps)
    last_losses = [update.loss for update in course.updates[-LAST_STEPS:]]
    making = Making(
        command=_spelled(command),
        seed=command.seed,
        recipe=recipe,
        n_different=len({(pair.source, pair.target) for pair in pairs}),
        n_steps=training.n_steps,
        wall_seconds=time.perf_counter() - started,
        cpu_seconds=time.process_time() - cpu_started,
        n_threads=command.threads,
        other_load=sum(course.loads) / len(course.loads) - command.threads,
        final_loss=sum(last_losses) / len(last_losses),
        longest=max(len(pair.source) for pair in pairs),
        snapshot_steps=steps,
    )
    return _evaluate(training.finish(), task.held_out(HELD_OUT, HELD_OUT_SEED), making), course


def _run_steps(training: Training, snapshots: Sequence[int]) -> Course:
    """Go through the training with a progress bar, and copy the model after each of the given steps."""
    model, n_tokens, started = training.model.model, 0, time.perf_counter()
    course = Course([], [], {0: copy.deepcopy(model)} if 0 in snapshots else {})
    with tqdm(training.steps, "training", training.n_steps, unit="step") as bar:
        for step in bar:
            course.updates.append(step)
            course.loads.append(os.getloadavg()[0])
            if step.step in snapshots:
                course.snapshots[step.step] = copy.deepcopy(model)
            n_tokens += step.n_tokens
            speed = n_tokens / (time.perf_counter() - started)
            bar.set_postfix_str(f"loss {step.loss:.3f}, {speed:,.0f} tokens/s, rate {step.learning_rate:.1e}")
    return course


def _save_snapshots(folder: Path, course: Course) -> None:
    for step, model in course.snapshots.items():
        save_snapshot(folder, step, model)
    save_history(folder, course.updates)


def _evaluate(loaded: LoadedModel, held_out: Sequence[SentencePair], making: Making) -> LoadedModel:
    """Print the score on sentences that were not trained on, and write it into the model's card."""
    translated = list(tqdm(translations(loaded, held_out), "held out", len(held_out), unit="", leave=False))
    exact = sum(translation.exact for translation in translated)
    heads = head_alignments(loaded, held_out)
    print(f"Trained in {making.wall_seconds:.0f} s ({making.cpu_seconds:.0f} s of CPU time).")
    print(f"Exact matches: {exact} of {len(translated)} held-out sentences ({exact / len(translated):.1%}).")
    print(
        f"Cross-attention: layer {heads[0].layer}, head {heads[0].head} looks at a word that the grammar "
        f"aligns for {heads[0].accuracy:.1%} of the target words."
    )
    return replace(loaded, card=model_card(loaded, making, translated, heads))


def _spelled(command: Train) -> str:
    """Spell the command so that it makes the same model again."""
    return (
        f"python -m transformer train --task {command.task} --seed {command.seed} "
        f"--n-pairs {command.n_pairs} --threads {command.threads}"
        + (f" --snapshots {command.snapshots}" if command.snapshots else "")
    )
