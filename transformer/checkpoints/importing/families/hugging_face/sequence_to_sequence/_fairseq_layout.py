"""Common to Hugging Face's models with the names of fairseq's Transformer.

Such names are fc1, encoder_attn, and final_layer_norm for the last norm of each layer; in pre-norm models
each stack ends with a layer_norm. Most have a separate bias for the logits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.family import Into, Renames, module_renames, prefixed
from transformer.checkpoints.importing.layout.hugging_face import (
    classifiers,
    put_no_generator,
    read_activation,
)
from transformer.checkpoints.importing.layout.questions import (
    ASSUMED_LENGTH,
    SINUSOIDS,
    ask_embedding_scale,
)
from transformer.checkpoints.importing.report import SettingSource
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.model.config import TransformerConfig

if TYPE_CHECKING:
    from torch import Tensor


def flattened(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """(1, n) -> (n,)."""
    return (tensor.flatten(),)


_ATTENTION: Renames = {"q_proj": "w_q", "k_proj": "w_k", "v_proj": "w_v", "out_proj": "w_o"}
_ENCODER_LAYER: Renames = {
    **prefixed(_ATTENTION, "self_attn.", "self_attn."),
    "self_attn_layer_norm": "self_attn_norm",
    "fc1": "feed_forward.w_1",
    "fc2": "feed_forward.w_2",
    "final_layer_norm": "feed_forward_norm",
}
_DECODER_LAYER: Renames = {
    **_ENCODER_LAYER,
    **prefixed(_ATTENTION, "encoder_attn.", "cross_attn."),
    "encoder_attn_layer_norm": "cross_attn_norm",
}

LAYERS_AND_WORDS: Renames = {
    "shared.weight": "src_embedding.weight",
    "encoder.embed_tokens.weight": "src_embedding.weight",
    **prefixed(module_renames(_ENCODER_LAYER), "encoder.layers.{}.", "encoder.layers.{}."),
    "decoder.embed_tokens.weight": "tgt_embedding.weight",
    **prefixed(module_renames(_DECODER_LAYER), "decoder.layers.{}.", "decoder.layers.{}."),
    "lm_head.weight": "generator.weight",
    "final_logits_bias": Into(flattened, "generator.bias"),
    "lm_head.bias": "generator.bias",
    **module_renames(
        {"encoder.layer_norm": "encoder.final_norm", "decoder.layer_norm": "decoder.final_norm"}
    ),
}

_SHARED_WORDS, _SOURCE_WORDS = "shared.weight", "encoder.embed_tokens.weight"
_TARGET_WORDS = "decoder.embed_tokens.weight"
_PAD_ID = 1
"""Padding id in fairseq's dictionaries."""
UNUSED_WORDS = "unused.shared.weight"
KIN = "fairseq"
TABLE = "encoder.embed_positions.weight"
TABLES_OF_SINUSOIDS = dict.fromkeys((TABLE, "decoder.embed_positions.weight"), SINUSOIDS)
UNUSED = {
    **classifiers("classification_head.dense", "classification_head.out_proj", "qa_outputs"),
    UNUSED_WORDS: "Both sides have their own embeddings; nothing uses the shared one.",
}

_HARMLESS = {
    "_num_labels",
    "activation_dropout",
    "add_bias_logits",  # only says whether a bias of the logits is stored
    "kobart_version",
    "logits_bias",
    "num_hidden_layers",
    "replacing_rate",
    "save_step",
}


def has_both_stacks(raw: RawCheckpoint) -> bool:
    """True if there are an encoder and a decoder with cross-attention, by fairseq's names."""
    return {
        "encoder.layers.0.self_attn.q_proj.weight",
        "encoder.layers.0.fc1.weight",
        "decoder.layers.0.encoder_attn.q_proj.weight",
    } <= raw.tensors.keys()


def has_stacks(raw: RawCheckpoint, *, embedding_norm: bool, pre_norm: bool) -> bool:
    """True if there are both stacks, with or without norms after the embeddings and after the encoder."""
    norms = has_embedding_norm(raw), is_pre_norm(raw)
    return has_both_stacks(raw) and norms == (embedding_norm, pre_norm)


