"""Marian's own files (Junczys-Dowmunt et al. 2018): model.npz, which includes the configuration as text.

Matrices are stored as (in, out), layers count from 1, sinusoids are tensor2tensor's. Targets begin with a
zero embedding: here it is a separate token, the last in each vocabulary, which also serves as padding.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.family import Family, Into
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.importing.layout.questions import ask_activation
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError, shown
from transformer.model.config import TransformerConfig

if TYPE_CHECKING:
    from torch import Tensor

CONFIG = "special:model.yml"
USUAL_LENGTH = 512
_UNLIKELY = 30.0
"""How far the added token's bias is below the lowest: a factor of e^-30 in probability."""


def _row(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """(1, n) -> (n,)."""
    return (tensor.flatten(),)


def _with_zero_row(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """(V, D) -> (V + 1, D)."""
    import torch  # imported here because rejected files don't need it

    return (torch.cat((tensor, tensor.new_zeros(1, tensor.shape[1]))),)


def _with_zero_column(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """(D, V) -> (V + 1, D)."""
    return _with_zero_row(tensor.transpose(0, 1), config)


def _with_unlikely(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """(1, V) -> (V + 1,)."""
    import torch  # as above

    biases = tensor.flatten()
    return (torch.cat((biases, biases.min()[None] - _UNLIKELY)),)


def _transposed(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    return (tensor.transpose(0, 1),)


def _for_both(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    return tensor, tensor


def _norm(theirs: str, ours: str) -> dict[str, Into]:
    return {
        f"{theirs}_ln_{part}{suffix}": Into(_row, f"{ours}.{name}")
        for part, name in {"scale": "gamma", "bias": "beta"}.items()
        for suffix in ("", "_pre")
    }


def _linear(theirs: str, mark: str, ours: str) -> dict[str, Into]:
    return {
        f"{theirs}_W{mark}": Into(_transposed, f"{ours}.weight"),
        f"{theirs}_b{mark}": Into(_row, f"{ours}.bias"),
    }


def _attention(theirs: str, ours: str) -> dict[str, Into]:
    return {
        **_linear(theirs, "q", f"{ours}.w_q"),
        **_linear(theirs, "k", f"{ours}.w_k"),
        **_linear(theirs, "v", f"{ours}.w_v"),
        **_linear(theirs, "o", f"{ours}.w_o"),
        **_norm(f"{theirs}_Wo", f"{ours}_norm"),
    }


def _inside(layers: str, names: Mapping[str, Into]) -> dict[str, Into]:
    return {
        layers + theirs: Into(into.by, *(layers + ours for ours in into.names))
        for theirs, into in names.items()
    }


_LAYER = {
    **_attention("self", "self_attn"),
    **_linear("ffn", "1", "feed_forward.w_1"),
    **_linear("ffn", "2", "feed_forward.w_2"),
    **_norm("ffn_ffn", "feed_forward_norm"),
}
RENAMES = {
    "Wemb": Into(_with_zero_row, "src_embedding.weight"),
    "encoder_Wemb": Into(_with_zero_row, "src_embedding.weight"),
    "decoder_Wemb": Into(_with_zero_row, "tgt_embedding.weight"),
    "Wpos": Into(_for_both, "src_embedding.positions.weight", "tgt_embedding.positions.weight"),
    **_norm("encoder_emb", "src_embedding.norm"),
    **_norm("decoder_emb", "tgt_embedding.norm"),
    **_inside("encoder.layers.{}.", _LAYER),
    **_inside("decoder.layers.{}.", _LAYER | _attention("context", "cross_attn")),
    **_norm("encoder_top", "encoder.final_norm"),
    **_norm("decoder_top", "decoder.final_norm"),
    "decoder_ff_logit_out_W": Into(_with_zero_column, "generator.weight"),
    "decoder_ff_logit_out_Wt": Into(_with_zero_row, "generator.weight"),
    "decoder_ff_logit_out_b": Into(_with_unlikely, "generator.bias"),
}
"""Names as given by `arrange`: layers count from 0."""

_LAYER_NAME = re.compile(r"(encoder|decoder)_l([1-9][0-9]{0,3})_(.+)")
_LINE = re.compile(r"([a-z][a-z0-9_-]*):(?: (.*))?")
_WORDS = {"encoder": ("Wemb", "encoder_Wemb"), "decoder": ("Wemb", "decoder_Wemb")}
_GENERATORS = ("decoder_ff_logit_out_W", "decoder_ff_logit_out_Wt")
_FIRST = "encoder.layers.0."
_ACTIVATIONS = {"relu": "relu", "swish": "silu"}
_REFUSED = {
    "transformer-no-projection": (False, "heads without a matrix after them"),
    "transformer-tied-layers": ("", "layers that are shared"),
    "transformer-ffn-depth": (2, "a feed-forward of another depth than two"),
    "ulr": (False, "universal embeddings"),
    "lemma-dim-emb": (0, "factored words"),
}
_OTHERS = ("_rnn_", "_aan_", "_rms_scale", "_ffn_W3", "_context2_")


def matches(raw: RawCheckpoint) -> bool:
    """True if `arrange` found layers of Marian's encoder and decoder."""
    return {f"{_FIRST}self_Wq", "decoder.layers.0.context_Wq"} <= raw.tensors.keys()


def arrange(raw: RawCheckpoint) -> RawCheckpoint:
    """Rename layers to count from 0, with dots around the number."""

    def name(stored: str) -> str:
        match = _LAYER_NAME.fullmatch(stored)
        return stored if match is None else f"{match[1]}.layers.{int(match[2]) - 1}.{match[3]}"

    if "encoder_l1_self_Wq" not in raw.tensors:
        return raw
    return replace(raw, tensors={name(stored): tensor for stored, tensor in raw.tensors.items()})


def read_config(draft: ConfigDraft) -> None:
    """Read the configuration in the file, the shapes, and, without a configuration, answers.

    Raises:
        CheckpointError: for what our model does not compute.
    """
    raw = draft.raw
    text = raw.extras.get(CONFIG)
    draft.config = told = ForeignConfig(_parsed(text), CONFIG) if isinstance(text, str) and text else None
    _refuse_other_computations(raw, told)
    draft.size("d_model", "d_model", f"{_FIRST}self_Wq", 0)
    draft.put("d_ff", draft.length(f"{_FIRST}ffn_W1", 1), "shapes", "columns of encoder_l1_ffn_W1")
    for stack in ("encoder", "decoder"):
        depth = raw.layer_count(f"{stack}.layers.")
        draft.put(f"n_{stack}_layers", depth, "shapes", f"names from {stack}_l1 on")
    draft.heads("transformer-heads")
    _read_norms(draft)
    if told is None:
        ask_activation(draft)
    else:
        told_name = told.choice("transformer-ffn-activation", _ACTIVATIONS, "swish")
        draft.configured("activation", told_name, "transformer-ffn-activation")
    _read_words(draft)
    learned = "Wpos" in raw.tensors
    why = "whether there is Wpos"
    draft.put("positions", "learned" if learned else "sinusoidal", "shapes", why)
    draft.put("embedding_scale", not learned, "shapes", why)
    if learned:
        draft.put("max_len", draft.length("Wpos", 0), "shapes", "rows of Wpos")
    else:
        draft.put("max_len", USUAL_LENGTH, "assumed", "sinusoids have no end")
        draft.layout("every Marian", sinusoid_layout="halves_to_base")


def _parsed(text: str) -> dict[str, Any]:
    """A configuration's lines NAME: VALUE; a list over several lines becomes one text."""
    values: dict[str, Any] = {}
    name = ""
    for line in text.splitlines():
        match = _LINE.fullmatch(line.rstrip())
        if match is not None:
            name = match[1]
            values[name] = _plain(match[2] or "")
        elif name and line.lstrip().startswith("- "):
            values[name] = f"{values[name]} {line.strip()[2:]}".strip()
    return values


def _plain(text: str) -> Any:
    text = text.strip().strip("\"'")
    if text in ("true", "false"):
        return text == "true"
    if text in ("[]", "~"):
        return ""
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else text


def _refuse_other_computations(raw: RawCheckpoint, told: ForeignConfig | None) -> None:
    for stored in raw.tensors.values():
        if any(part in stored.name for part in _OTHERS):
            raise CheckpointError(
                f"There is {shown(stored.name)}, of a kind of Marian's Transformer with other parts than "
                "the paper's (recurrent or averaging decoder, RMS norms, several encoders, deeper "
                "feed-forward). Headlight's model has none of these."
            )
    if told is not None:
        told.only("type", "transformer", why="another kind of model")
        told.only("transformer-decoder-autoreg", "self-attention", why="a decoder without self-attention")
        for name, (allowed, why) in _REFUSED.items():
            told.only(name, allowed, why=why)


def _read_norms(draft: ConfigDraft) -> None:
    """Fill in the positions of the norms, from the ends of their names.

    Raises:
        CheckpointError: for norms both before and after a sublayer, or none.
    """
    names = draft.raw.tensors.keys()
    before, after = (f"{_FIRST}self_Wo_ln_scale{end}" in names for end in ("_pre", ""))
    if before == after:
        raise CheckpointError(
            f"The layers have {'two norms each' if before else 'no norms'} around a sublayer: Headlight's "
            "model has one, before it or after the addition."
        )
    draft.put("norm_position", "pre" if before else "post", "shapes", "names of the norms")
    ending = [stack for stack in ("encoder", "decoder") if f"{stack}_top_ln_scale" in names]
    final = bool(ending) if len(ending) != 1 else ending[0]
    draft.put("final_norm", final, "shapes", "whether a stack ends with a norm")
    draft.present("embedding_norm", "encoder_emb_ln_scale_pre")
    draft.layout("every Marian", norm_eps=1e-6, bias=True)


def _read_words(draft: ConfigDraft) -> None:
    names = draft.raw.tensors.keys()
    rows = []
    for name, stack in (("src_vocab_size", "encoder"), ("tgt_vocab_size", "decoder")):
        table = next((word for word in _WORDS[stack] if word in names), _WORDS[stack][1])
        rows.append(draft.length(table, 0))
        draft.put(name, rows[-1] + 1, "shapes", f"rows of {table}, and one for the embedding of zeros")
    draft.present("share_embeddings", "Wemb")
    tied = names.isdisjoint(_GENERATORS)
    draft.put("tie_generator", tied, "shapes", "whether there is a matrix of the generator")
    has_bias = draft.present("generator_bias", "decoder_ff_logit_out_b")
    pad_id = rows[0] if rows[0] == rows[1] else -1
    draft.put("pad_id", pad_id, "layout", "the id of the embedding of zeros, where both sides have the same")
    draft.note(
        f"Marian's targets begin with an embedding of zeros: here that is the token {rows[1]}"
        + (", which the model does not predict." if has_bias else ", whose logit is always 0.")
    )


FAMILY = Family(
    name="marian_npz",
    label="Marian's own npz",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    arrange=arrange,
)
