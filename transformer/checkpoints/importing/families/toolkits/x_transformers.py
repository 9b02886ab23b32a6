"""x-transformers (Phil Wang): a TransformerWrapper with an Encoder or a Decoder, and XTransformer with both.

Supported are the default options, gated feed-forwards, RMS norms and partial rotary positions; its many other
options are recognised by their tensor names and rejected. Sublayers are numbered across each stack, and
learned positions are multiplied by 1 / sqrt(d_model). Newer versions store gamma - 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.toolkits._sublayers import (
    HALVES,
    OFFSET,
    arrange,
    refuse_other_options,
    renamed,
)
from transformer.checkpoints.importing.family import Family, Into, StandIn
from transformer.checkpoints.importing.layout import questions
from transformer.checkpoints.importing.layout.operations import Stored
from transformer.checkpoints.importing.layout.rotary_questions import ask_grouped_heads
from transformer.checkpoints.importing.layout.shipped import layout
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError

if TYPE_CHECKING:
    from torch import Tensor

_LAYOUT = layout("_x_transformers")


def _stored(ending: str, new: str, operation: str) -> dict[str, Into]:
    """The names with this ending under the one that they get where answers say how the tensors are stored."""
    return {
        theirs.removesuffix(ending) + new: Into(Stored(((operation, None),), into.names), *into.names)
        for theirs, into in _LAYOUT.names.items()
        if theirs.endswith(ending)
    }


_NAMES = {
    **_LAYOUT.names,
    **_stored(".gamma", f".{OFFSET}", "minus_one"),
    **_stored(".to_q.weight", f".to_q.{HALVES}", "pairs_apart"),
    **_stored(".to_k.weight", f".to_k.{HALVES}", "pairs_apart"),
}
_OLDEST_NORMS = ("layers.0.0.0.weight", "layers.0.0.2.weight")
"""Weights of torch's norms, absent in newer versions."""


def matches(raw: RawCheckpoint) -> bool:
    """True if `arrange` found a stack."""
    return "decoder.layers.0.self_attn.to_q.weight" in raw.tensors


def read_config(draft: ConfigDraft) -> None:
    """Read the shapes and answers.

    Raises:
        CheckpointError: for options that our model lacks.
    """
    refuse_other_options(draft.raw, _NAMES, _LAYOUT.ignored)
    depths = {stack: draft.raw.layer_count(f"{stack}.layers.") for stack in ("encoder", "decoder")}
    if not depths["encoder"]:
        depths = _read_direction(draft, depths["decoder"])
    for stack, depth in depths.items():
        draft.put(f"n_{stack}_layers", depth, "shapes", "sublayers of the stack")
    first = "decoder" if depths["decoder"] else "encoder"
    layer = f"{first}.layers.0"
    draft.size("d_model", "d_model", f"{layer}.self_attn.to_q.weight", 1)
    rows, k_rows = (draft.length(f"{layer}.self_attn.to_{part}.weight", 0) for part in "qk")
    ask_grouped_heads(draft, rows, k_rows, even=False)
    _read_norms(draft, first, layer)
    _read_feed_forward(draft, layer)
    draft.present("attention_bias", f"{layer}.self_attn.to_out.bias")
    _read_positions(draft, first)
    questions.put_vocabularies(draft)
    draft.layout("every model of x-transformers", embedding_scale=False)
    _read_generator(draft, depths["decoder"])
    if depths["encoder"]:
        questions.ask_pad_id(draft, "src_embedding", usual=0)
    else:
        draft.layout("a decoder alone looks at all earlier tokens", pad_id=-1)


def _read_direction(draft: ConfigDraft, depth: int) -> dict[str, int]:
    causal = draft.ask(
        "causal",
        "Are later tokens masked for earlier ones?",
        "An Encoder and a Decoder of x-transformers have the same names and shapes.",
        {True: "yes: attn_layers is a Decoder", False: "no: attn_layers is an Encoder"},
    )
    if causal:
        return {"encoder": 0, "decoder": depth}
    draft.raw = renamed(draft.raw, {"decoder.": "encoder.", "tgt_": "src_"})
    return {"encoder": depth, "decoder": 0}


def _read_norms(draft: ConfigDraft, first: str, layer: str) -> None:
    raw = draft.raw
    names = {
        name: raw.tensors.get(f"{layer}.{name}.gamma") for name in ("self_attn_norm", "self_attn_post_norm")
    }
    own, after = names["self_attn_norm"], names["self_attn_post_norm"]
    if own is None:
        raise CheckpointError("The attention has no norm: Headlight's model needs one there.")
    position = "post" if ".0.2." in own.name else "pre" if after is None else "both"
    draft.put("norm_position", position, "shapes", f"the position of {own.name}")
    is_rms = own.name.endswith(".g")
    draft.put("norm", "rms" if is_rms else "layer", "shapes", "names of the norms' weights")
    draft.layout("every norm of x-transformers", norm_eps=1e-12 if is_rms else 1e-5)
    draft.present("final_norm", f"{first}.final_norm.gamma")
    draft.present("embedding_norm", f"{'tgt' if first == 'decoder' else 'src'}_embedding.norm.gamma")
    if own.name.endswith(".weight"):
        return
    offset = draft.ask(
        "gamma_offset",
        "Is 1 added to each gamma of the norms?",
        "Newer versions of x-transformers keep gamma less 1 (norm_add_unit_offset), under the same name.",
        {True: "yes: newer versions", False: "no: older versions"},
        likely=bool(map_tensor(own).double().mean() < 0.5),
    )
    if offset:
        draft.raw = renamed(raw, {}, {"_norm.gamma": f"_norm.{OFFSET}"})


