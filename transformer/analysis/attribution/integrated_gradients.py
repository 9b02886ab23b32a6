"""Integrated gradients over token embeddings (Sundararajan et al. 2017, arXiv:1703.01365, section 3).

Source and prefix move together along the straight line from a baseline to the sentence, so their scores share
one sum: the answer minus the baseline's answer (completeness, proposition 1). The tokens that frame a
sentence (<bos>, <eos>) keep their embeddings, as in Inseq; positions and segments are not moved.

The sum is exact only in the limit of infinitely many points: each ReLU that switches on the way makes the
slope jump, mostly halfway, where the answer is decided, and not near the baseline. Gauss-Legendre quadrature
is meant for smooth functions and gains nothing there. So points are added where they are missed: in the
intervals whose ends have the most different slopes, or leave most of the answer's change unexplained.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.analysis.interventions.knock_outs import embedded, neutral_embedding, tokens_path
from transformer.analysis.interventions.outcomes import MOST_LOGITS, MOST_ROWS, OnProgress
from transformer.analysis.interventions.questions import Question, suppressed_ids
from transformer.loaded import LoadedModel
from transformer.model.trace import NO_TAP, Edit, Editor, Stack, Tap
from transformer.model.transformer import Transformer
from transformer.model_input import Input, padded
from transformer.run import Run

Baseline = Literal["unknown", "zero", "mean"]
"""Embedding that stands for no word: that of <unk> (without one, the mean), zeros, or the mean of all."""
BASELINES: tuple[Baseline, ...] = get_args(Baseline)
Rule = Literal["adaptive", "gauss-legendre"]
"""Where the points are: where the slope changes, for the trapezoidal rule; or as in Captum and Inseq."""
N_STEPS = 200
"""Points of the path. In en-it, sums are then off by 0.04 on average (by Gauss-Legendre quadrature: 0.11).

With 50, the default of Captum and Inseq, they would be off by up to a third.
"""
N_EVEN = 33
"""Points of the adaptive rule before any interval is divided."""
N_ADDED = 16
"""Most points that are added at a time."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class IntegratedGradients:
    """The scores of one question.

    Attributes:
        by_stack: the tokens' scores by stack, (tokens,): positive where the token spoke for the output.
            Tokens after the question's last row have 0.
        answer: the answer of the run.
        baseline_answer: the answer of the baseline.
    """

    by_stack: dict[Stack, Floats]
    answer: float
    baseline_answer: float

    @property
    def completeness_error(self) -> float:
        """The sum of all scores minus the difference of the two answers; 0 for infinitely many steps.

        In a mixture of experts the jumps where a router changes its choice remain: no gradient shows them.
        """
        total = sum(float(scores.sum()) for scores in self.by_stack.values())
        return total - (self.answer - self.baseline_answer)


def integrated_gradients(
    loaded: LoadedModel,
    run: Run,
    question: Question,
    baseline: Baseline = "unknown",
    *,
    n_steps: int = N_STEPS,
    rule: Rule = "adaptive",
    on_progress: OnProgress | None = None,
) -> IntegratedGradients:
    """The scores of all tokens of source and prefix.

    Args:
        loaded: a model with a generator; its frozen weights get no gradients.
        run: its run.
        question: what is asked of the output.
        baseline: see `Baseline`.
        n_steps: number of points, at least 2.
        rule: see `Rule`.
        on_progress: see `OnProgress`; called with the number of steps.
    """
    path = _Path.of(loaded, run, question, baseline)

    def sample(points: Floats, before: int = 0) -> tuple[Floats, Floats]:
        found = []
        for start in range(0, len(points), path.at_once):
            found.append(path.slopes(torch.from_numpy(points[start : start + path.at_once])))
            if on_progress is not None:
                on_progress(before + min(start + path.at_once, len(points)), n_steps)
        answers, slopes = zip(*found, strict=True)
        return np.concatenate(answers), np.concatenate(slopes)

    if rule == "adaptive":
        scores = _adaptive(sample, n_steps)
    else:
        points, weights = np.polynomial.legendre.leggauss(n_steps)
        scores = weights / 2 @ sample((points + 1) / 2)[1]
    by_stack = {}
    for stack, length in path.lengths.items():
        own, scores = np.split(scores, [len(path.ids[stack])])
        by_stack[stack] = np.pad(own, (0, length - len(own)))
    with torch.inference_mode():
        _, (first, last) = path.answers(torch.tensor([0.0, 1.0]))
    return IntegratedGradients(by_stack, float(last), float(first))


