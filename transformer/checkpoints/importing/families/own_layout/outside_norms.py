"""Places of norms outside the layers of a stranger's model: after a stack, or after the embeddings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from transformer.checkpoints.importing.families.own_layout.name_words import (
    is_embedding,
    is_final,
    is_positions,
    side_of,
    words,
)
from transformer.checkpoints.importing.families.own_layout.outside import Ask

_OF_HEADS = ("head", "cls", "classif", "pool")
_LABELS = {
    "last": "after the last layer",
    "decoder": "after the decoder's last layer",
    "encoder": "after the encoder's last layer",
    "embeddings": "after the embeddings",
    "elsewhere": "elsewhere; run the model without it",
}


@dataclass
class NormPlaces:
    """Which norm goes where.

    Attributes:
        places: "encoder.norm", "decoder.norm", "src_norm" or "tgt_norm" -> a module in the files.
        homeless: modules without a free place.
    """

    places: dict[str, str] = field(default_factory=dict)
    homeless: list[str] = field(default_factory=list)


def likely_place(name: str, text: str, why: str, labels: Mapping[str, str]) -> str:
    """After the last layer, if it is clear of which stack; else elsewhere, as nobody is asked."""
    return "elsewhere" if {"encoder", "decoder"} <= labels.keys() else next(iter(labels))


def find_norms(
    modules: Iterable[str], names: Iterable[str], stacks: Mapping[str, str], ask: Ask
) -> NormPlaces:
    """Place the norms by name, and ask where names don't tell.

    Args:
        modules: the norms outside the layers.
        names: those of all tensors.
        stacks: "encoder", "decoder" -> the prefix of its layers' names.
        ask: answers questions.
    """
    outside, names = list(modules), list(names)
    norms = NormPlaces()
    for side, stack in stacks.items():
        own = _own_norm(stack, outside, names)
        if own is not None:
            norms.places |= dict.fromkeys(_final_places(side, stacks), own)
    rest = [module for module in outside if module not in norms.places.values() and not _is_of_head(module)]
    for module in sorted(rest, key=lambda module: not is_told(module)):
        _place(module, norms, stacks, ask)
    return norms


def _own_norm(stack: str, norms: Iterable[str], names: Iterable[str]) -> str | None:
    """The norm of a torch.nn.TransformerEncoder or TransformerDecoder: a module of only layers and a norm."""
    parent, _, layers = stack.removesuffix(".").rpartition(".")
    own = f"{parent}.norm" if parent else "norm"
    if layers != "layers" or own not in norms:
        return None
    beside = f"{parent}." if parent else ""
    known = (stack, f"{own}.")
    return own if all(name.startswith(known) for name in names if name.startswith(beside)) else None


def _place(module: str, norms: NormPlaces, stacks: Mapping[str, str], ask: Ask) -> None:
    spots = {
        what: places
        for what, places in _spots(module, stacks).items()
        if not any(place in norms.places for place in places)
    }
    if is_told(module):
        spots = {
            what: places
            for what, places in spots.items()
            if (what == "embeddings") == _is_of_embedding(module)
        }
    if not spots:
        norms.homeless.append(module)
        return
    is_sure = is_told(module) and len(spots) == 1
    what = next(iter(spots)) if is_sure else _ask(module, spots, ask)
    norms.places |= dict.fromkeys(spots.get(what, ()), module)


def _ask(module: str, spots: Iterable[str], ask: Ask) -> str:
    return str(
        ask(
            f"place_of_{module.replace('.', '_')}",
            f"Where is the norm {module}?",
            "Its name does not say. In another place it computes something else.",
            {what: _LABELS[what] for what in (*spots, "elsewhere")},
        )
    )


def _spots(module: str, stacks: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Where a norm may be, the likeliest first -> the places it then fills."""
    if len(stacks) == 1:
        return {"last": _final_places(next(iter(stacks)), stacks), "embeddings": ("src_norm", "tgt_norm")}
    side = side_of(module)
    spots: dict[str, tuple[str, ...]] = {"decoder": ("decoder.norm",), "encoder": ("encoder.norm",)}
    if not side:
        return spots | {"embeddings": ("src_norm", "tgt_norm")}
    return {side: spots[side], "embeddings": ("src_norm" if side == "encoder" else "tgt_norm",)}


def _final_places(side: str, stacks: Mapping[str, str]) -> tuple[str, ...]:
    """Places of the norm after a stack: a single encoder may prove to be a decoder under a causal mask."""
    return ("encoder.norm", "decoder.norm") if [*stacks] == ["encoder"] else (f"{side}.norm",)


def is_told(module: str) -> bool:
    """True if a name says where its norm is."""
    return _is_of_embedding(module) or is_final(module)


def _is_of_embedding(module: str) -> bool:
    return is_embedding(module) or is_positions(module)


def _is_of_head(module: str) -> bool:
    """True for a norm in a classifier, which our model lacks; an "lm_head.norm" is asked about."""
    of_name = words(module)
    return "lm" not in of_name and any(word.startswith(_OF_HEADS) for word in of_name)
