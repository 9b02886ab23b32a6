"""Norms of decoders that only normalise: stand-ins for the weights that their files lack."""

from __future__ import annotations

from collections.abc import Mapping

from transformer.checkpoints.importing.family import StandIn

PLAIN_NORMS: Mapping[str, StandIn] = {
    "decoder.layers.{}.self_attn_norm.gamma": "ones",
    "decoder.layers.{}.self_attn_norm.beta": "zeros",
    "decoder.layers.{}.feed_forward_norm.gamma": "ones",
    "decoder.layers.{}.feed_forward_norm.beta": "zeros",
    "decoder.final_norm.gamma": "ones",
    "decoder.final_norm.beta": "zeros",
}
