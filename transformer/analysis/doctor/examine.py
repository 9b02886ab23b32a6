"""The complete examination: every check that applies to the model, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from transformer.analysis.doctor.answers import Weighing
from transformer.analysis.doctor.asked import answer_findings
from transformer.analysis.doctor.attention import (
    AttentionView,
    collapsed_findings,
    sink_findings,
    uniform_findings,
    view_attention,
)
from transformer.analysis.doctor.behaviour import (
    allowed_later_difference,
    cache_findings,
    causality_findings,
    input_findings,
    later_difference,
    padding_findings,
)
from transformer.analysis.doctor.findings import Diagnosis, Finding
from transformer.analysis.doctor.heads import dead_findings, duplicate_findings
from transformer.analysis.doctor.inputs import SHORTEST, Probe, drawn_probes, read_probes
from transformer.analysis.doctor.keys import key_findings, tied_findings
from transformer.analysis.doctor.layout import layout_findings
from transformer.analysis.doctor.norms import norm_findings
from transformer.analysis.doctor.vocabulary import size_findings, special_findings, unknown_findings
from transformer.analysis.doctor.weights import TensorSummary, constant_findings, finite_findings, measure
from transformer.analysis.parts import parts_of
from transformer.checkpoints.importing.report import Imported
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.loaded import LoadedModel
from transformer.model.config import TransformerConfig

NOT_MADE = "not made"
"""Check name used in the note on checks that could not be made."""

NO_DECODER = "this model has no decoder"

Needs = Literal["files", "tensors", "model", "numbers", "run", "causal run"]
"""Prerequisites of a check, each including those before it from "model" on.

The files; tensors (the files' or a model's); a model; finite weights; room for a sentence; a causal decoder.
"""


class Patient:
    """A checkpoint or model under examination; results that several checks need are computed once.

    Args:
        model: the model; None if none could be built from the checkpoint.
        text: the sentences to run the model on.
        checkpoint: the model's checkpoint; None if only the model is examined.
        answers: measured answers to what the files leave open; None if there are none.
    """

    def __init__(
        self,
        model: LoadedModel | None,
        text: str,
        checkpoint: Imported | None = None,
        answers: Weighing | None = None,
    ) -> None:
        self.text = text
        self.answers = answers
        self._model, self._checkpoint = model, checkpoint

    @property
    def imported(self) -> Imported:
        """The checkpoint, for checks that need its files."""
        assert self._checkpoint is not None
        return self._checkpoint

    @property
    def loaded(self) -> LoadedModel:
        """The model, for checks that need one."""
        assert self._model is not None
        return self._model

    @cached_property
    def numbers(self) -> list[TensorSummary]:
        """Summaries of all tensors: of the model, or of the files if no model could be built."""
        return [measure(name, tensor) for name, tensor in self._tensors() if tensor.is_floating_point()]

    @property
    def whose(self) -> str:
        """What `numbers` describes, the "model" or the "files": importing splits and joins tensors."""
        return "files" if self._model is None else "model"

    @cached_property
    def probes(self) -> list[Probe]:
        """Probes made from the user's text."""
        return read_probes(self.loaded, self.text) or self.drawn

    @cached_property
    def drawn(self) -> list[Probe]:
        """Probes of unrelated words, for properties that must hold for any sentence."""
        return drawn_probes(self.loaded)

    @cached_property
    def view(self) -> AttentionView:
        """Attention on the user's text."""
        return view_attention(self.loaded.model, self.probes)

    @cached_property
    def wide_view(self) -> AttentionView:
        """Attention on the text and random words: one short sentence can't show what a head always does."""
        if self.probes is self.drawn:  # no word of the text is known
            return self.view
        return view_attention(self.loaded.model, [*self.probes, *self.drawn])

    @property
    def has_decoder(self) -> bool:
        """True if the model has a decoder."""
        return self.loaded.model.config.n_decoder_layers > 0

    @cached_property
    def later(self) -> float:
        """The change of earlier outputs when a later target token is changed."""
        return later_difference(self.loaded, self.drawn[-1])

    @property
    def allowed_later(self) -> float:
        """The part of `later` that is rounding."""
        return allowed_later_difference(self.loaded.model.config)

    def why_not(self, needs: Needs) -> str:
        """Why a check with these needs can't run, as a sentence; empty if it can."""
        if needs in ("files", "tensors"):
            return ""
        if self._model is None:
            return "There is no model to look at: weights are missing or have another shape."
        if needs != "model" and not all(tensor.finite for tensor in self.numbers):
            return "Weights that are NaN or infinite make every result so."
        if needs.endswith("run") and self.loaded.model.config.max_len < SHORTEST:
            return f"The model has {self.loaded.model.config.max_len} positions: too few for a sentence."
        if needs == "causal run" and self.has_decoder and not self.later <= self.allowed_later:
            return "A decoder that sees later tokens computes something else at each step."
        return ""

    def _tensors(self) -> Iterator[tuple[str, Tensor]]:
        if self._model is not None:
            yield from self._model.model.named_parameters()
        else:
            yield from ((name, map_tensor(stored)) for name, stored in self.imported.raw.tensors.items())


@dataclass(frozen=True)
class Check:
    """One check of the examination.

    Attributes:
        name: as in `Finding.check`.
        asks: the question that it answers, for users.
        needs: its prerequisites.
        find: returns its findings; none if it does not apply to this kind of model.
        unfit: why it does not apply, for users; empty for a check that always applies.
    """

    name: str
    asks: str
    needs: Needs
    find: Callable[[Patient], list[Finding]]
    unfit: str = ""


