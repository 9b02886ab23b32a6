"""The families of checkpoints in the order they are tried: layouts in files, then those that need Python."""

from __future__ import annotations

from functools import cache

from transformer.checkpoints.importing.families import headlight
from transformer.checkpoints.importing.families.toolkits import (
    marian_npz,
    x_transformers,
)
from transformer.checkpoints.importing.families.torch_modules import (
    torch_transformer,
)
from transformer.checkpoints.importing.family import Family
from transformer.checkpoints.importing.layout.shipped import family, names


@cache
def families() -> tuple[Family, ...]:
    """All of them. Files are read when a checkpoint is first recognised, not by programs that open none."""
    return (
        headlight.FAMILY,
        *map(family, names()),
        marian_npz.FAMILY,
        x_transformers.FAMILY,
        torch_transformer.FAMILY,
    )
