"""Guesses which norm of a layer belongs to which sublayer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from transformer.checkpoints.importing.families.own_layout.name_words import (
    ATTENTION,
    FEED_FORWARD,
    Guess,
    Guesses,
    Shape,
    crossness,
    has,
    is_norm_name,
    module,
    norm_parameter,
    shared_words,
    words,
)

_OF_QUERIES = {"q", "k", "query", "key", "qln", "kln", "qnorm", "knorm"}
_AFTER = {"post", "after"}
_FIRST, _LAST = {"input", "pre", "first", "before"}, {"post", "final", "second", "output", "after"}


def guess_norms(
    shapes: Mapping[str, Shape], d_model: int, sublayers: Mapping[str, Sequence[str]], *, in_order: bool
) -> Guesses:
    """Guess norms of the model's width, if there is one for each sublayer.

    Args:
        shapes: of the tensors in a layer.
        d_model: the model's width.
        sublayers: "self_attn" and so on, in order, and the words in the name of one of its tensors.
        in_order: whether tensors are in the order in which they were defined.
    """
    found: dict[str, dict[str, str]] = {}
    for name, shape in shapes.items():
        before, last = module(name)
        of, ours = words(before), norm_parameter(last)
        if shape == (d_model,) and ours and is_norm_name(of) and not _OF_QUERIES & {*of[-2:]}:
            found.setdefault(before, {})[ours] = name
    of_outputs = _of_outputs(found)
    of_inputs = [norm for norm in found if norm not in of_outputs]
    if any(n and n != len(sublayers) for n in (len(of_inputs), len(of_outputs))):
        return {}
    placed = _places(of_inputs, sublayers, in_order=in_order)
    places = {norm: f"{sublayer}_norm" for norm, sublayer in placed.items()}
    places |= {norm: f"{sublayer}_post_norm" for norm, sublayer in of_outputs.items()}
    return {
        name: Guess((f"{place}.{ours}",))
        for norm, place in places.items()
        for ours, name in found[norm].items()
    }


def _of_outputs(norms: Iterable[str]) -> dict[str, str]:
    """Norms -> the sublayers whose outputs they norm: post_attention and post_feedforward, both or none."""
    found = {norm: _named(words(norm)) for norm in norms if _AFTER & {*words(norm)}}
    whole = "feed_forward" in found.values() and len({*found.values()}) == len(found)
    return found if whole else {}


def _places(
    norms: Sequence[str], sublayers: Mapping[str, Sequence[str]], *, in_order: bool
) -> dict[str, str]:
    """Norms -> sublayers: by the module that a norm is in, then by its name, then by the order."""
    told = {
        norm: _inside(norm, sublayers) or ("" if _AFTER & {*words(norm)} else _named(words(norm)))
        for norm in norms
    }
    told = {norm: sublayer for norm, sublayer in told.items() if sublayer in sublayers}
    if len(set(told.values())) < len(told):
        return {}
    left = [sublayer for sublayer in sublayers if sublayer not in told.values()]
    ordered = _ordered([norm for norm in norms if norm not in told], in_order=in_order)
    return told | dict(zip(ordered, left, strict=False))


def _inside(norm: str, sublayers: Mapping[str, Sequence[str]]) -> str:
    """The sublayer in whose module a norm is."""
    shared = {sublayer: shared_words(words(module(norm)[0]), of) for sublayer, of in sublayers.items()}
    best = [sublayer for sublayer, n in shared.items() if n and n == max(shared.values())]
    return best[0] if len(best) == 1 else ""


def _named(of: Sequence[str]) -> str:
    """The sublayer that a norm's name says."""
    if has(of, FEED_FORWARD):
        return "feed_forward"
    cross = crossness(of)
    is_attention = has(of, ATTENTION)
    return "cross_attn" if cross > 0 else "self_attn" if is_attention or cross < 0 else ""


def _ordered(norms: Sequence[str], *, in_order: bool) -> list[str]:
    """Norms in the order of their sublayers; empty if nothing tells it."""
    counted = {norm: tuple(map(int, re.findall(r"\d{1,4}", norm))) for norm in norms}
    stems = {re.sub(r"\d", "", norm) for norm in norms}
    if len(norms) < 2 or (len(stems) == 1 and len(set(counted.values())) == len(norms)):
        return sorted(norms, key=lambda norm: counted[norm])
    first = [norm for norm in norms if _FIRST & {*words(norm)}]
    last = [norm for norm in norms if _LAST & {*words(norm)}]
    if len(norms) == 2 and len(first) == len(last) == 1 and first != last:
        return [*first, *last]
    return list(norms) if in_order else []
