"""GPT-NeoX (Black et al. 2022, arXiv:2204.06745) and Pythia as Hugging Face's transformers saves them.

A decoder whose attention and feed-forward run in parallel, with each head's queries, keys and values adjacent
in one matrix. Only the leading part of each head is rotated, with pairs half of that part apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families._rotary_questions import ask_length
from transformer.checkpoints.importing.families.hugging_face.common import classifiers, read_activation
from transformer.checkpoints.importing.families.hugging_face.decoders._head import HEAD, read_head
from transformer.checkpoints.importing.families.hugging_face.decoders._rotary import (
    Names,
    ask_rotary_dims,
    put_rotary,
)
from transformer.checkpoints.importing.family import (
    Family,
    Into,
    Renames,
    interleaved_by_head,
    may_be,
    module_renames,
    prefixed,
    rotated_pairs_side_by_side,
)
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.model.config import TransformerConfig

if TYPE_CHECKING:
    from torch import Tensor


def queries_keys_values(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """(3 * D, ...) by head -> queries, keys, values, each (D, ...), with rotated pairs side by side."""
    queries, keys, values = interleaved_by_head(tensor, config)
    return *rotated_pairs_side_by_side(queries, config), *rotated_pairs_side_by_side(keys, config), values


_LAYER: Renames = {
    "input_layernorm": "self_attn_norm",
    "attention.query_key_value": Into(queries_keys_values, "self_attn.w_q", "self_attn.w_k", "self_attn.w_v"),
    "attention.dense": "self_attn.w_o",
    "post_attention_layernorm": "feed_forward_norm",
    "mlp.dense_h_to_4h": "feed_forward.w_1",
    "mlp.dense_4h_to_h": "feed_forward.w_2",
}
RENAMES: Renames = {
    "embed_in.weight": "tgt_embedding.weight",
    **prefixed(module_renames(_LAYER), "layers.{}.", "decoder.layers.{}."),
    **module_renames({"final_layer_norm": "decoder.final_norm"}),
    **HEAD,
}

_CLASSIFIERS = classifiers("score", "classifier", "qa_outputs")
IGNORED = {
    "layers.{}.attention.bias": "The causal mask; our model makes its own.",
    "layers.{}.attention.masked_bias": "The value given to masked scores; our masks are exact.",
    "layers.{}.attention.rotary_emb.inv_freq": "The rotary frequencies; our model makes its own.",
    **_CLASSIFIERS,
}

_FUSED = "layers.0.attention.query_key_value.weight"
_HALF_OF_TURNED = "layers.0.attention.rotary_emb.inv_freq"
_NAMES = Names(usual_part=0.25, base="rotary_emb_base", part="rotary_pct")
_HARMLESS = {"attention_bias", "hidden_dropout", "is_decoder"}


def arrange(raw: RawCheckpoint) -> RawCheckpoint:
    """Rename the generator, called embed_out in older files."""
    tensors = {name.replace("embed_out.", "lm_head.", 1): raw.tensors[name] for name in raw.tensors}
    return replace(raw, tensors=tensors) if len(tensors) == len(raw.tensors) else raw


def matches(raw: RawCheckpoint) -> bool:
    """True if there are GPT-NeoX's embedding and fused projection."""
    return {"embed_in.weight", _FUSED} <= raw.tensors.keys() and may_be(raw, "gpt_neox")


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    draft.size("d_model", "hidden_size", "embed_in.weight", 1)
    draft.size("tgt_vocab_size", "vocab_size", "embed_in.weight", 0)
    draft.size("d_ff", "intermediate_size", "layers.0.mlp.dense_h_to_4h.weight", 0)
    draft.layers("n_decoder_layers", "num_hidden_layers", "layers.")
    n_heads = draft.heads("num_attention_heads")
    draft.put("d_head", draft["d_model"] // max(1, n_heads), "shapes", "d_model over n_heads")
    read_activation(draft, "hidden_act", "gelu")
    draft.number("norm_eps", "layer_norm_eps", (1e-5,), "What is added to the variance in a norm?")
    draft.layout("a decoder alone", src_vocab_size=0, n_encoder_layers=0)
    draft.layout("every GPT-NeoX", norm_position="pre", final_norm=True, positions="rotary")
    draft.layout("every GPT-NeoX", embedding_scale=False, bias=True)
    draft.present("attention_bias", "layers.0.attention.dense.bias")
    draft.pad_id()
    read_head(draft, "embed_in.weight", tied=False, heads=_CLASSIFIERS, bare=("GPTNeoXModel",))
    if draft.config is None:
        _ask(draft)
    else:
        _take(draft, draft.config)


def _take(draft: ConfigDraft, config: ForeignConfig) -> None:
    draft.configured("max_len", config.integer("max_position_embeddings", 2048), "max_position_embeddings")
    parallel = config.flag("use_parallel_residual", True)
    draft.configured("parallel_residual", parallel, "use_parallel_residual")
    put_rotary(draft, config, _NAMES)
    config.refuse_unknown(_HARMLESS)


def _ask(draft: ConfigDraft) -> None:
    draft.ask(
        "parallel_residual",
        "Do attention and feed-forward read the same stream?",
        "It is done in the program (use_parallel_residual) and not stored.",
        {True: "yes, as in GPT-NeoX and Pythia", False: "no, the feed-forward reads attention's result"},
    )
    draft.layout("every GPT-NeoX", position_base=10_000.0)
    if _HALF_OF_TURNED in draft.raw.tensors:
        turned = 2 * draft.length(_HALF_OF_TURNED, 0)
        draft.put("rotary_dims", turned, "shapes", f"twice the length of {_HALF_OF_TURNED}")
    else:
        ask_rotary_dims(draft, 4)
    ask_length(draft, 2048, 4096, 8192)


FAMILY = Family(
    name="gpt_neox",
    label="GPT-NeoX",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored=IGNORED,
    prefixes=("gpt_neox.",),
    arrange=arrange,
)
