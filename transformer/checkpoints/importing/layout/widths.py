"""Feed-forwards of another width in each stack: the model takes the wider one, and zeros fill the other."""

from __future__ import annotations

from collections.abc import Sequence

from transformer.checkpoints.importing.config_draft import checked_size
from transformer.checkpoints.importing.layout.derived import Settings
from transformer.errors import CheckpointError


def put_widest(reading: Settings, keys: Sequence[str]) -> None:
    """Fill in d_ff.

    Args:
        reading: to be filled in.
        keys: the attributes in config.json of the encoder's and of the decoder's width.

    Raises:
        CheckpointError: when config.json and the files disagree about a width.
    """
    stacks = dict(zip(("encoder", "decoder"), keys, strict=True))
    widths = {stack: _width(reading, stack, key) for stack, key in stacks.items()}
    reading.draft.put("d_ff", max(widths.values()), "shapes", "the wider of both stacks' feed-forwards")
    if len(set(widths.values())) > 1:
        listed = " and ".join(f"the {stack}'s is {width} wide" for stack, width in widths.items())
        reading.draft.note(
            f"The feed-forwards differ, {listed}: zeros pad the narrower one, which changes nothing."
        )


def _width(reading: Settings, stack: str, key: str) -> int:
    """The width of a stack's feed-forwards, which must be the same in all layers."""
    held, config = reading.derived.held, reading.draft.config
    first = [name for name in held.tensors if name.startswith(f"{stack}.") and name.endswith("w_1.weight")]
    found = {(held.shape(name) or (0,))[0] or 0 for name in first}
    told = min(found, default=0) if config is None else config.integer(key, min(found, default=0))
    if found != {told}:
        listed = ", ".join(map(str, sorted(found)))
        raise CheckpointError(
            f"config.json says {key} {told}: the {stack}'s feed-forwards are {told} wide by {key}, and "
            f"{listed} in the files, so they belong to two different models."
        )
    return checked_size("d_ff", told)
