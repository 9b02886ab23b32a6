"""Tries each answer to each open question, measuring the change of the output and the model's surprise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from transformer.analysis.doctor.inputs import SHORTEST, Probe, text_probes
from transformer.analysis.doctor.surprise import Measure, choose_measure
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.importing.report import LEFT_OUT, Imported, Question
from transformer.checkpoints.opening import fill
from transformer.errors import CheckpointError
from transformer.loaded import LoadedModel, freeze
from transformer.model.transformer import Transformer

CLEAR_BITS = 0.25
"""Least difference in bits per token to every other answer, for an answer to be preferred."""
CLEAR_ERRORS = 2.0
"""Least difference in standard errors of the difference."""
KNOWS_SOMETHING = 0.75
"""Highest surprise of a preferred answer, as a fraction of log2(vocabulary size), an ignorant model's."""
MOST_CHANGE = 5.0
"""Relative change of a logit above which no answer is preferred on a model's own output.

The scale of the logits has then changed, so more confidence does not mean a better answer.
"""
_SMALLEST_CHANGE = 1e-4
"""Relative change of the output below which an answer does not affect the surprise."""
_EQUAL_BITS = 0.02
"""Answers whose surprise differs by less than this many bits are preferred together."""
_FEWEST = 3
"""Fewest tokens, or sentences of output, for a difference to count."""
_MOST_OPTIONS = 6
_MOST_PROBES = 3
"""Most sentences whose logits are compared."""


@dataclass(frozen=True)
class Weight:
    """The measurements of one answer.

    Attributes:
        value: the answer.
        bits: the model's surprise with this answer in bits per token; None if it can't be measured.
        change: largest change of a logit (without a generator, of a hidden state) compared with the model as
            opened, relative to that model's largest; None if they can't be compared.
        why_not: a sentence that says why a measurement is missing; empty if none is.
    """

    value: Any
    bits: float | None = None
    change: float | None = None
    why_not: str = ""


@dataclass(frozen=True)
class WeighedQuestion:
    """The answers to one question.

    Attributes:
        name: name of the question.
        taken: the answer that the model was opened with.
        weights: measurements of the answers, in the order of the question's options.
        preferred: the answer with clearly the lowest surprise and those equally good, at most half of all;
            empty if none is clearly better than the others.
    """

    name: str
    taken: Any
    weights: tuple[Weight, ...]
    preferred: tuple[Any, ...] = ()

    def of(self, value: object) -> Weight | None:
        """The measurements of an answer; None if it was not tried."""
        return next((weight for weight in self.weights if weight.value == value), None)


@dataclass(frozen=True)
class Weighing:
    """The measurements for all questions about one model.

    Attributes:
        about: a noun phrase that says what the surprise measures; empty if it was not measured.
        tells: whether the surprise can distinguish right answers from wrong ones.
        questions: the questions with their answers.
    """

    about: str
    tells: bool
    questions: tuple[WeighedQuestion, ...]

    def of(self, name: str) -> WeighedQuestion | None:
        """The question with this name, or None."""
        return next((question for question in self.questions if question.name == name), None)


OnAnswer = Callable[[int, int, str], object]
"""Called before each answer with the number done, the total, and the question's name."""


@torch.inference_mode()
def weigh_answers(
    imported: Imported, text: str = "", on_answer: OnAnswer = lambda done, total, name: None
) -> Weighing | None:
    """Open a checkpoint with each answer in turn and measure the model's surprise at a text.

    Only one answer is changed at a time. The files are not read again: the weights in memory are used, and
    only a few short sentences are run.

    Args:
        imported: the opened checkpoint.
        text: as in `transformer.analysis.doctor.examine.examine`.
        on_answer: called before each answer.

    Returns:
        None without questions, without a model, or if it has too few positions for a sentence.
    """
    loaded = imported.loaded
    # Without the tensors left out there is one model only.
    questions = [question for question in imported.report.questions if question.name != LEFT_OUT]
    if loaded is None or not questions or loaded.model.config.max_len < SHORTEST:
        return None
    scale = _Scale(imported, loaded, text)
    weighed, done = [], 0
    total = sum(len(_answers(question)) for question in questions)
    for question in questions:
        weights = []
        for value in _answers(question):
            on_answer(done, total, question.name)
            weights.append(scale.weigh(question, value))
            done += 1
        weighed.append(
            WeighedQuestion(
                question.name,
                question.value,
                tuple(weight for weight, _ in weights),
                scale.preferred(weights),
            )
        )
    measure = scale.measure
    return Weighing(measure.about if measure else "", bool(measure and measure.tells), tuple(weighed))


