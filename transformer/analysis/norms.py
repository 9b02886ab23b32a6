"""Each token's vector at the stages of a norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from transformer.model.config import Norm
from transformer.model.trace import NormRecord, Trace
from transformer.model.transformer import Transformer

Spread = Literal["standard deviation", "root mean square"]

STAGES: dict[Norm, tuple[str, str]] = {
    "layer": ("normalized: (x − μ) / σ", "after: times γ plus β"),
    "layer_unbiased": ("normalized: (x − μ) / (s + ε)", "after: times γ plus β"),
    "rms": ("normalized: x / r", "after: times γ"),
}
"""Labels of the stages before and after gamma and beta."""


@dataclass(frozen=True)
class NormNumbers:
    """One norm for a single sentence as arrays: T tokens with D numbers each.

    Attributes:
        record: the recorded tensors; for a norm inside heads, one head's.
        tokens: T tokens.
        stages: stage -> (T, D): before the norm, normalized, and after gamma and beta.
        spread: the statistic that the norm sets to 1.
        gamma: (D,).
        beta: (D,); None for a norm without beta.
    """

    record: NormRecord
    tokens: tuple[str, ...]
    stages: dict[str, NDArray[np.float32]]
    spread: Spread
    gamma: NDArray[np.float32]
    beta: NDArray[np.float32] | None

    @property
    def is_initial(self) -> bool:
        """True if gamma is 1 and beta is 0 in every dimension, as before training."""
        return bool((self.gamma == 1).all()) and (self.beta is None or not self.beta.any())

    @property
    def means(self) -> dict[str, NDArray[np.float32]]:
        """Stage -> (T,): each token's mean."""
        return {stage: values.mean(axis=1) for stage, values in self.stages.items()}

    @property
    def spreads(self) -> dict[str, NDArray[np.float32]]:
        """Stage -> (T,): each token's `spread`."""
        if self.spread == "standard deviation":
            return {stage: values.std(axis=1) for stage, values in self.stages.items()}
        return {stage: np.sqrt(np.square(values).mean(axis=1)) for stage, values in self.stages.items()}


def norm_numbers(model: Transformer, trace: Trace, path: str, head: int | None = None) -> NormNumbers:
    """Read a norm from the trace of one sentence; `head` is only needed for a norm inside heads."""
    record, norm = trace.norm(path), model.get_submodule(path)
    if head is not None:
        record = record.for_head(head)
    normalized, after = STAGES[model.config.norm]
    stages = {"before": record.input, normalized: record.normalized, after: record.result}
    return NormNumbers(
        record,
        norm_tokens(trace, path),
        {stage: values[0].numpy() for stage, values in stages.items()},
        "root mean square" if model.config.norm == "rms" else "standard deviation",
        of_head(norm.get_parameter("gamma"), head).cpu().numpy(),
        None if record.mean is None else of_head(norm.get_parameter("beta"), head).cpu().numpy(),
    )


def of_head(weight: Tensor, head: int | None) -> Tensor:
    """The gamma or beta that a norm has for a head: a row of (H, d_head), or all of (D,)."""
    return weight if weight.dim() == 1 else weight[head]


def norm_tokens(trace: Trace, path: str) -> tuple[str, ...]:
    """The tokens at a norm for a single sentence; before the generator, those of the last stack."""
    is_source = path.startswith(("encoder", "src_embedding")) or path.endswith("cross_attn.k_norm")
    return (trace.src_tokens if is_source or not trace.tgt_tokens else trace.tgt_tokens)[0]