def _read_feed_forward(draft: ConfigDraft, layer: str) -> None:
    gated = draft.present("gated", f"{layer}.feed_forward.ff.0.proj.weight")
    theirs = f"{layer}.feed_forward.ff.0.{'proj' if gated else '0'}"
    rows = draft.length(f"{theirs}.weight", 0)
    draft.put(
        "d_ff", rows // 2 if gated else rows, "shapes", f"rows of {draft.stored_name(theirs + '.weight')}"
    )
    draft.present("bias", f"{theirs}.bias")
    questions.ask_activation(
        draft,
        {"gelu": "GELU, the default", "silu": "SiLU (ff_swish)", "relu": "ReLU", "gelu_tanh": "GELU by tanh"},
    )


def _read_positions(draft: ConfigDraft, first: str) -> None:
    raw = draft.raw
    tables = questions.stored_positions(raw)
    angles = raw.tensors.get(f"{first}.rotary_pos_emb.inv_freq")
    if tables:
        draft.put("positions", "learned", "shapes", "whether there is pos_emb")
        draft.put("max_len", min(draft.length(table, 0) for table in tables), "shapes", "rows of pos_emb")
        return
    draft.put("max_len", questions.ASSUMED_LENGTH, "assumed", "no table of positions is stored")
    draft.put(
        "positions", "none" if angles is None else "rotary", "shapes", "whether there is rotary_pos_emb"
    )
    if angles is None:
        draft.note(
            "No positions are stored: if the model was made with alibi_pos_bias, its numbers are wrong."
        )
        return
    if draft["n_encoder_layers"] and draft["n_decoder_layers"]:
        other = "encoder.rotary_pos_emb.inv_freq"
        if other not in raw.tensors:
            raise CheckpointError(
                "Only the decoder has rotary positions: Headlight's model turns both or none."
            )
    _read_rotation(draft, map_tensor(angles).double().flatten(), first)


def _read_rotation(draft: ConfigDraft, frequencies: Tensor, first: str) -> None:
    """Read what is rotated: frequency i of n numbers is base^(-2i / n); older versions rotate values too."""
    n_turned = 2 * len(frequencies)
    if any(stored.name.endswith(_OLDEST_NORMS) for stored in draft.raw.tensors.values()):
        raise CheckpointError(
            "This version of x-transformers turns the values by their positions, too: Headlight's model "
            "turns queries and keys. Train it with a newer version."
        )
    draft.put(
        "rotary_dims", 0 if n_turned == draft["d_head"] else n_turned, "shapes", "rotary_pos_emb.inv_freq"
    )
    last = float(frequencies[-1])
    if len(frequencies) > 1 and 0 < last < 1:
        base = last ** (-n_turned / (n_turned - 2))
        draft.put("position_base", float(f"{base:.5g}"), "shapes", "the numbers of rotary_pos_emb.inv_freq")
    newer = draft["norm"] == "rms" or f"{first}.final_norm.beta" not in draft.raw.tensors
    pairs = draft.ask(
        "rotary_pairs",
        "Which numbers of a head make a pair that is turned?",
        "Versions of x-transformers differ in that, and no name or shape does.",
        {
            "neighbours": "neighbours: newer versions",
            "halves": "those half of the turned part apart: up to 1.30",
        },
        likely="neighbours" if newer else "halves",
    )
    if pairs == "halves":
        suffixes = {f"self_attn.to_{m}.weight": f"self_attn.to_{m}.{HALVES}" for m in "qk"}
        draft.raw = renamed(draft.raw, {}, suffixes)


def _read_generator(draft: ConfigDraft, n_decoder_layers: int) -> None:
    if draft["has_generator"] or not n_decoder_layers:
        return
    why = "a decoder without to_logits takes its embedding (tie_embedding)"
    draft.put("has_generator", True, "layout", why)
    draft.put("tie_generator", True, "layout", why)
    draft.ask(
        "logits_scale",
        "Are hidden states divided by the square root of d_model before the generator?",
        "The generator is the embedding, and versions of x-transformers differ in that.",
        {True: "yes: version 2", False: "no: version 1"},
        likely=bool(draft.settings.get("gamma_offset") and draft["gamma_offset"]),
    )


def stand_ins(raw: RawCheckpoint) -> Mapping[str, StandIn]:
    """Norms may lack beta, and in attention at most the output matrix has a bias."""
    ours = [name for into in _LAYOUT.names.values() for name in into.names]
    has_beta = any(name.endswith("norm.beta") for name in raw.tensors)
    zeros = [name for name in ours if name.endswith("embedding.norm.beta" if has_beta else ".beta")]
    zeros += [
        name.replace("weight", "bias")
        for name in ours
        if name.endswith(("w_q.weight", "w_k.weight", "w_v.weight"))
    ]
    return dict.fromkeys(zeros, "zeros")


FAMILY = Family(
    name="x_transformers",
    label="x-transformers",
    matches=matches,
    read_config=read_config,
    renames=_NAMES,
    ignored=_LAYOUT.ignored,
    arrange=arrange,
    stand_ins=stand_ins,
)