def _answers(question: Question) -> list[Any]:
    """The answer taken and the likeliest others, in the order of the options."""
    values = [option.value for option in question.options]
    others = [value for value in values if value != question.value][: _MOST_OPTIONS - 1]
    return [value for value in dict.fromkeys((*values, question.value)) if value in (question.value, *others)]


_Sampled = tuple[Weight, Tensor | None]
"""An answer's measurements, and the values whose mean is its surprise."""


class _Scale:
    """Measures answers about one model."""

    def __init__(self, imported: Imported, loaded: LoadedModel, text: str) -> None:
        self.imported = imported
        self.loaded = loaded
        self.measure: Measure | None = choose_measure(loaded, text)
        self.probes: list[Probe] = text_probes(loaded, text)[:_MOST_PROBES]
        self.outputs = [probe.run(loaded.model) for probe in self.probes]
        self.samples = self._samples(loaded.model)

    def weigh(self, question: Question, value: object) -> _Sampled:
        """Build the model with one answer and measure it."""
        if value == question.value:
            return _with_bits(Weight(value, change=0.0), self.samples)
        try:
            model = self._model(question.name, value)
        except CheckpointError as error:
            return Weight(value, why_not=str(error)), None
        if model is None:
            return Weight(value, why_not="The weights have other shapes than such a model's."), None
        if model.config.kind != self.loaded.model.config.kind:
            return Weight(
                value, why_not=f"It makes the model {model.config.kind}, which reads otherwise."
            ), None
        try:
            change = self._change(model)
            is_same = change is not None and change < _SMALLEST_CHANGE
            samples = self.samples if is_same else self._samples(model)
        except (IndexError, ValueError):  # ids outside its vocabulary, or a text too long for it
            return Weight(value, why_not="With it the model can't read the same ids."), None
        return _with_bits(Weight(value, change=change), samples)

    def preferred(self, weights: Sequence[_Sampled]) -> tuple[Any, ...]:
        """The answers with clearly lower surprise than all others."""
        measured = [(weight, samples) for weight, samples in weights if samples is not None]
        if self.measure is None or not self.measure.tells or len(measured) < 2:
            return ()
        if self.measure.of_output and any((weight.change or 0.0) > MOST_CHANGE for weight, _ in measured):
            return ()
        best, least = min(measured, key=lambda one: one[0].bits or 0.0)
        knows_nothing = math.log2(self.outputs[0].shape[-1])
        if best.bits is None or best.bits > KNOWS_SOMETHING * knows_nothing:
            return ()
        others = [
            one for one in measured if one[0].bits is not None and one[0].bits - best.bits >= _EQUAL_BITS
        ]
        if 2 * len(others) < len(measured) or not all(_is_clear(samples - least) for _, samples in others):
            return ()
        worse = [weight.value for weight, _ in others]
        return tuple(weight.value for weight, _ in measured if weight.value not in worse)

    def _model(self, name: str, value: object) -> Transformer | None:
        """The model with one answer changed; None if the weights don't fit it."""
        questions = self.imported.report.questions
        try:
            taken = {question.name: question.value for question in questions}
            plan = plan_import(self.imported.raw, taken | {name: value})
        except CheckpointError:  # another answer may make some questions obsolete
            answered = {question.name: question.value for question in questions if question.answered}
            plan = plan_import(self.imported.raw, answered | {name: value})
        return freeze(fill(plan).to(self.outputs[0].device)) if plan.report.keys.fits else None

    def _change(self, model: Transformer) -> float | None:
        outputs = [probe.run(model) for probe in self.probes]
        if any(new.shape != old.shape for new, old in zip(outputs, self.outputs, strict=True)):
            return None
        pairs = list(zip(outputs, self.outputs, strict=True))
        if all(torch.equal(new, old) for new, old in pairs):
            return 0.0
        largest = max(float(old.abs().max()) for _, old in pairs)
        change = max(float((new - old).abs().max()) for new, old in pairs)
        return change / largest if largest and math.isfinite(change) else None

    def _samples(self, model: Transformer) -> Tensor | None:
        if self.measure is None or not model.config.has_generator:
            return None
        samples = self.measure.bits(model).cpu()
        return samples if bool(samples.isfinite().all()) and len(samples) else None


def _with_bits(weight: Weight, samples: Tensor | None) -> _Sampled:
    return (weight if samples is None else replace(weight, bits=float(samples.mean()))), samples


def _is_clear(more: Tensor) -> bool:
    """True if differences in surprise at the same tokens or sentences are clearly positive."""
    if len(more) < _FEWEST:
        return False
    mean, error = float(more.mean()), float(more.std()) / math.sqrt(len(more))
    return mean >= CLEAR_BITS and mean >= CLEAR_ERRORS * error
