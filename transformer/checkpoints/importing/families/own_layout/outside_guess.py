"""Guesses which weights of ours the tensors outside of all layers are; what would be asked stays open."""

from __future__ import annotations

import re
from collections.abc import Mapping

from transformer.checkpoints.importing.families.own_layout.name_words import (
    Guess,
    Guesses,
    has,
    is_mask,
    is_norm_name,
    module,
    norm_parameter,
    words,
)
from transformer.checkpoints.importing.families.own_layout.outside import find_outside, only_answer
from transformer.checkpoints.importing.families.own_layout.outside_norms import (
    find_norms,
    is_told,
    likely_place,
)
from transformer.checkpoints.reading.raw import StoredTensor

_NOT_COMPUTED = re.compile(r"seg(ment)?s?|type|types|ids?|cls|pool(er)?|nsp|transform|values?")
_HEAD = re.compile(r"(lm)?heads?|m?lm|gen(erator)?|pred.*|classif.*|vocab")
_PLACES = {
    side: {
        f"{embedding[:3]}_embedding": f"{embedding}.weight",
        f"{embedding[:3]}_positions": f"{embedding}.positions.weight",
        f"{embedding[:3]}_norm": f"{embedding}.norm",
        f"{side}.norm": f"{side}.final_norm",
        "generator.weight": "generator.weight",
        "generator.bias": "generator.bias",
    }
    for side, embedding in (("encoder", "src_embedding"), ("decoder", "tgt_embedding"))
}
"""Side -> places, as `find_outside` and `find_norms` name them -> our names."""


def guess_outside(
    tensors: Mapping[str, StoredTensor],
    outside: Mapping[str, tuple[int, ...]],
    d_model: int,
    stacks: Mapping[str, str],
) -> Guesses:
    """Guess what fits the model's width.

    Args:
        tensors: all, by name.
        outside: names of those outside of all layers, with their shapes.
        d_model: the model's width.
        stacks: "encoder", "decoder" -> the prefix of its layers' names.
    """
    shapes = {
        name: shape
        for name, shape in outside.items()
        if not is_mask(name, shape) and not has(words(name), _NOT_COMPUTED)
    }
    norms: dict[str, dict[str, str]] = {}
    for name, shape in shapes.items():
        before, last = module(name)
        of, parameter = words(before), norm_parameter(last)
        if shape == (d_model,) and parameter and is_norm_name(of) and not has(of, _HEAD):
            norms.setdefault(before, {})[parameter] = name
    candidates = {name: tensors[name] for name in shapes}
    places = find_outside(candidates, d_model, only_answer, has_sides=len(stacks) != 1)
    places |= find_norms(norms, tensors, stacks, likely_place).places
    known = {
        place: ours
        for side in _PLACES
        if side in (stacks or _PLACES)
        for place, ours in _PLACES[side].items()
    }
    found: dict[str, list[str]] = {}
    for place, ours in known.items():
        if place in places:
            found.setdefault(places[place], []).append(ours)
    guesses: Guesses = {}
    for theirs, [ours, *others] in found.items():
        if others and ours != "src_embedding.weight":  # the one thing that both sides may share
            continue
        if theirs in norms:
            embedding = "src_embedding" if ours.startswith("encoder") else "tgt_embedding"
            note = "" if is_told(theirs) else f"or {embedding}.norm, before the layers"
            guesses |= {
                name: Guess((f"{ours}.{parameter}",), note=note) for parameter, name in norms[theirs].items()
            }
        else:
            guesses[theirs] = Guess((ours,), _stored(shapes[theirs], d_model))
    return guesses


def _stored(shape: tuple[int, ...], d_model: int) -> str:
    """How a tensor is stored."""
    if len(shape) == 3:
        return "table_of_positions"
    return "transposed" if len(shape) == 2 and shape[-1] != d_model else ""
