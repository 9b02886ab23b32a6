"""Phi-1, 1.5 and 2 (Li et al. 2023, arXiv:2309.05463) as Hugging Face's transformers saves them.

A decoder whose attention and feed-forward run in parallel on one norm's output. The leading part of each head
is rotated, with pairs half of that part apart, and the generator has a bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.family import (
    Family,
    Into,
    Renames,
    may_be,
    module_renames,
    prefixed,
    rotated_pairs_side_by_side,
)
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.importing.layout.head import HEAD, read_head
from transformer.checkpoints.importing.layout.hugging_face import classifiers, read_activation
from transformer.checkpoints.importing.layout.rotary import (
    Names,
    ask_rotary_dims,
    put_rotary,
)
from transformer.checkpoints.importing.layout.rotary_questions import ask_length
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.model.config import TransformerConfig

if TYPE_CHECKING:
    from torch import Tensor


def for_both(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """One tensor, twice: attention and feed-forward share a norm."""
    return tensor, tensor


_LAYER: Renames = {
    "input_layernorm": Into(for_both, "self_attn_norm", "feed_forward_norm"),
    "self_attn.q_proj": Into(rotated_pairs_side_by_side, "self_attn.w_q"),
    "self_attn.k_proj": Into(rotated_pairs_side_by_side, "self_attn.w_k"),
    "self_attn.v_proj": "self_attn.w_v",
    "self_attn.dense": "self_attn.w_o",
    "mlp.fc1": "feed_forward.w_1",
    "mlp.fc2": "feed_forward.w_2",
}
RENAMES: Renames = {
    "embed_tokens.weight": "tgt_embedding.weight",
    **prefixed(module_renames(_LAYER), "layers.{}.", "decoder.layers.{}."),
    **module_renames({"final_layernorm": "decoder.final_norm"}),
    **HEAD,
}

_CLASSIFIERS = classifiers("score", "classifier")
_OUTPUT = "layers.0.self_attn.dense.weight"
_NAMES = Names(usual_part=0.5)


def matches(raw: RawCheckpoint) -> bool:
    """True if there are Phi's names."""
    names = {"embed_tokens.weight", "final_layernorm.weight", "layers.0.mlp.fc1.weight", _OUTPUT}
    return names <= raw.tensors.keys() and may_be(raw, "phi")


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    d_model = draft.size("d_model", "hidden_size", "embed_tokens.weight", 1)
    draft.size("tgt_vocab_size", "vocab_size", "embed_tokens.weight", 0)
    draft.size("d_ff", "intermediate_size", "layers.0.mlp.fc1.weight", 0)
    draft.layers("n_decoder_layers", "num_hidden_layers", "layers.")
    n_heads = draft.heads("num_attention_heads")
    d_head = draft.put("d_head", d_model // max(1, n_heads), "shapes", "d_model over n_heads")
    key_rows = draft.length("layers.0.self_attn.k_proj.weight", 0)
    draft.put("n_kv_heads", key_rows // max(1, d_head), "shapes", "rows of k_proj over the width of a head")
    read_activation(draft, "hidden_act", "gelu_new")
    draft.number("norm_eps", "layer_norm_eps", (1e-5,), "What is added to the variance in a norm?")
    draft.layout("a decoder alone", src_vocab_size=0, n_encoder_layers=0)
    draft.layout("every Phi", norm_position="pre", final_norm=True, positions="rotary", bias=True)
    draft.layout("every Phi", embedding_scale=False, parallel_residual=True)
    draft.pad_id()
    read_head(draft, "embed_tokens.weight", tied=False, heads=_CLASSIFIERS, bare=("PhiModel",))
    if draft.config is None:
        draft.layout("every Phi", position_base=10_000.0)
        ask_rotary_dims(draft, 2)
        ask_length(draft, 2048)
    else:
        _take(draft, draft.config)


def _take(draft: ConfigDraft, config: ForeignConfig) -> None:
    draft.configured("max_len", config.integer("max_position_embeddings", 2048), "max_position_embeddings")
    put_rotary(draft, config, _NAMES)
    config.only("qk_layernorm", False, why="layer norms of queries and keys")
    config.refuse_unknown({"num_key_value_heads"})


FAMILY = Family(
    name="phi",
    label="Phi",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored={"layers.{}.self_attn.rotary_emb.inv_freq": "The rotary frequencies; our model makes its own."}
    | _CLASSIFIERS,
    prefixes=("model.",),
)
