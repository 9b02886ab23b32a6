"""GPT-2 (Radford et al. 2019) as Hugging Face's transformers saves it.

A pre-norm decoder with learned positions and linear layers stored as (in, out) ("Conv1D"); queries, keys and
values are concatenated in one of them. The generator is the embedding.
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.family import (
    Family,
    Into,
    Renames,
    may_be,
    module_renames,
    prefixed,
    three_blocks,
    three_blocks_of_columns,
    transposed,
)
from transformer.checkpoints.importing.layout.head import HEAD, read_head
from transformer.checkpoints.importing.layout.hugging_face import (
    CLASSIFIER,
    classifiers,
    read_activation,
)
from transformer.checkpoints.reading.raw import RawCheckpoint

_LAYER: Renames = {
    "ln_1": "self_attn_norm",
    "attn.c_attn": Into(three_blocks, "self_attn.w_q", "self_attn.w_k", "self_attn.w_v"),
    "attn.c_proj": "self_attn.w_o",
    "ln_2": "feed_forward_norm",
    "mlp.c_fc": "feed_forward.w_1",
    "mlp.c_proj": "feed_forward.w_2",
}
OUTPUT_BY_INPUT: Renames = {
    "wte.weight": "tgt_embedding.weight",
    "wpe.weight": "tgt_embedding.positions.weight",
    **prefixed(module_renames(_LAYER), "h.{}.", "decoder.layers.{}."),
    **module_renames({"ln_f": "decoder.final_norm"}),
    **HEAD,
}
"""Names with torch's linear layers, (out, in), as stored by programs that adopted GPT-2's names."""

_INPUT_BY_OUTPUT: Renames = {
    "attn.c_attn.weight": Into(
        three_blocks_of_columns, "self_attn.w_q.weight", "self_attn.w_k.weight", "self_attn.w_v.weight"
    ),
    "attn.c_proj.weight": Into(transposed, "self_attn.w_o.weight"),
    "mlp.c_fc.weight": Into(transposed, "feed_forward.w_1.weight"),
    "mlp.c_proj.weight": Into(transposed, "feed_forward.w_2.weight"),
}
RENAMES: Renames = {**OUTPUT_BY_INPUT, **prefixed(_INPUT_BY_OUTPUT, "h.{}.", "decoder.layers.{}.")}

_CLASSIFIERS = {"score.weight": CLASSIFIER, **classifiers("classifier", "qa_outputs")}

IGNORED = {
    "h.{}.attn.bias": "The causal mask; our model makes its own.",
    "h.{}.attn.masked_bias": "The value given to masked scores; our masks are exact.",
    **classifiers("multiple_choice_head.summary"),  # next to the generator
    **_CLASSIFIERS,
}

_UNCOMMON = "another way to compute attention than GPT-2's"


def matches(raw: RawCheckpoint) -> bool:
    """True if there are GPT-2's fused projections and its embedding."""
    return {"wte.weight", "h.0.attn.c_attn.weight"} <= raw.tensors.keys() and may_be(raw, "gpt2")


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and an answer."""
    d_model = draft.size("d_model", "n_embd", "wte.weight", 1)
    draft.size("tgt_vocab_size", "vocab_size", "wte.weight", 0)
    draft.size("max_len", "n_positions", "wpe.weight", 0)
    draft.layers("n_decoder_layers", "n_layer", "h.")
    draft.size("d_ff", "n_inner", "h.0.mlp.c_fc.weight", 1, 4 * d_model)
    draft.heads("n_head")
    read_activation(draft, "activation_function", "gelu_new")
    draft.layout("GPT-2 has no encoder", src_vocab_size=0, n_encoder_layers=0)
    draft.layout(
        "every GPT-2", norm_position="pre", final_norm=True, positions="learned", embedding_scale=False
    )
    draft.layout("every GPT-2", attention_bias=True)
    draft.pad_id()
    draft.number("norm_eps", "layer_norm_epsilon", (1e-5,), "What is added to the variance in a norm?")
    read_head(draft, "wte.weight", tied=True, heads=_CLASSIFIERS, bare=("GPT2Model",))
    config = draft.config
    if config is None:
        return
    draft.configured("attention_scale", config.flag("scale_attn_weights", True), "scale_attn_weights")
    config.only("scale_attn_by_inverse_layer_idx", False, why=_UNCOMMON)
    config.only("add_cross_attention", False, why="GPT-2 layers that look at an encoder's memory")
    config.only("is_encoder_decoder", False, why="GPT-2 layers as a part of another model")
    config.refuse_unknown({"reorder_and_upcast_attn", "n_ctx"})


FAMILY = Family(
    name="gpt2",
    label="GPT-2",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored=IGNORED,
    prefixes=("transformer.",),
)