CHECKS: tuple[Check, ...] = (
    Check(
        "layout",
        "Is it known what kind of model this is?",
        "files",
        lambda p: layout_findings(p.imported.report),
    ),
    Check(
        "keys",
        "Has every weight its tensor?",
        "files",
        lambda p: key_findings(p.imported.report.keys, len(p.imported.raw.tensors)),
    ),
    Check(
        "tied weights",
        "Are tied weights the same?",
        "files",
        lambda p: tied_findings(p.imported.report.keys, p.imported.raw, p.imported.report.config),
    ),
    Check(
        "answers",
        "Does the model agree with what was assumed?",
        "files",
        lambda p: answer_findings(p.imported.report.questions, p.answers),
        "no answer that gives another model could be tried",
    ),
    Check("finite", "Are all weights numbers?", "tensors", lambda p: finite_findings(p.numbers, p.whose)),
    Check("constant", "Does every matrix hold something?", "tensors", lambda p: constant_findings(p.numbers)),
    Check("norms", "Are the norms' gammas ordinary?", "numbers", lambda p: norm_findings(p.loaded.model)),
    Check(
        "dead heads",
        "Does every head move something?",
        "numbers",
        lambda p: dead_findings(p.loaded.model),
        "its heads can't be told apart",
    ),
    Check(
        "duplicate heads",
        "Does every head do something of its own?",
        "numbers",
        lambda p: duplicate_findings(p.loaded.model),
        "no attention has two distinguishable heads",
    ),
    Check(
        "vocabulary size",
        "Do tokenizer and embedding fit?",
        "model",
        lambda p: size_findings(p.loaded),
    ),
    Check(
        "special tokens",
        "Are the special tokens there?",
        "model",
        lambda p: special_findings(p.loaded),
    ),
    Check(
        "unknown tokens",
        "Are the words of the text known?",
        "model",
        lambda p: unknown_findings(p.loaded, p.text) if p.text.strip() else [],
        "type a sentence for it",
    ),
    Check(
        "later tokens",
        "Is the future hidden from the decoder?",
        "run",
        lambda p: causality_findings(p.later, p.allowed_later) if p.has_decoder else [],
        NO_DECODER,
    ),
    Check(
        "padding",
        "Is padding left out?",
        "run",
        lambda p: padding_findings(p.loaded, p.drawn[-1]),
        "this model has no padding token",
    ),
    Check(
        "cached decoding",
        "Does decoding step by step agree?",
        "causal run",
        lambda p: cache_findings(p.loaded, p.drawn[-1]) if p.has_decoder else [],
        NO_DECODER,
    ),
    Check(
        "inputs matter",
        "Does the output depend on what is read?",
        "run",
        lambda p: input_findings(p.loaded, p.drawn[-1]),
    ),
    Check("uniform attention", "Do heads choose?", "run", lambda p: uniform_findings(p.wide_view)),
    Check(
        "collapsed attention",
        "Do heads look at more than one word?",
        "run",
        lambda p: collapsed_findings(p.wide_view),
    ),
    Check("sinks", "Where does attention rest?", "run", lambda p: sink_findings(p.view)),
)


@dataclass(frozen=True)
class NextCheck:
    """The next check: number of checks done, their total, and its question."""

    done: int
    total: int
    asks: str


OnCheck = Callable[[NextCheck], object]
"""Called before each check."""


@torch.inference_mode()
def examine(
    imported: Imported,
    text: str = "",
    on_check: OnCheck = lambda _: None,
    *,
    answers: Weighing | None = None,
) -> Diagnosis:
    """Examine a checkpoint check by check.

    The model is not changed: its weights are read tensor by tensor, and a few short sentences are run.

    Args:
        imported: the opened checkpoint; if no model could be built, only names and tensors are examined.
        text: the sentences to run the model on, one per line; plain English if blank.
        on_check: called before each check.
        answers: answers to open questions, measured by `weigh_answers`.
    """
    patient = Patient(imported.loaded, text, imported, answers)
    diagnosis = _examine(patient, CHECKS, imported.report.config, on_check)
    return replace(diagnosis, answers=answers)


@torch.inference_mode()
def examine_model(loaded: LoadedModel, text: str = "", on_check: OnCheck = lambda _: None) -> Diagnosis:
    """Examine an open model with all checks that need no files; see `examine`."""
    checks = [check for check in CHECKS if check.needs != "files"]
    return _examine(Patient(loaded, text), checks, loaded.model.config, on_check)


def _examine(
    patient: Patient, checks: Sequence[Check], config: TransformerConfig, on_check: OnCheck
) -> Diagnosis:
    findings: list[Finding] = []
    run = []
    not_made: dict[str, list[str]] = {}
    for done, check in enumerate(checks):
        on_check(NextCheck(done, len(checks), check.asks))
        why_not = patient.why_not(check.needs)
        if why_not:
            not_made.setdefault(why_not, []).append(check.asks)
        elif found := check.find(patient):
            run.append(check.name)
            findings += [replace(finding, check=check.name) for finding in found]
    findings += [_not_made(why_not, questions) for why_not, questions in not_made.items()]
    return Diagnosis(tuple(findings), tuple(run), parts_of(config))


def _not_made(why_not: str, questions: list[str]) -> Finding:
    checks = "1 check was" if len(questions) == 1 else f"{len(questions)} checks were"
    meaning = f"{why_not} Not looked at: {' '.join(questions)}"
    return Finding("note", f"{checks} not made", meaning=meaning, check=NOT_MADE)
