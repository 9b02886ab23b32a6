"""OPT (Zhang et al. 2022, arXiv:2205.01068) and Galactica as Hugging Face's transformers saves them.

A decoder with fairseq's names and learned positions, which begin at row 2 of their table. All are pre-norm
except the model of 350 million parameters; Galactica has no biases and no weights in its norms.
"""

from __future__ import annotations

from collections.abc import Mapping

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.decoders._plain_norms import PLAIN_NORMS
from transformer.checkpoints.importing.family import (
    Family,
    Into,
    Renames,
    StandIn,
    may_be,
    module_renames,
    prefixed,
    without_first_rows,
)
from transformer.checkpoints.importing.layout.head import HEAD, read_head
from transformer.checkpoints.importing.layout.hugging_face import classifiers, read_activation
from transformer.checkpoints.importing.layout.questions import ask_norm_position
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError

_UNUSED_ROWS = 2
"""Rows of the position table that fairseq reserved for padding."""

_ATTENTION: Renames = {"q_proj": "w_q", "k_proj": "w_k", "v_proj": "w_v", "out_proj": "w_o"}
_LAYER: Renames = {
    "self_attn_layer_norm": "self_attn_norm",
    **prefixed(_ATTENTION, "self_attn.", "self_attn."),
    "fc1": "feed_forward.w_1",
    "fc2": "feed_forward.w_2",
    "final_layer_norm": "feed_forward_norm",
}
RENAMES: Renames = {
    "embed_tokens.weight": "tgt_embedding.weight",
    "embed_positions.weight": Into(without_first_rows(_UNUSED_ROWS), "tgt_embedding.positions.weight"),
    **prefixed(module_renames(_LAYER), "layers.{}.", "decoder.layers.{}."),
    **module_renames({"final_layer_norm": "decoder.final_norm"}),
    **HEAD,
}

_CLASSIFIERS = classifiers("score", "qa_outputs")
_FINAL_NORM = "final_layer_norm.weight"
_NARROWED = "project_out.weight"
_NARROW = "embeddings narrower than the model, whose last states are projected back to their width"
_TOLD_BY_TENSORS = {
    "activation_dropout",  # training only
    "enable_bias",
    "layer_norm_elementwise_affine",
    "max_position_embeddings",
}


def matches(raw: RawCheckpoint) -> bool:
    """True if there is a decoder with fairseq's names and without cross-attention."""
    names = {"embed_tokens.weight", "embed_positions.weight", "layers.0.self_attn.q_proj.weight"}
    has_memory = "layers.0.encoder_attn.q_proj.weight" in raw.tensors
    has_other_end = "layer_norm.weight" in raw.tensors  # mBART's decoder on its own, BioGPT, XGLM
    has_names = {*names, "layers.0.fc1.weight"} <= raw.tensors.keys()
    return has_names and not (has_memory or has_other_end) and may_be(raw, "opt")


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers.

    Raises:
        CheckpointError: for embeddings narrower than the model.
    """
    raw, config = draft.raw, draft.config
    if _NARROWED in raw.tensors:
        raise CheckpointError(
            f"There is {_NARROWED}, as in OPT 350M: {_NARROW}. Headlight's model does not compute that; open "
            "another size of OPT."
        )
    draft.size("d_model", "hidden_size", "layers.0.fc1.weight", 1)
    draft.size("tgt_vocab_size", "vocab_size", "embed_tokens.weight", 0)
    draft.size("d_ff", "ffn_dim", "layers.0.fc1.weight", 0)
    rows = draft.length("embed_positions.weight", 0)
    why = f"rows of the table of positions, without the first {_UNUSED_ROWS}, which are unused"
    draft.put("max_len", rows - _UNUSED_ROWS, "shapes", why)
    draft.layers("n_decoder_layers", "num_hidden_layers", "layers.")
    draft.heads("num_attention_heads")
    read_activation(draft, "activation_function", "relu")
    draft.layout("a decoder alone", src_vocab_size=0, n_encoder_layers=0)
    draft.layout("every OPT", positions="learned", embedding_scale=False, norm_eps=1e-5)
    draft.present("bias", "layers.0.fc1.bias")
    draft.present("attention_bias", "layers.0.self_attn.q_proj.bias")
    draft.pad_id(usual=1)
    read_head(draft, "embed_tokens.weight", tied=True, heads=_CLASSIFIERS, bare=("OPTModel",))
    has_final_norm = draft.present("final_norm", _FINAL_NORM)
    if config is not None:
        before = config.flag("do_layer_norm_before", True)
        draft.configured("norm_position", "pre" if before else "post", "do_layer_norm_before")
        removed = config.flag("_remove_final_layer_norm", False)
        draft.configured(
            "final_norm", before and not removed, "do_layer_norm_before, _remove_final_layer_norm"
        )
        config.only("word_embed_proj_dim", draft["d_model"], why=_NARROW)
        config.refuse_unknown(_TOLD_BY_TENSORS)
    elif has_final_norm:
        draft.put("norm_position", "pre", "shapes", f"there is {_FINAL_NORM}")
    else:
        ask_norm_position(draft)


def stand_ins(raw: RawCheckpoint) -> Mapping[str, StandIn]:
    """Weights for Galactica's norms, which only normalise."""
    return {} if "layers.0.self_attn_layer_norm.weight" in raw.tensors else PLAIN_NORMS


FAMILY = Family(
    name="opt",
    label="OPT",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored={**_CLASSIFIERS},
    prefixes=("model.decoder.", "decoder."),
    stand_ins=stand_ins,
)
