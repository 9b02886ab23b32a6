"""Places of norms outside the layers of a user's own module: after a stack, or after the embeddings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from transformer.checkpoints.importing.families.torch_modules._names import (
    is_embedding,
    is_positions,
    side_of,
    words,
)
from transformer.checkpoints.importing.families.torch_modules._parts import Ask
from transformer.checkpoints.reading.raw import StoredTensor

_OF_HEADS = ("head", "cls", "classif", "pool")
_FINAL = frozenset(("final", "last", "f"))
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


def find_norms(
    tensors: Mapping[str, StoredTensor], stacks: Mapping[str, str], d_model: int, ask: Ask
) -> NormPlaces:
    """Place the norms by name, and ask where names don't tell.

    Args:
        tensors: all, by name.
        stacks: "encoder", "decoder" -> the prefix of its layers' names.
        d_model: width of the model.
        ask: answers questions.
    """
    inside = tuple(stacks.values())
    outside = [
        name.removesuffix(".weight")
        for name, stored in tensors.items()
        if stored.shape == (d_model,) and name.endswith(".weight") and not name.startswith(inside)
    ]
    norms = NormPlaces()
    for side, stack in stacks.items():
        own = _own_norm(stack, tensors)
        if own is not None:
            norms.places |= dict.fromkeys(_final_places(side, stacks), own)
    rest = [module for module in outside if module not in norms.places.values() and not _is_of_head(module)]
    for module in sorted(rest, key=lambda module: not _tells(module)):
        _place(module, norms, stacks, ask)
    return norms


def _own_norm(stack: str, tensors: Mapping[str, StoredTensor]) -> str | None:
    """The norm of a torch.nn.TransformerEncoder or TransformerDecoder: a module of only layers and a norm."""
    parent, _, layers = stack.removesuffix(".").rpartition(".")
    own = f"{parent}.norm" if parent else "norm"
    if layers != "layers" or f"{own}.weight" not in tensors:
        return None
    beside = f"{parent}." if parent else ""
    known = (stack, f"{own}.")
    return own if all(name.startswith(known) for name in tensors if name.startswith(beside)) else None


def _place(module: str, norms: NormPlaces, stacks: Mapping[str, str], ask: Ask) -> None:
    spots = {
        what: places
        for what, places in _spots(module, stacks).items()
        if not any(place in norms.places for place in places)
    }
    if _tells(module):
        spots = {
            what: places
            for what, places in spots.items()
            if (what == "embeddings") == _is_of_embedding(module)
        }
    if not spots:
        norms.homeless.append(module)
        return
    is_sure = _tells(module) and len(spots) == 1
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
    if side is None:
        return spots | {"embeddings": ("src_norm", "tgt_norm")}
    stack = "encoder" if side == "src" else "decoder"
    return {stack: spots[stack], "embeddings": (f"{side}_norm",)}


def _final_places(side: str, stacks: Mapping[str, str]) -> tuple[str, ...]:
    """Places of the norm after a stack: a single encoder may prove to be a decoder under a causal mask."""
    return ("encoder.norm", "decoder.norm") if [*stacks] == ["encoder"] else (f"{side}.norm",)


def _tells(module: str) -> bool:
    return _is_of_embedding(module) or not _FINAL.isdisjoint(words(module))


def _is_of_embedding(module: str) -> bool:
    return is_embedding(module) or is_positions(module)


def _is_of_head(module: str) -> bool:
    """True for a norm in a classifier, which our model lacks; an "lm_head.norm" is asked about."""
    of_name = words(module)
    return "lm" not in of_name and any(word.startswith(_OF_HEADS) for word in of_name)
