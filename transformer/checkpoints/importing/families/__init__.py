"""The layouts of checkpoints that are known, one module each, in the order in which they are tried."""

from __future__ import annotations

from transformer.checkpoints.importing.families import gpt2, headlight
from transformer.checkpoints.importing.family import Family

FAMILIES: tuple[Family, ...] = (headlight.FAMILY, gpt2.FAMILY)
