"""Norms of what attention moves: a large weight on a short value moves little.

Kobayashi et al. 2020, "Attention is Not Only a Weight" (arXiv:2004.10102), and 2021, "Incorporating Residual
and Normalization Layers into Analysis of Masked Language Models" (arXiv:2109.07152).
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from transformer.analysis.attention_maps import MODULES, Attention, attentions, n_layers
from transformer.analysis.attribution.attention_parts import parts_by_block
from transformer.analysis.interventions.questions import Question
from transformer.loaded import LoadedModel
from transformer.model.trace import Stack
from transformer.run import Run


def moved_norms(loaded: LoadedModel, run: Run, attention: Attention, layer: int) -> NDArray[np.float32]:
    """The norm of what all heads of a layer together move from each key: (Q, K).

    A norm after the sum, if there is one, is applied to each part (2021); a single head's norms, without it
    (2020, equation 4), are its weights times `moved_lengths`.

    Raises:
        UntransposedError: for a model that merges its heads untransposed.
    """
    blocks = parts_by_block(loaded.model, run.trace, attention, layer)
    return torch.cat([parts.moved.norm(dim=-1) for parts in blocks]).numpy()


def value_norms(loaded: LoadedModel, run: Run, question: Question) -> dict[Stack, NDArray[np.float64]]:
    """What attention moves to a question's positions from each token, by stack: (tokens,).

    The mean over layers of `moved_norms`, each layer's row divided by its sum: from the source in
    cross-attention, from the prefix (or the only stack) in self-attention. A token's vector in a higher layer
    is taken for the token, which is what this picture leaves out and ALTI+ adds.

    Raises:
        UntransposedError: for a model that merges its heads untransposed.
    """
    found: dict[Stack, NDArray[np.float64]] = {}
    own: Attention = "decoder" if run.decoder_input is not None else "encoder"
    for attention in attentions(run.trace):
        if attention not in (own, "cross"):
            continue
        stack: Stack = "encoder" if attention == "cross" else MODULES[attention][0]
        layers = [
            moved_norms(loaded, run, attention, layer)[list(question.rows)].astype(np.float64)
            for layer in range(n_layers(run.trace, attention))
        ]
        shares = [norms / np.maximum(norms.sum(axis=-1, keepdims=True), 1e-30) for norms in layers]
        found[stack] = np.mean(shares, axis=(0, 1))
    return found
