"""Names that a mapping file may map to: our weights, and the modules that contain them."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from transformer.model.config import TransformerConfig

_SMALL = TransformerConfig(
    src_vocab_size=5,
    tgt_vocab_size=5,
    d_model=4,
    n_heads=2,
    n_encoder_layers=1,
    n_decoder_layers=1,
    d_ff=3,
    max_len=7,
    tie_generator=False,
)
_NUMBER = re.compile(r"(?<=\.)[0-9]+(?=\.)")
PARTS = ("weight", "bias", "gamma", "beta")
"""Parameters of a linear layer and of a norm."""


def pattern_of(name: str) -> str:
    """The name with {} for the layer number."""
    return _NUMBER.sub("{}", name)


@cache
def weight_names() -> frozenset[str]:
    """The names of all weights that our models can have, with {} for the layer number."""
    # Imported here because it imports torch, which files without a mapping file don't need.
    from transformer.checkpoints.importing.mapping import skeleton

    everything = replace(
        _SMALL,
        gated=True,
        positions="learned",
        query_key_norm=True,
        embedding_norm=True,
        n_segments=2,
        generator_transform=True,
        final_norm=True,
        d_embedding=2,
        norm_position="both",
    )
    relative = replace(_SMALL, positions="relative")
    per_layer = replace(relative, relative_bias_per_layer=True)
    experts = replace(_SMALL, gated=True, n_experts=2, n_active_experts=1)
    return frozenset(
        pattern_of(name)
        for config in (everything, relative, per_layer, experts)
        for name in skeleton(config).state_dict()
    )


@cache
def module_names() -> frozenset[str]:
    """The names of linear layers and norms: the part before .weight, .bias, .gamma or .beta."""
    endings = tuple(f".{part}" for part in PARTS)
    return frozenset(name.rpartition(".")[0] for name in weight_names() if name.endswith(endings))
