"""The Annotated Transformer (Rush et al., nlp.seas.harvard.edu/annotated-transformer).

Pre-norm, with a final norm after each stack. Its LayerNorm divides by the unbiased deviation plus eps; the
four matrices of an attention are a list. Copies with torch's own norm, and without final norms, are read too;
post-norm copies save the same names and shapes, so the norm position is asked.
"""

from __future__ import annotations

from dataclasses import replace

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.family import (
    Family,
    Into,
    Renames,
    module_renames,
    prefixed,
    table_of_positions,
)
from transformer.checkpoints.importing.layout import questions
from transformer.checkpoints.reading.raw import RawCheckpoint

_NORM = {"gamma": "a_2", "beta": "b_2"}
_ATTENTION: Renames = {"linears.0": "w_q", "linears.1": "w_k", "linears.2": "w_v", "linears.3": "w_o"}
_SUBLAYERS: Renames = {
    **prefixed(_ATTENTION, "self_attn.", "self_attn."),
    "feed_forward.w_1": "feed_forward.w_1",
    "feed_forward.w_2": "feed_forward.w_2",
    "sublayer.0.norm": "self_attn_norm",
}
_ENCODER_LAYER: Renames = {**_SUBLAYERS, "sublayer.1.norm": "feed_forward_norm"}
_DECODER_LAYER: Renames = {
    **_SUBLAYERS,
    **prefixed(_ATTENTION, "src_attn.", "cross_attn."),
    "sublayer.1.norm": "cross_attn_norm",
    "sublayer.2.norm": "feed_forward_norm",
}

RENAMES: Renames = {
    "src_embedding": "src_embedding.weight",
    "tgt_embedding": "tgt_embedding.weight",
    "src_positions": Into(table_of_positions, "src_embedding.positions.weight"),
    "tgt_positions": Into(table_of_positions, "tgt_embedding.positions.weight"),
    **prefixed(module_renames(_ENCODER_LAYER, **_NORM), "encoder.layers.{}.", "encoder.layers.{}."),
    **prefixed(module_renames(_DECODER_LAYER, **_NORM), "decoder.layers.{}.", "decoder.layers.{}."),
    **module_renames({"encoder.norm": "encoder.final_norm", "decoder.norm": "decoder.final_norm"}, **_NORM),
    **module_renames({"generator": "generator"}),
}

RENAMED_PARTS = {
    "src_embed.0.lut.weight": "src_embedding",
    "tgt_embed.0.lut.weight": "tgt_embedding",
    "src_embed.1.pe": "src_positions",
    "tgt_embed.1.pe": "tgt_positions",
    "generator.proj.weight": "generator.weight",
    "generator.proj.bias": "generator.bias",
}

IGNORED = dict.fromkeys(questions.POSITIONS, questions.SINUSOIDS)
_NORM_POSITIONS = {
    "pre": "before, as in the tutorial: x + sublayer(norm(x))",
    "post": "after, as in the paper: norm(x + sublayer(x))",
}
_BOTH_SAVED_ALIKE = (
    "Both are saved with the same names and shapes. Look at forward of SublayerConnection in your code."
)


def matches(raw: RawCheckpoint) -> bool:
    """True if there are an attention with its list of four matrices, and both embeddings."""
    names = {"src_embedding", "tgt_embedding", "encoder.layers.0.self_attn.linears.0.weight"}
    return names <= raw.tensors.keys()


def arrange(raw: RawCheckpoint) -> RawCheckpoint:
    """Rename the parts outside the stacks, and the weights of torch's norms to the original's names."""
    tensors = {}
    for name, stored in raw.tensors.items():
        original = name.replace(".norm.weight", ".norm.a_2").replace(".norm.bias", ".norm.b_2")
        tensors[RENAMED_PARTS.get(name, original)] = stored
    return replace(raw, tensors=tensors)


def read_config(draft: ConfigDraft) -> None:
    """Read the shapes, and ask for the rest."""
    raw = draft.raw
    for name, stack in (("n_encoder_layers", "encoder"), ("n_decoder_layers", "decoder")):
        draft.put(name, raw.layer_count(f"{stack}.layers."), "shapes", f"layers of the {stack}")
    draft.size("d_model", "d_model", "src_embedding", 1)
    draft.size("d_ff", "d_ff", "encoder.layers.0.feed_forward.w_1.weight", 0)
    draft.ask_heads(8)
    own_norm = raw.tensors.get("encoder.layers.0.sublayer.0.norm.a_2")
    unbiased = own_norm is None or own_norm.name.endswith("a_2")
    draft.put("norm", "layer_unbiased" if unbiased else "layer", "shapes", "names of the norms' weights")
    questions.ask_norm_eps(draft, *((1e-6, 1e-5) if unbiased else (1e-5, 1e-6)))
    questions.ask_norm_position(draft, _NORM_POSITIONS, _BOTH_SAVED_ALIKE)
    questions.put_final_norm(draft, ("encoder", "decoder"), "a_2")
    questions.ask_activation(draft)
    questions.put_vocabularies(draft)
    questions.ask_positions(draft, questions.stored_positions(raw))
    questions.ask_embedding_scale(draft, likely=True)
    questions.ask_pad_id(draft, "src_embedding", usual=2)


FAMILY = Family(
    name="annotated",
    label="the Annotated Transformer",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored=IGNORED,
    arrange=arrange,
)