def is_pre_norm(raw: RawCheckpoint) -> bool:
    """True if the encoder ends with a norm, as in pre-norm models."""
    return "encoder.layer_norm.weight" in raw.tensors


def has_embedding_norm(raw: RawCheckpoint) -> bool:
    """True if a norm follows the embeddings."""
    return "encoder.layernorm_embedding.weight" in raw.tensors


def arrange(raw: RawCheckpoint) -> RawCheckpoint:
    """Remove the prefix; if each side has its own embedding, set aside the unused shared one."""
    tensors = {name.removeprefix("model."): stored for name, stored in raw.tensors.items()}
    raw = replace(raw, tensors=tensors) if len(tensors) == len(raw.tensors) else raw
    tied = "config.json" in raw.texts and raw.json("config.json").get("tie_word_embeddings", True)
    own = {_SOURCE_WORDS, _TARGET_WORDS} <= raw.tensors.keys()
    if tied or not own or _SHARED_WORDS not in raw.tensors or raw.same_numbers(_SOURCE_WORDS, _SHARED_WORDS):
        return raw
    tensors = {UNUSED_WORDS if name == _SHARED_WORDS else name: raw.tensors[name] for name in raw.tensors}
    return replace(raw, tensors=tensors)


def _source_words(raw: RawCheckpoint) -> str:
    return _SHARED_WORDS if _SHARED_WORDS in raw.tensors else _SOURCE_WORDS


def _target_words(raw: RawCheckpoint) -> str:
    return _TARGET_WORDS if _TARGET_WORDS in raw.tensors else _source_words(raw)


def read_stacks(draft: ConfigDraft, *, activation: str, one_width: bool = True) -> None:
    """Fill in widths, depths, heads and norms; config.json has them per stack, and they must be equal.

    Args:
        draft: to be filled in.
        activation: the family's usual activation, by its name in transformers.
        one_width: whether the feed-forwards of both stacks must be equally wide.
    """
    draft.size("d_model", "d_model", _target_words(draft.raw), 1)
    draft.size("d_ff", "encoder_ffn_dim", "encoder.layers.0.fc1.weight", 0)
    draft.layers("n_encoder_layers", "encoder_layers", "encoder.layers.")
    draft.layers("n_decoder_layers", "decoder_layers", "decoder.layers.")
    draft.heads("encoder_attention_heads")
    draft.layout("every model of this layout", bias=True, norm_eps=1e-5)
    if draft.config is not None:
        draft.config.only(
            "decoder_attention_heads",
            draft["n_heads"],
            why=f"another number of heads than the encoder's {draft['n_heads']}",
        )
        if one_width:
            why = f"another width than the encoder's {draft['d_ff']}"
            draft.config.only("decoder_ffn_dim", draft["d_ff"], why=why)
    read_activation(draft, "activation_function", activation)
    pre_norm, why = is_pre_norm(draft.raw), "whether there is a norm after the encoder"
    draft.put("norm_position", "pre" if pre_norm else "post", "shapes", why)
    draft.put("final_norm", pre_norm, "shapes", why)
    draft.put(
        "embedding_norm",
        has_embedding_norm(draft.raw),
        "shapes",
        "whether there is a norm after the embeddings",
    )


def read_embedding_scale(draft: ConfigDraft, *, likely: bool, default: bool = False) -> None:
    """Fill in embedding_scale from config.json's scale_embedding, or from an answer.

    Args:
        draft: with d_model.
        likely: the first answer.
        default: the value if config.json lacks it.
    """
    if draft.config is None:
        ask_embedding_scale(draft, likely=likely)
    else:
        draft.configured("embedding_scale", draft.config.flag("scale_embedding", default), "scale_embedding")


def read_learned_positions(draft: ConfigDraft, *, unused_rows: int = 0) -> None:
    """Fill in learned positions and their number, without the table's unused first rows."""
    draft.layout("every model of this layout", positions="learned")
    if draft.config is not None or not unused_rows:
        draft.size("max_len", "max_position_embeddings", TABLE, 0)
        return
    why = f"rows of the table of positions, without the first {unused_rows}, which are unused"
    draft.put("max_len", draft.length(TABLE, 0) - unused_rows, "shapes", why)


