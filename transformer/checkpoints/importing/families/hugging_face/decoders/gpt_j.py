"""GPT-J (Wang and Komatsuzaki 2021) as Hugging Face's transformers saves it.

A decoder whose attention and feed-forward run in parallel on one norm's output. The leading part of each head
is rotated, in neighbouring pairs, and the generator has a bias.
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families._rotary_questions import ask_length
from transformer.checkpoints.importing.families.hugging_face.common import classifiers, read_activation
from transformer.checkpoints.importing.families.hugging_face.decoders._head import HEAD, read_head
from transformer.checkpoints.importing.families.hugging_face.decoders._rotary import (
    ask_rotary_dims,
)
from transformer.checkpoints.importing.families.hugging_face.decoders.phi import for_both
from transformer.checkpoints.importing.family import Family, Into, Renames, may_be, module_renames, prefixed
from transformer.checkpoints.reading.raw import RawCheckpoint

_LAYER: Renames = {
    "ln_1": Into(for_both, "self_attn_norm", "feed_forward_norm"),
    "attn.q_proj": "self_attn.w_q",
    "attn.k_proj": "self_attn.w_k",
    "attn.v_proj": "self_attn.w_v",
    "attn.out_proj": "self_attn.w_o",
    "mlp.fc_in": "feed_forward.w_1",
    "mlp.fc_out": "feed_forward.w_2",
}
RENAMES: Renames = {
    "wte.weight": "tgt_embedding.weight",
    **prefixed(module_renames(_LAYER), "h.{}.", "decoder.layers.{}."),
    **module_renames({"ln_f": "decoder.final_norm"}),
    **HEAD,
}

_CLASSIFIERS = classifiers("score", "qa_outputs")
IGNORED = {
    "h.{}.attn.bias": "The causal mask; our model makes its own.",
    "h.{}.attn.masked_bias": "The value given to masked scores; our masks are exact.",
    "h.{}.attn.embed_positions": "The angles of the rotation; our model makes its own.",
    **_CLASSIFIERS,
}


def matches(raw: RawCheckpoint) -> bool:
    """True if there are GPT-J's names."""
    names = {"wte.weight", "h.0.attn.q_proj.weight", "h.0.mlp.fc_in.weight"}
    return names <= raw.tensors.keys() and may_be(raw, "gptj")


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    d_model = draft.size("d_model", "n_embd", "wte.weight", 1)
    draft.size("tgt_vocab_size", "vocab_size", "wte.weight", 0)
    draft.put("d_ff", draft.length("h.0.mlp.fc_in.weight", 0), "shapes", "axis 0 of fc_in.weight")
    draft.layers("n_decoder_layers", "n_layer", "h.")
    n_heads = draft.heads("n_head")
    draft.put("d_head", d_model // max(1, n_heads), "shapes", "d_model over n_heads")
    read_activation(draft, "activation_function", "gelu_new")
    draft.number("norm_eps", "layer_norm_epsilon", (1e-5,), "What is added to the variance in a norm?")
    draft.layout("a decoder alone", src_vocab_size=0, n_encoder_layers=0)
    draft.layout("every GPT-J", norm_position="pre", final_norm=True, positions="rotary")
    draft.layout("every GPT-J", embedding_scale=False, parallel_residual=True, attention_bias=False)
    draft.pad_id()
    read_head(draft, "wte.weight", tied=False, heads=_CLASSIFIERS, bare=("GPTJModel",))
    config = draft.config
    if config is None:
        ask_rotary_dims(draft, 4)
        ask_length(draft, 2048)
    else:
        draft.configured("max_len", config.integer("n_positions", 2048), "n_positions")
        draft.configured("rotary_dims", config.integer("rotary_dim", 64), "rotary_dim")
        # transformers never reads the last two, which the published file has
        config.refuse_unknown({"n_inner", "rotary", "scale_attn_weights"})


FAMILY = Family(
    name="gptj",
    label="GPT-J",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored=IGNORED,
    prefixes=("transformer.",),
)
