"""A word of the target, the row that predicts it, and how changing it affects the rest."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from transformer.model_input import padded
from transformer.run import Run, force
from viz.pages.learn.lessons.format.subject import Subject


class Written(NamedTuple):
    """A token of the target and the row that predicts it.

    Attributes:
        step: the token's index in the target.
        row: the decoder row: the position of the token before it.
        token_id, token: the predicted token.
    """

    step: int
    row: int
    token_id: int
    token: str


def possible_steps(subject: Subject) -> dict[int, str]:
    """The target's tokens that contain a letter or digit, by step; its first if there are none."""
    run, coder, ends = subject.run, subject.loaded.target, subject.loaded.end_ids
    tokens = {step: coder.token(one.token_id) for step, one in enumerate(run.steps)}
    found = {
        step: token
        for step, token in tokens.items()
        if any(map(str.isalnum, token)) and run.steps[step].token_id not in ends
    }
    return found or {0: tokens[0]}


def written_of(subject: Subject) -> Written:
    """The token that the reader chose or, by default, the middle one of the target's whole words."""
    run, coder = subject.run, subject.loaded.target
    possible = list(possible_steps(subject))
    sizes = Counter(run.target.word_of)
    word_of = dict(enumerate(run.target.word_of))
    whole = [step for step in possible if sizes[word_of.get(step, -1)] == 1] or possible
    step = subject.step if subject.step in possible else whole[len(whole) // 2]
    token_id = run.steps[step].token_id
    row = len(run.target_ids) - len(run.target.ids) - 1 + step
    return Written(step, row, token_id, coder.token(token_id))


def changes_by_last(subject: Subject) -> NDArray[np.float32]:
    """(T,): the largest change of each row's output when the last token read is replaced."""
    return subject.kept("changes by last", lambda: _changes_by_last(subject))


@torch.inference_mode()
def _changes_by_last(subject: Subject) -> NDArray[np.float32]:
    run, loaded = subject.run, subject.loaded
    other = list(run.target_ids)
    other[-1] = other[0]
    src = None if run.encoder_input is None else padded(loaded, [run.encoder_input.ids])
    outputs = [loaded.model(src, padded(loaded, [ids])) for ids in (run.target_ids, other)]
    changes: NDArray[np.float32] = (outputs[0] - outputs[1])[0].abs().amax(dim=-1).cpu().numpy()
    return changes


def forced_wrong(subject: Subject) -> tuple[Run, int]:
    """The run with the best other token forced in place of the chosen one, and that token's id."""
    return subject.kept("forced wrong", lambda: _forced_wrong(subject))


def _forced_wrong(subject: Subject) -> tuple[Run, int]:
    written, run = written_of(subject), subject.run
    wrong = next(index for index in run.steps[written.step].top_ids if index != written.token_id)
    ids = list(run.target.ids)
    ids[written.step] = wrong
    return force(
        subject.loaded, run.source, subject.loaded.target.describe_ids(ids), ends=run.finished
    ), wrong


def later_probabilities(subject: Subject) -> tuple[float, float]:
    """Geometric mean of the later tokens' probabilities: after the model's own token, after the wrong one."""
    step, wrong = written_of(subject).step + 1, forced_wrong(subject)[0]
    # A target that reached its limit is forced without its last token.
    told = [
        [max(one.probability, 1e-30) for one in run.steps[step : len(wrong.steps)]]
        for run in (subject.run, wrong)
    ]
    own, after = (float(np.exp(np.mean(np.log(probabilities)))) for probabilities in told)
    return own, after