def read_sinusoids(draft: ConfigDraft, layout: str, *, offset: int = 0, usual: int = ASSUMED_LENGTH) -> None:
    """Fill in sinusoidal positions and their number, from config.json, a stored table, or the default.

    Args:
        draft: to be filled in.
        layout: see `TransformerConfig.sinusoid_layout`.
        offset: the position of the first token; the table itself begins at 0.
        usual: number of positions if the files don't say.
    """
    draft.layout("every model of this layout", positions="sinusoidal", sinusoid_layout=layout)
    if offset:
        draft.layout("positions begin after the padding token's id", position_offset=offset)
    if draft.config is not None or TABLE in draft.raw.tensors:
        rows = draft.size("max_len", "max_position_embeddings", TABLE, 0)
        if draft.config is None and offset:
            draft.put("max_len", rows - offset, "shapes", f"rows of a table without the first {offset}")
    else:
        draft.put("max_len", usual, "assumed", "the usual one of this family")


def read_shifted_sinusoids(draft: ConfigDraft) -> None:
    """Fill in padding, and sinusoids as in fairseq: the first token's position is the padding id + 1."""
    draft.pad_id(usual=_PAD_ID)
    pad_id = _PAD_ID if draft.config is None else draft.config.integer("pad_token_id", _PAD_ID)
    read_sinusoids(draft, "halves_to_base", offset=pad_id + 1)


def read_words(
    draft: ConfigDraft,
    *,
    one_vocabulary: bool = True,
    source_key: str = "vocab_size",
    target_key: str = "vocab_size",
    generator: str = "lm_head.weight",
    usually_tied: bool = True,
) -> None:
    """Fill in vocabulary sizes, which of embeddings and generator share a matrix, and the logits' bias.

    Args:
        draft: to be filled in.
        one_vocabulary: whether both sides have the same vocabulary.
        source_key: attribute in config.json with the source's vocabulary size.
        target_key: attribute in config.json with the target's vocabulary size.
        generator: name of the generator's matrix, if stored.
        usually_tied: whether all of these share one matrix if config.json doesn't say.
    """
    raw, config = draft.raw, draft.config
    source, target = _source_words(raw), _target_words(raw)
    draft.size("src_vocab_size", source_key, source, 0)
    draft.size("tgt_vocab_size", target_key, target, 0)
    tied = config is not None and config.flag("tie_word_embeddings", usually_tied)
    told: SettingSource = "config" if tied else "shapes"
    shared = one_vocabulary and (tied or source == target or raw.same_numbers(source, target))
    draft.put("share_embeddings", shared, told, "whether both embeddings are one matrix")
    alone = config is not None and not tied and generator not in raw.tensors
    if alone:
        put_no_generator(draft)
    else:
        tied_generator = tied or generator not in raw.tensors or raw.same_numbers(generator, target)
        draft.put("tie_generator", tied_generator, told, "whether embedding and generator are one matrix")
    biases = {"final_logits_bias", "lm_head.bias"} & raw.tensors.keys()
    draft.put("generator_bias", not alone and bool(biases), "shapes", "whether the logits have a bias")


def refuse_other_computations(draft: ConfigDraft, *harmless: str) -> None:
    """Reject options in the oldest files of this layout that the family does not compute.

    Args:
        draft: all but filled in.
        harmless: attributes of config.json that change nothing, besides the common ones.

    Raises:
        CheckpointError: naming the attribute.
    """
    config = draft.config
    if config is None:
        return
    pre_norm, order = is_pre_norm(draft.raw), "norms in another place than the weights say"
    config.only("normalize_before", pre_norm, why=order)
    config.only("add_final_layer_norm", pre_norm, why=order)
    config.only("normalize_embedding", draft["embedding_norm"], why=order)
    sinusoids = draft["positions"] == "sinusoidal"
    config.only("static_position_embeddings", sinusoids, why="another kind of positions")
    config.only("is_encoder_decoder", True, why="one stack alone")
    config.only("is_decoder", False, why="a decoder that is a part of another model")
    config.refuse_unknown(_HARMLESS | set(harmless))
