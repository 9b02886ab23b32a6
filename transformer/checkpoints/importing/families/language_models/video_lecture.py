"""The GPT of Karpathy's lecture "Let's build GPT" (github.com/karpathy/ng-video-lecture).

A pre-norm decoder with learned positions. Each head has its own matrices, and the generator has a bias.
Scores are divided by the square root of the model's width in the lecture, of the head's width in later
versions.
"""

from __future__ import annotations

from collections.abc import Mapping

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.family import (
    Family,
    Into,
    Renames,
    StandIn,
    as_it_is,
    module_renames,
    prefixed,
)
from transformer.checkpoints.importing.layout.questions import ask_activation, ask_score_width
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError

_LAYER: Renames = {
    "ln1": "self_attn_norm",
    "sa.heads.{}.query": Into(as_it_is, "self_attn.w_q", joined=True),
    "sa.heads.{}.key": Into(as_it_is, "self_attn.w_k", joined=True),
    "sa.heads.{}.value": Into(as_it_is, "self_attn.w_v", joined=True),
    "sa.proj": "self_attn.w_o",
    "ln2": "feed_forward_norm",
    "ffwd.net.0": "feed_forward.w_1",
    "ffwd.net.2": "feed_forward.w_2",
}
RENAMES: Renames = {
    "token_embedding_table.weight": "tgt_embedding.weight",
    "position_embedding_table.weight": "tgt_embedding.positions.weight",
    **prefixed(module_renames(_LAYER), "blocks.{}.", "decoder.layers.{}."),
    **module_renames({"ln_f": "decoder.final_norm", "lm_head": "generator"}),
}
IGNORED = {"blocks.{}.sa.heads.{}.tril": "The causal mask; our model makes its own."}

_WORDS = "token_embedding_table.weight"
_HEAD = "blocks.0.sa.heads.0.query"


def matches(raw: RawCheckpoint) -> bool:
    """True if there is the lecture's token table, alone (its bigram model) or with layers of heads."""
    return _WORDS in raw.tensors and (f"{_HEAD}.weight" in raw.tensors or _is_bigram(raw))


def _is_bigram(raw: RawCheckpoint) -> bool:
    return not any(name.startswith("blocks.") for name in raw.tensors)


def read_config(draft: ConfigDraft) -> None:
    """Read the shapes and answers.

    Raises:
        CheckpointError: for the lecture's first model, which has no layers.
    """
    raw = draft.raw
    if _is_bigram(raw):
        raise CheckpointError(
            "This is the lecture's bigram model: a table of which token follows which, without attention or "
            "layers. Open the model that gpt.py saves."
        )
    d_model = draft.size("d_model", "n_embd", _WORDS, 1)
    draft.size("tgt_vocab_size", "vocab_size", _WORDS, 0)
    draft.size("max_len", "block_size", "position_embedding_table.weight", 0)
    draft.size("d_ff", "d_ff", "blocks.0.ffwd.net.0.weight", 0)
    draft.put("n_heads", raw.layer_count("blocks.0.sa.heads."), "shapes", "heads of layer 0")
    draft.size("d_head", "head_size", f"{_HEAD}.weight", 0)
    draft.layers("n_decoder_layers", "n_layer", "blocks.")
    ask_score_width(
        draft,
        {
            "head": f"that of a head, {draft['d_head']}: k.shape[-1]**-0.5, as gpt.py has it now",
            "model": f"that of the model, {d_model}: C**-0.5, as in the lecture and its notebook",
        },
        "Look for **-0.5 in Head.forward.",
    )
    ask_activation(
        draft,
        {"relu": "ReLU, as in the lecture", "gelu": "GELU", "gelu_tanh": "GELU, approximated by tanh"},
    )
    draft.layout("a decoder alone", src_vocab_size=0, n_encoder_layers=0)
    draft.layout("every model of the lecture", norm_position="pre", final_norm=True, norm_eps=1e-5, pad_id=-1)
    draft.layout("every model of the lecture", positions="learned", embedding_scale=False)
    draft.layout("every model of the lecture", tie_generator=False)
    draft.present("bias", "blocks.0.ffwd.net.0.bias")
    draft.present("attention_bias", "blocks.0.sa.proj.bias")
    draft.present("generator_bias", "lm_head.bias")


def stand_ins(raw: RawCheckpoint) -> Mapping[str, StandIn]:
    """Heads have no biases; the layer after them has one."""
    has_bias = f"{_HEAD}.bias" in raw.tensors
    return {} if has_bias else {f"decoder.layers.{{}}.self_attn.w_{m}.bias": "zeros" for m in "qkv"}


FAMILY = Family(
    name="video_lecture",
    label='the GPT of the lecture "Let\'s build GPT" (ng-video-lecture)',
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored=IGNORED,
    stand_ins=stand_ins,
)
