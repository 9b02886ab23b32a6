"""What a norm does to the numbers of each token, stage by stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from transformer.model.config import Norm
from transformer.model.trace import NormRecord, Trace

Spread = Literal["standard deviation", "root mean square"]
"""What a norm brings to 1."""

SPREADS: dict[Spread, Callable[[NDArray[np.float32]], NDArray[np.float32]]] = {
    "standard deviation": lambda values: values.std(axis=1),
    "root mean square": lambda values: np.sqrt(np.square(values).mean(axis=1)),
}
"""Of each token's numbers: (T, D) -> (T,)."""

STAGES: dict[Norm, tuple[str, str]] = {
    "layer": ("normalized: (x − μ) / σ", "after: times γ plus β"),
    "layer_unbiased": ("normalized: (x − μ) / (s + ε)", "after: times γ plus β"),
    "rms": ("normalized: x / r", "after: times γ"),
}
"""What comes before gamma and beta, and what follows them."""


def spread_of(kind: Norm) -> Spread:
    """What a kind of norm brings to 1."""
    return "root mean square" if kind == "rms" else "standard deviation"


def norm_stages(record: NormRecord, kind: Norm) -> dict[str, NDArray[np.float32]]:
    """The numbers of a single sentence before a norm, normalized, and after it: stage -> (T, D)."""
    normalized, after = STAGES[kind]
    stages = {"before": record.input, normalized: record.normalized, after: record.result}
    return {stage: values[0].numpy() for stage, values in stages.items()}


def norm_tokens(trace: Trace, path: str) -> tuple[str, ...]:
    """The tokens that a norm of a single sentence sees; those of the last stack before the generator."""
    is_source = path.startswith(("encoder", "src_embedding")) or path.endswith("cross_attn.k_norm")
    return (trace.src_tokens if is_source or not trace.tgt_tokens else trace.tgt_tokens)[0]
