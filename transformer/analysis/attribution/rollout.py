"""Attention rollout: the foil. It looks at weights alone (Abnar and Zuidema 2020, arXiv:2005.00928)."""

from __future__ import annotations

import numpy as np

from transformer.analysis.attention_maps import Attention, attention_record
from transformer.analysis.attribution.attention_parts import check_transposed
from transformer.analysis.attribution.mixing import InputShares, Layer, input_shares
from transformer.loaded import LoadedModel
from transformer.run import Run


def rollout(loaded: LoadedModel, run: Run) -> InputShares:
    """Half of each block's output is the residual stream, half the mean weights of its heads (section 3).

    Raises:
        UntransposedError: for a model that merges its heads untransposed.
    """
    check_transposed(loaded.model.config)

    def layer_shares(attention: Attention, layer: int) -> Layer:
        weights = attention_record(run.trace, attention, layer).weights[0].double().mean(dim=0).numpy()
        if attention == "cross":
            return np.hstack([weights, np.ones((len(weights), 1))]) / 2
        return (weights + np.eye(len(weights))) / 2

    return input_shares(run.trace, layer_shares)
