"""Finishes `python -m transformer train`: scores and saves the best weights, with card and snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from tqdm import tqdm

from transformer.checkpoints.folder import open_saved, save_model
from transformer.data.tasks import TASKS
from transformer.experience import Experience
from transformer.loaded import LoadedModel
from transformer.training.calibration import calibrate
from transformer.training.card import RunRecord, task_card, translator_card
from transformer.training.evaluation.tasks import head_alignments, translations
from transformer.training.evaluation.validation import Validation
from transformer.training.finishing import LAST, finish
from transformer.training.folder import TrainingFolder
from transformer.training.loop import TrainingRun
from transformer.training.metrics import LoggedUpdate
from transformer.training.snapshots import save_history, save_snapshot

HELD_OUT, HELD_OUT_SEED = 1000, 2017
"""Number and seed of the sentences on which a built-in task's model is scored."""
LAST_STEPS = 50
MEBIBYTE = 1 << 20


def finish_run(
    loaded: LoadedModel,
    folder: TrainingFolder,
    run: TrainingRun,
    validation: Validation | None,
    record: RunRecord,
) -> str:
    """Choose, score and save the best weights; returns a message on what was saved.

    Raises:
        OSError: when the model can't be written.
        NonFiniteError: when weights overflow half precision.
    """
    plan, result = run.plan, run.plan.result
    loaded.model.eval()
    candidates = finish(loaded, folder, validation, result.dtype)
    updates = run.logged_updates()
    if plan.data.task is None:
        translated = [] if validation is None else validation.translate(loaded)
        card = translator_card(loaded, record, candidates, translated)
    else:
        card = _scored(loaded, record, updates)
    largest = None if result.max_file_mib is None else result.max_file_mib * MEBIBYTE
    finished = replace(loaded, card=card, experience=_experience(loaded, validation))
    save_model(folder.out, finished, dtype=result.dtype, max_file_bytes=largest)
    if plan.checks.snapshots:
        if candidates[0].name != LAST:  # the last snapshot differs from the finished model
            save_snapshot(folder.out, run.progress.step, open_saved(str(folder.last)).model)
        save_history(folder.out, updates)
    return f"Saved {candidates[0].name} in {folder.out}."


def _experience(loaded: LoadedModel, validation: Validation | None) -> Experience | None:
    """The model's experience, calibrated if there are validation pairs."""
    seen = loaded.experience
    return seen if seen is None or validation is None else calibrate(seen, loaded, validation.sources)


def _scored(loaded: LoadedModel, record: RunRecord, updates: Sequence[LoggedUpdate]) -> str:
    """Print scores on the task's held-out sentences; returns the card."""
    assert record.plan.data.task is not None
    held_out = TASKS[record.plan.data.task].held_out(HELD_OUT, HELD_OUT_SEED)
    translated = list(tqdm(translations(loaded, held_out), "held out", len(held_out), unit="", leave=False))
    exact = sum(translation.exact for translation in translated)
    heads = head_alignments(loaded, held_out)
    print(f"Trained in {record.progress.seconds:.0f} s.")
    print(f"Exact matches: {exact} of {len(translated)} held-out sentences ({exact / len(translated):.1%}).")
    print(
        f"Cross-attention: layer {heads[0].layer}, head {heads[0].head} attends to an aligned word for "
        f"{heads[0].accuracy:.1%} of the target words."
    )
    final_loss = fmean(update.loss for update in updates[-LAST_STEPS:])
    return task_card(loaded, record, translated, heads, final_loss)
