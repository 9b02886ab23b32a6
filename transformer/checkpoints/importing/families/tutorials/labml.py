"""labml.ai's annotated transformers (labmlai/annotated_deep_learning_paper_implementations).

Pre-norm, with a final norm after each stack; the feed-forward may be gated. Besides the encoder-decoder,
there is a stack of encoder layers only, for causal and masked language models.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.tutorials import _shared as shared
from transformer.checkpoints.importing.family import Family, Renames, StandIn, prefixed
from transformer.checkpoints.importing.layout.questions import (
    ask_activation,
    ask_causal,
    put_final_norm,
)
from transformer.checkpoints.reading.raw import RawCheckpoint

_ATTENTION: Renames = {
    "query.linear": "w_q",
    "key.linear": "w_k",
    "value.linear": "w_v",
    "output": "w_o",
}
_LAYER: Renames = {
    **prefixed(_ATTENTION, "self_attn.", "self_attn."),
    "norm_self_attn": "self_attn_norm",
    **prefixed(_ATTENTION, "src_attn.", "cross_attn."),
    "norm_src_attn": "cross_attn_norm",
    "feed_forward.layer1": "feed_forward.w_1",
    "feed_forward.layer2": "feed_forward.w_2",
    "feed_forward.linear_v": "feed_forward.w_3",
    "norm_ff": "feed_forward_norm",
}

RENAMES: Renames = shared.renames(_LAYER, _LAYER, final_norm=shared.FINAL_NORMS)

RENAMED_PARTS = {
    "src_embed.linear.weight": "src_embedding",
    "tgt_embed.linear.weight": "tgt_embedding",
    "src_embed.positional_encodings": "src_positions",
    "tgt_embed.positional_encodings": "tgt_positions",
    "generator.projection.weight": "generator.weight",
    "generator.projection.bias": "generator.bias",
}

_DECODERS = {"src_embedding": "tgt_embedding", "src_positions": "tgt_positions"}
_QUERIES = "layers.0.self_attn.query.linear"


def matches(raw: RawCheckpoint) -> bool:
    """True if the encoder's attention has this layout, and there is its embedding."""
    return {"src_embedding", f"encoder.{_QUERIES}.weight"} <= raw.tensors.keys()


def read_config(draft: ConfigDraft) -> None:
    """Read the shapes, and ask for the rest."""
    shared.put_sizes(draft, hidden="encoder.layers.0.feed_forward.layer1.weight")
    shared.ask_heads(draft, f"encoder.{_QUERIES}.weight")
    draft.present("gated", "encoder.layers.0.feed_forward.linear_v.weight")
    ask_activation(draft)
    draft.layout(
        "the same in every version of this code",
        norm="layer",
        norm_eps=1e-5,
        norm_position="pre",
        embedding_scale=True,
    )
    if not draft["n_decoder_layers"] and ask_causal(draft, likely=True):
        _take_for_decoder(draft)
    stacks = [side for side in ("encoder", "decoder") if draft[f"n_{side}_layers"]]
    put_final_norm(draft, stacks, "weight")
    shared.put_outside(draft, pad_id=0)


def _take_for_decoder(draft: ConfigDraft) -> None:
    """Rename the single stack to a decoder."""
    tensors = {
        _DECODERS.get(name, re.sub("^encoder[.]", "decoder.", name)): stored
        for name, stored in draft.raw.tensors.items()
    }
    draft.raw = replace(draft.raw, tensors=tensors)
    why = "the encoder's layers, under a causal mask"
    draft.put("n_decoder_layers", draft["n_encoder_layers"], "shapes", why)
    draft.put("n_encoder_layers", 0, "shapes", "there is no other stack")


def stand_ins(raw: RawCheckpoint) -> Mapping[str, StandIn]:
    """Biases of queries and keys, which are optional; values and output always have them."""
    if f"encoder.{_QUERIES}.bias" in raw.tensors or f"decoder.{_QUERIES}.bias" in raw.tensors:
        return {}
    return shared.ZERO_BIASES


FAMILY = Family(
    name="labml",
    label="labml.ai's annotated transformers",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored=shared.IGNORED,
    arrange=shared.arranged(RENAMED_PARTS),
    stand_ins=stand_ins,
)
