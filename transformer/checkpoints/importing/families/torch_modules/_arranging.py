"""Renames a user's own torch.nn.Transformer module to the names in the rename table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from string import digits

from transformer.checkpoints.importing.families.own_layout.outside import Ask, find_outside, likeliest
from transformer.checkpoints.importing.families.own_layout.outside_norms import find_norms
from transformer.checkpoints.reading.raw import RawCheckpoint, StoredTensor
from transformer.errors import CheckpointError, shown

_IN_LAYER = ".self_attn.in_proj_weight"
_OWN_PROJECTIONS = ("self_attn.q_proj_weight", "multihead_attn.q_proj_weight")
"""Names in torch.nn.MultiheadAttention that replace in_proj_weight."""
_WRAPPED_EMBEDDING = "tok_emb.embedding.weight"
"""Name in torch's translation tutorial, where a module wraps the embedding to scale it."""


@dataclass(frozen=True)
class _Arranged(RawCheckpoint):
    """A checkpoint under the names in _torch_transformer.yaml.

    Attributes:
        before: its tensors under their stored names.
    """

    before: Mapping[str, StoredTensor]


def arrange(raw: RawCheckpoint) -> RawCheckpoint:
    """Rename stacks, embeddings, positions and generator as in _torch_transformer.yaml, and nothing else.

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
    """The tensors under their new names, and norms without a place; both empty if there is no stack."""
    stacks, d_model = _stacks(before)
    if not stacks:
        return {}, []
    inside = tuple(stacks.values())
    outside = {
        name: stored
        for name, stored in before.items()
        if not name.startswith(inside) and (stored.shape[-1:] == (d_model,) or name.endswith("bias"))
    }
    places = find_outside(outside, d_model, ask, has_sides=len(stacks) == 2)
    modules = [
        name.removesuffix(".weight")
        for name, stored in outside.items()
        if stored.shape == (d_model,) and name.endswith(".weight")
    ]
    norms = find_norms(modules, before, stacks, ask)
    for place, module in norms.places.items():
        places |= {f"{place}.{part}": f"{module}.{part}" for part in ("weight", "bias")}
    tensors: dict[str, StoredTensor] = {}
    for name, stored in before.items():
        renamed = [
            f"{place}.layers.{name.removeprefix(stack)}"
            for side, stack in stacks.items()
            for place in ([side, "causal"] if [*stacks] == ["encoder"] else [side])
            if name.startswith(stack)
        ]
        renamed += [place for place, found in places.items() if found == name]
        if "src_embedding" in renamed or "tgt_embedding" in renamed:
            renamed += ["wrapped_embedding"] * name.endswith(_WRAPPED_EMBEDDING)
        tensors |= dict.fromkeys(renamed or [name], stored)
    return tensors, norms.homeless


def _stacks(tensors: Mapping[str, StoredTensor]) -> tuple[dict[str, str], int]:
    """The prefix of each side's layers, and the width of the model.

    A decoder has cross-attention. There are none if the files have several encoders or decoders.
    """
    layers = {name.removesuffix(_IN_LAYER): name for name in tensors if name.endswith(_IN_LAYER)}
    stacks = {layer.rstrip(digits): name for layer, name in layers.items() if layer[-1:] in digits}
    stacks = {stack: name for stack, name in stacks.items() if stack.endswith(".")}
    found: dict[str, str] = {}
    for stack in stacks:
        crosses = f"{stack}0.multihead_attn.in_proj_weight" in tensors
        found["decoder" if crosses else "encoder"] = stack
    shapes = [tensors[name].shape for name in stacks.values()]
    if not stacks or len(found) < len(stacks) or any(len(shape) != 2 for shape in shapes):
        return {}, 0
    return dict(sorted(found.items(), reverse=True)), shapes[0][1]
