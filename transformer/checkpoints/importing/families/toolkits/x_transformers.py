"""x-transformers (Phil Wang): a TransformerWrapper with an Encoder or a Decoder, and XTransformer with both.

Sublayers are numbered across each stack: here they get names by layer, which the layout's file reads. Options
that our model lacks are recognised by their tensor names and rejected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from transformer.checkpoints.importing.family import Patterns
from transformer.checkpoints.importing.layout.shipped import family, layout
from transformer.checkpoints.reading.raw import LAYER_NUMBER, RawCheckpoint, StoredTensor
from transformer.errors import CheckpointError, shown

_LAYOUT = layout("_x_transformers")
_SUBLAYER = re.compile(rf"attn_layers\.layers\.{LAYER_NUMBER}\.([01])\.(.+)")
_NORM = re.compile(r"([012])\.(.+)")
_OF_NORMS = ("weight", "gamma", "g", "bias", "beta")
_PLACES = {"0": "_norm", "1": "_post_norm", "2": "_end_norm"}
"""Before a sublayer, after it, and after the addition."""
_BLOCKS = (("self_attn", "feed_forward"), ("self_attn", "cross_attn", "feed_forward"))
_MOST = 4_000

_OPTIONS = {
    "rel_pos": "a bias of the scores by distance (rel_pos_bias, alibi_pos_bias, dynamic_pos_bias)",
    "rotary_pos_emb.scale": "rotary positions that fade with distance (rotary_xpos)",
    "polar_pos_emb": "polar positions (polar_pos_emb)",
    "mem_k": "keys and values that were learned (attn_num_mem_kv)",
    "mem_v": "keys and values that were learned (attn_num_mem_kv)",
    "qk_norm": "a scale of each head's queries and keys (attn_qk_norm)",
    "rmsnorm": "norms of queries, keys or values (attn_qk_norm)",
    "talking_heads": "heads that are mixed (attn_talking_heads)",
    "head_scale": "a scale of each head (attn_head_scale)",
    "gate": "gated values or residuals (attn_gate_values, gate_residual)",
    "residual_scale": "a scale of the stream (scale_residual)",
    "memory_tokens": "tokens added to every text (num_memory_tokens)",
    "project_emb": "embeddings of another width than the model (emb_dim)",
    "pos_emb.scale": "sinusoids with a learned scale (scaled_sinu_pos_emb)",
    "cls_token": "a token for the whole text (use_cls_token)",
    "to_out.0": "an attention whose output is gated (attn_on_attn)",
}
_OF_THE_WRAPPER = (
    "memory_tokens",
    "project_emb",
    "pos_emb",
    "cls_token",
    "embeds",
    "recycled_proj",
    "to_mixture",
)


def arrange(raw: RawCheckpoint) -> RawCheckpoint:
    """Rename sublayers by layer, and the rest by its part; a single stack gets the names of both.

    Raises:
        CheckpointError: for sublayers not in the paper's order, and for options that our model lacks.
    """
    stacks: dict[str, tuple[str, ...]] = {
        prefix: (stack,)
        for stack, prefix in (("encoder", "encoder."), ("decoder", "decoder.net."), ("decoder", "decoder."))
        if any(name.startswith(f"{prefix}attn_layers.layers.0.") for name in raw.tensors)
    }
    if ("decoder",) not in stacks.values():
        if not any(name.startswith("attn_layers.layers.0.") for name in raw.tensors):
            return raw
        stacks = {"": ("decoder",)}
    if len(stacks) == 1:
        stacks = dict.fromkeys(stacks, ("decoder", "encoder"))
    blocks = {prefix: _block(raw, prefix) for prefix in stacks}
    tensors: dict[str, StoredTensor] = {}
    for name, stored in raw.tensors.items():
        prefix = next((prefix for prefix in stacks if name.startswith(prefix)), None)
        if prefix is None:
            tensors[name] = stored
            continue
        for stack in stacks[prefix]:
            tensors[_arranged(name.removeprefix(prefix), stack, blocks[prefix])] = stored
    _refuse_other_options(tensors)
    return replace(raw, tensors=tensors)


def _block(raw: RawCheckpoint, prefix: str) -> tuple[str, ...]:
    """The sublayers of one layer; they must be the same in all layers."""
    start = f"{prefix}attn_layers.layers."
    count = min(raw.layer_count(start), _MOST)
    is_attention = [f"{start}{i}.1.to_q.weight" in raw.tensors for i in range(count)]
    for block in _BLOCKS:
        order = [sublayer != "feed_forward" for sublayer in block]
        if count % len(order) == 0 and is_attention == order * (count // len(order)):
            return block
    raise CheckpointError(
        "The sublayers of this x-transformers are in another order than attention, then feed-forward "
        "(macaron, sandwich_coef, par_ratio, custom_layers): Headlight's model has the paper's order."
    )


def _arranged(name: str, stack: str, block: tuple[str, ...]) -> str:
    side = "src" if stack == "encoder" else "tgt"
    match = _SUBLAYER.fullmatch(name)
    if match is None:
        for theirs, ours in (
            ("token_emb.emb.weight", f"{side}_embedding"),
            ("token_emb.weight", f"{side}_embedding"),
            ("pos_emb.emb.weight", f"{side}_positions"),
        ):
            if name == theirs:
                return ours
        module, _, part = name.rpartition(".")
        if module in ("attn_layers.final_norm", "norm") and part in _OF_NORMS:
            return f"{stack}.final_norm.{part}"
        if module == "post_emb_norm" and part in _OF_NORMS:
            return f"{side}_embedding.norm.{part}"
        if module == "to_logits" and stack == "decoder":
            return f"generator.{part}"
        return f"{stack}.{name.removeprefix('attn_layers.')}"
    number, kind, rest = int(match[1]), match[2], match[3]
    layer, sublayer = divmod(number, len(block))
    place = f"{stack}.layers.{layer}.{block[sublayer]}"
    if kind == "1":
        return f"{place}.{rest}"
    norm = _NORM.fullmatch(rest)
    if norm is None or norm[2] not in _OF_NORMS:
        return f"{place}_norms.{rest}"
    return f"{place}{_PLACES[norm[1]]}.{norm[2]}"


def _refuse_other_options(tensors: Mapping[str, StoredTensor]) -> None:
    """Reject tensors of the stacks that our model has no use for: they would change the computation.

    Raises:
        CheckpointError: naming the option, where it is known.
    """
    known = Patterns([*_LAYOUT.names, *_LAYOUT.ignored])
    for name, stored in tensors.items():
        inside = stored.name
        is_theirs = "attn_layers." in inside or any(f".{part}" in f".{inside}" for part in _OF_THE_WRAPPER)
        if is_theirs and known.find(name) is None:
            why = next(
                (why for part, why in _OPTIONS.items() if part in inside), "an option of x-transformers"
            )
            raise CheckpointError(f"There is {shown(inside)}: {why}. Headlight's model does not have that.")


FAMILY = replace(family(_LAYOUT.name), arrange=arrange, resolved=None)
