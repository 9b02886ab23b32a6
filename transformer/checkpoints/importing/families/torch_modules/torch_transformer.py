"""torch.nn.Transformer, or only its encoder or decoder, bare or inside a user's own module.

Queries, keys and values are packed into one matrix. The number of heads, the norm position and the activation
are arguments of the module and not in its state dict: they are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.torch_modules._arranging import arrange, arrange_as_answered
from transformer.checkpoints.importing.family import Family, StandIn
from transformer.checkpoints.importing.layout import questions
from transformer.checkpoints.importing.layout.shipped import layout
from transformer.checkpoints.reading.raw import RawCheckpoint

STAND_IN_VOCABULARY = 128
"""Rows of the embeddings that stand in for a bare stack's."""
USUAL_HEADS = 8
"""Default of torch.nn.Transformer, and in the paper."""

_WRAPPED_EMBEDDING = "tok_emb.embedding.weight"
"""Name in torch's translation tutorial, where a module wraps the embedding to scale it."""

NAMES = layout("_torch_transformer").names
"""Names as given by `arrange`."""
IGNORED = dict.fromkeys(questions.POSITIONS, questions.SINUSOIDS)


def matches(raw: RawCheckpoint) -> bool:
    """True if `arrange` found a stack."""
    stacks = ("encoder", "decoder")
    return any(f"{stack}.layers.0.self_attn.in_proj_weight" in raw.tensors for stack in stacks)


def read_config(draft: ConfigDraft) -> None:
    """Read the shapes, and ask for the rest."""
    raw = draft.raw = arrange_as_answered(draft.raw, draft.ask)
    depths = {side: raw.layer_count(f"{side}.layers.") for side in ("encoder", "decoder")}
    first = "encoder" if depths["encoder"] else "decoder"
    draft.size("d_model", "d_model", f"{first}.layers.0.linear1.weight", 1)
    draft.size("d_ff", "dim_feedforward", f"{first}.layers.0.linear1.weight", 0)
    _read_depths(draft, depths["encoder"], depths["decoder"])
    draft.ask_heads(USUAL_HEADS)
    questions.ask_norm_position(draft)
    questions.ask_activation(draft)
    questions.put_final_norm(draft, [side for side, depth in depths.items() if depth])
    has_embedding_norm = any(f"{side}_norm.weight" in raw.tensors for side in ("src", "tgt"))
    draft.put("embedding_norm", has_embedding_norm, "shapes", "whether a norm follows the embeddings")
    questions.ask_norm_eps(draft, 1e-5, 1e-6)
    draft.present("bias", f"{first}.layers.0.linear1.bias")
    questions.put_vocabularies(draft, stand_in=STAND_IN_VOCABULARY)
    questions.ask_positions(draft, questions.stored_positions(raw))
    embedding = next((name for name in ("src_embedding", "tgt_embedding") if name in raw.tensors), None)
    is_wrapped = embedding is not None and draft.stored_name(embedding).endswith(_WRAPPED_EMBEDDING)
    questions.ask_embedding_scale(draft, likely=is_wrapped or draft["positions"] == "sinusoidal")
    if depths["encoder"] and depths["decoder"]:
        _ask_memory_padding_mask(draft)
    questions.ask_pad_id(draft, embedding, usual=0)
    if not draft["has_generator"]:
        draft.note("The files have no layer that turns hidden states into words: the model predicts none.")


def _ask_memory_padding_mask(draft: ConfigDraft) -> None:
    """Ask whether the source's padding is hidden from the decoder; answers as in TransformerConfig."""
    draft.ask(
        "memory_padding_mask",
        "Is the source's padding masked for the decoder?",
        "Yes if the module is called with memory_key_padding_mask; otherwise the decoder sees "
        "padding too. It matters for sentences of a batch that are shorter than others.",
        {True: "yes: memory_key_padding_mask is given", False: "no: it is left out"},
    )


def _read_depths(draft: ConfigDraft, n_encoder: int, n_decoder: int) -> None:
    """Fill in the depths of the stacks; encoder layers under a causal mask may be a decoder-only model."""
    if n_encoder and not n_decoder:
        is_causal = questions.ask_causal(draft, likely="generator.weight" in draft.raw.tensors)
        n_encoder, n_decoder = (0, n_encoder) if is_causal else (n_encoder, 0)
    if n_decoder and "decoder.layers.0.multihead_attn.out_proj.weight" in draft.raw.tensors and not n_encoder:
        n_encoder = 1
        draft.note(
            "The decoder's cross-attention looks at a memory, and the files have no encoder: one layer drawn "
            "at random stands in for it."
        )
    draft.put("n_encoder_layers", n_encoder, "shapes", "layers of the stack")
    draft.put("n_decoder_layers", n_decoder, "shapes", "layers of the stack")


_KINDS: Mapping[str, StandIn] = {"weight": "drawn", "bias": "zeros", "gamma": "ones", "beta": "zeros"}


def stand_ins(raw: RawCheckpoint) -> Mapping[str, StandIn]:
    """Embeddings of a bare stack, the encoder of a bare decoder, and beta if norms have no bias."""
    kinds = {ours: _KINDS[ours.rpartition(".")[2]] for into in NAMES.values() for ours in into.names}
    lacks_encoder = not any(name.startswith("encoder.layers.") for name in raw.tensors)
    lacks_betas = not any(name.endswith(".in_proj_bias") for name in raw.tensors)
    return {
        ours: kind
        for ours, kind in kinds.items()
        if ours.endswith("embedding.weight")
        or (lacks_encoder and ours.startswith("encoder."))
        or (lacks_betas and ours.endswith(".beta"))
    }


FAMILY = Family(
    name="torch_transformer",
    label="torch.nn.Transformer",
    matches=matches,
    read_config=read_config,
    renames=NAMES,
    ignored=IGNORED,
    arrange=arrange,
    stand_ins=stand_ins,
)