def _adaptive(sample: Callable[[Floats, int], tuple[Floats, Floats]], n_steps: int) -> Floats:
    """The integral of the slopes: (tokens,).

    `sample` gets points and the number of earlier ones; it returns the answers (n,) and the slopes
    (n, tokens) there.
    """
    points = np.linspace(0, 1, min(N_EVEN, n_steps))
    answers, slopes = sample(points, 0)
    while len(points) < n_steps:
        widths, total = np.diff(points), slopes.sum(axis=1)
        # The known error of the sum, and the expected one of each token if its slope jumps somewhere between.
        errors = np.abs(widths * (total[1:] + total[:-1]) / 2 - np.diff(answers))
        errors += widths * np.abs(np.diff(slopes, axis=0)).sum(axis=1) / 4
        pieces = np.ones(len(widths), dtype=int)
        for _ in range(min(N_ADDED, n_steps - len(points))):
            pieces[np.argmax(errors / pieces)] += 1
        between = zip(points, points[1:], pieces + 1, strict=False)
        added = np.concatenate([np.linspace(*one)[1:-1] for one in between])
        more_answers, more_slopes = sample(added, len(points))
        points = np.concatenate([points, added])
        order = np.argsort(points)
        points = points[order]
        answers = np.concatenate([answers, more_answers])[order]
        slopes = np.concatenate([slopes, more_slopes])[order]
    scores: Floats = np.diff(points) @ (slopes[1:] + slopes[:-1]) / 2
    return scores


@dataclass(frozen=True)
class _Path:
    """The straight line between two sets of embeddings: (T, width) by stack."""

    loaded: LoadedModel
    question: Question
    ids: dict[Stack, tuple[int, ...]]
    starts: dict[Stack, Tensor]
    ends: dict[Stack, Tensor]
    lengths: dict[Stack, int]
    suppressed: tuple[int, ...]

    @classmethod
    def of(cls, loaded: LoadedModel, run: Run, question: Question, baseline: Baseline) -> _Path:
        read: dict[Stack, Input | None] = {"encoder": run.encoder_input, "decoder": run.decoder_input}
        inputs = {stack: one for stack, one in read.items() if one is not None}
        ids = {stack: one.ids for stack, one in inputs.items()}
        if "decoder" in ids and not loaded.model.recomputes:  # later tokens change nothing
            ids["decoder"] = ids["decoder"][: max(question.rows) + 1]
        starts, ends = {}, {}
        for stack, own in ids.items():
            first, stop = inputs[stack].first, inputs[stack].first + len(inputs[stack].sentence.ids)
            ends[stack] = embedded(loaded, stack, own)
            starts[stack] = ends[stack].clone()
            starts[stack][first:stop] = (
                0.0 if baseline == "zero" else neutral_embedding(loaded, stack, baseline)
            )
        lengths = {stack: len(one.ids) for stack, one in inputs.items()}
        return cls(loaded, question, ids, starts, ends, lengths, tuple(suppressed_ids(loaded, run)))

    @property
    def at_once(self) -> int:
        """Points in one batch."""
        last = list(self.ids.values())[-1]
        width = self.loaded.model.config.tgt_vocab_size or self.loaded.model.config.src_vocab_size
        return max(1, min(MOST_ROWS, MOST_LOGITS // (len(last) * width)))

    def answers(self, points: Tensor) -> tuple[dict[Stack, Tensor], Tensor]:
        """The embeddings (points, T, width) by stack, and the answers (points,), at points from 0 to 1."""
        moving, edits, inputs = {}, {}, {}
        for stack, ids in self.ids.items():
            start, end = self.starts[stack], self.ends[stack]
            here = start + points.to(start.device, start.dtype)[:, None, None] * (end - start)
            moving[stack] = here.requires_grad_(not torch.is_inference_mode_enabled())
            edits[tokens_path(stack)] = _given(moving[stack])
            inputs[stack] = padded(self.loaded, [ids]).expand(len(points), -1)
        model = _proposing(self.loaded.model, self.question.rows)
        logits = model(inputs.get("encoder"), inputs.get("decoder"), tap=Editor(edits))
        inside = replace(self.question, rows=tuple(range(len(self.question.rows))))
        return moving, inside.value(logits, self.suppressed)

    def slopes(self, points: Tensor) -> tuple[Floats, Floats]:
        """The answers (points,), and how fast each token makes them rise there: (points, T of all stacks)."""
        with torch.enable_grad():
            moving, answers = self.answers(points)
            gradients = torch.autograd.grad(answers.sum(), list(moving.values()))
        slopes = [
            ((self.ends[stack] - self.starts[stack]) * own).double().sum(dim=-1)
            for stack, own in zip(moving, gradients, strict=True)
        ]
        return answers.detach().cpu().numpy(), torch.cat(slopes, dim=-1).cpu().numpy()


def _proposing(model: Transformer, rows: tuple[int, ...]) -> Transformer:
    """A view of a model that computes the logits of some rows only: few of a long prefix are asked for."""
    view = copy.copy(model)

    def propose(x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return model.propose(x[:, list(rows)], tap)

    view.propose = propose  # type: ignore[method-assign]
    return view


def _given(tensor: Tensor) -> Edit:
    return lambda _: tensor
