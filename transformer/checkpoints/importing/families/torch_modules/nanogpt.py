"""nanoGPT (Karpathy 2022), and programs with the same module names: minGPT, build-nanogpt.

GPT-2 under its own names, but with torch's linear layers, stored as (out, in). Biases are optional, those of
norms too. Sizes are in model_args next to the weights; the activation is not stored, but the three programs
differ in it and in what else they save.
"""

from __future__ import annotations

from collections.abc import Mapping

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.decoders import gpt2
from transformer.checkpoints.importing.family import Family, StandIn
from transformer.checkpoints.importing.layout.questions import ask_activation
from transformer.checkpoints.reading.raw import RawCheckpoint

_ACTIVATIONS = {
    "gelu": "GELU (nn.GELU()), as nanoGPT has it",
    "gelu_tanh": "GELU, approximated by tanh, as minGPT, build-nanogpt and the first nanoGPT have it",
    "relu": "ReLU",
    "silu": "SiLU (Swish)",
}
_FUSED, _WORDS, _GENERATOR = "h.0.attn.c_attn.weight", "wte.weight", "lm_head.weight"


def matches(raw: RawCheckpoint) -> bool:
    """True if there are GPT-2's names, with the fused projections stored as (out, in)."""
    if not {_WORDS, _FUSED} <= raw.tensors.keys() or "model_type" in raw.json("config.json"):
        return False
    shape = raw.tensors[_FUSED].shape
    return len(shape) == 2 and shape[0] == 3 * shape[1]


def read_config(draft: ConfigDraft) -> None:
    """Read the shapes and answers, or config.json if the user added one."""
    raw = draft.raw
    draft.size("d_model", "n_embd", _WORDS, 1)
    draft.size("tgt_vocab_size", "vocab_size", _WORDS, 0)
    draft.size("max_len", "block_size", "wpe.weight", 0)
    draft.put("d_ff", draft.length("h.0.mlp.c_fc.weight", 0), "shapes", "axis 0 of c_fc.weight")
    draft.layers("n_decoder_layers", "n_layer", "h.")
    if draft.config is not None and "n_head" in draft.config:
        draft.heads("n_head")
    else:
        draft.ask_heads()
    likely = "gelu_tanh" if _is_mingpt(raw) or _is_build_nanogpt(raw) else "gelu"
    labels = {likely: _ACTIVATIONS[likely]} | _ACTIVATIONS
    ask_activation(draft, labels, "It is written in the program and not stored with the weights.")
    draft.layout("a decoder alone", src_vocab_size=0, n_encoder_layers=0)
    draft.layout("every nanoGPT", norm_position="pre", final_norm=True, norm_eps=1e-5, pad_id=-1)
    draft.layout("every nanoGPT", positions="learned", embedding_scale=False, generator_bias=False)
    draft.present("bias", "h.0.mlp.c_fc.bias")
    draft.present("attention_bias", "h.0.attn.c_attn.bias")
    draft.tied_generator(_GENERATOR, _WORDS)


def _is_mingpt(raw: RawCheckpoint) -> bool:
    """True if the generator is separate and there are buffered causal masks: nanoGPT ties its generator."""
    tied = raw.same_numbers(_GENERATOR, _WORDS)
    return {_GENERATOR, "h.0.attn.bias"} <= raw.tensors.keys() and not tied


def _is_build_nanogpt(raw: RawCheckpoint) -> bool:
    """True if the training file has the loss under build-nanogpt's name, and not nanoGPT's model_args."""
    return "val_loss" in raw.extras and "model_args" not in raw.extras


def stand_ins(raw: RawCheckpoint) -> Mapping[str, StandIn]:
    """Norms have no beta if biases were left out."""
    if "ln_f.bias" in raw.tensors:
        return {}
    return {
        "decoder.layers.{}.self_attn_norm.beta": "zeros",
        "decoder.layers.{}.feed_forward_norm.beta": "zeros",
        "decoder.final_norm.beta": "zeros",
    }


FAMILY = Family(
    name="nanogpt",
    label="nanoGPT",
    matches=matches,
    read_config=read_config,
    renames=gpt2.OUTPUT_BY_INPUT,
    ignored=gpt2.IGNORED,
    prefixes=("transformer.",),
    stand_ins=stand_ins,
)
