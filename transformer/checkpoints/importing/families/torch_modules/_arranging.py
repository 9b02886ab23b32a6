"""Renames a user's own torch.nn.Transformer module to the names in the rename table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from transformer.checkpoints.importing.families.torch_modules._norms import find_norms
from transformer.checkpoints.importing.families.torch_modules._parts import (
    Ask,
    PartNames,
    find_parts,
    likeliest,
)
from transformer.checkpoints.reading.raw import RawCheckpoint, StoredTensor
from transformer.errors import CheckpointError, shown

_OWN_PROJECTIONS = ("self_attn.q_proj_weight", "multihead_attn.q_proj_weight")
"""Names in torch.nn.MultiheadAttention that replace in_proj_weight."""


@dataclass(frozen=True)
class _Arranged(RawCheckpoint):
    """A checkpoint under the names in `torch_transformer.NAMES`.

    Attributes:
        before: its tensors under their stored names.
    """

    before: Mapping[str, StoredTensor]


def arrange(raw: RawCheckpoint) -> RawCheckpoint:
    """Rename stacks, embeddings, positions and generator as in NAMES; other names are unchanged.

    Where names are ambiguous, this is the likeliest arrangement, and `read_config` asks about it.

    Raises:
        CheckpointError: for an attention that our model does not compute.
    """
    apart = next((name for name in raw.tensors if name.endswith(_OWN_PROJECTIONS)), None)
    if apart is not None:
        raise CheckpointError(
            f"There is {shown(apart)}: an attention whose keys and values have another width than the model "
            "(kdim, vdim). In Headlight's model a memory is as wide as the model."
        )
    tensors, _ = _arranged(raw.tensors, likeliest)
    return _Arranged(**(vars(raw) | {"tensors": tensors}), before=raw.tensors) if tensors else raw


def arrange_as_answered(raw: RawCheckpoint, ask: Ask) -> RawCheckpoint:
    """Rearrange the result of `arrange` according to the answers.

    Raises:
        CheckpointError: for a norm in a place where our model has none.
    """
    if not isinstance(raw, _Arranged):
        return raw
    tensors, homeless = _arranged(raw.before, ask)
    if homeless:
        raise CheckpointError(
            f"There is no place for the norm {shown(homeless[0])}: Headlight's model has one norm after the "
            "last layer of each stack and one after the embeddings. If yours works without it, save the "
            "weights again without it."
        )
    return replace(raw, tensors=tensors)


def _arranged(before: Mapping[str, StoredTensor], ask: Ask) -> tuple[dict[str, StoredTensor], list[str]]:
    """The tensors under the names in NAMES, and norms without a place; both empty if there is no stack."""
    parts = find_parts(before, ask)
    found = {"encoder": parts.encoder, "decoder": parts.decoder}
    stacks = {side: stack for side, stack in found.items() if stack is not None}
    if not stacks:
        return {}, []
    norms = find_norms(before, stacks, parts.d_model, ask)
    renamed = _parts_by_name(parts)
    for place, module in norms.places.items():
        for part in ("weight", "bias"):
            renamed.setdefault(f"{module}.{part}", []).append(f"{place}.{part}")
    tensors: dict[str, StoredTensor] = {}
    for name, stored in before.items():
        inside = [
            f"{place}.layers.{name.removeprefix(stack)}"
            for side, stack in stacks.items()
            for place in ([side, "causal"] if [*stacks] == ["encoder"] else [side])
            if name.startswith(stack)
        ]
        tensors |= dict.fromkeys(inside or renamed.get(name, [name]), stored)
    return tensors, norms.homeless


def _parts_by_name(parts: PartNames) -> dict[str, list[str]]:
    """Stored names outside the stacks -> names in NAMES."""
    renamed: dict[str, list[str]] = {}
    if parts.generator is not None:
        module = parts.generator.removesuffix(".weight")
        renamed[parts.generator] = ["generator.weight"]
        renamed[f"{module}.bias"] = ["generator.bias"]
    for place, found in (
        ("src_embedding", parts.src_embedding),
        ("tgt_embedding", parts.tgt_embedding),
        ("src_positions", parts.src_positions),
        ("tgt_positions", parts.tgt_positions),
    ):
        if found is not None:
            renamed.setdefault(found, []).append(place)
    return renamed
