"""The choice of a model: the sidebar's options, and the choice in an address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from transformer.checkpoints.places import shipped_models
from transformer.device import available_devices
from viz.session import MODEL, RANDOM, ModelChoice, RandomSizes, models
from viz.widgets import LARGEST_SEED

LAYERS = (1, 2, 3, 4, 5, 6)
HEADS = (1, 2, 4, 8, 16)
D_MODELS = (32, 64, 128, 256, 512)
FIRST_SIZES = RandomSizes(encoder_layers=2, decoder_layers=2, n_heads=4, d_model=128, seed=0)
"""Initial sizes of a random model."""

Option = TypeVar("Option")


def model_in_address(values: Mapping[str, str]) -> ModelChoice:
    """The model that an address chooses; missing and impossible values become the defaults."""
    name = _option(values.get(MODEL), models())
    sizes = None
    if name == RANDOM:
        name, sizes = _option(values.get("vocabulary"), shipped_models()), _sizes(values)
    return ModelChoice(name=name, random=sizes, device=_option(values.get("device"), available_devices()))


def _sizes(values: Mapping[str, str]) -> RandomSizes:
    first = FIRST_SIZES
    seed = values.get("seed", "")
    is_seed = seed.isdecimal() and len(seed) <= len(str(LARGEST_SEED)) and int(seed) <= LARGEST_SEED
    return RandomSizes(
        encoder_layers=_option(values.get("enc"), LAYERS, first.encoder_layers),
        decoder_layers=_option(values.get("dec"), LAYERS, first.decoder_layers),
        n_heads=_option(values.get("heads"), HEADS, first.n_heads),
        d_model=_option(values.get("d_model"), D_MODELS, first.d_model),
        seed=int(seed) if is_seed else first.seed,
    )


def _option(written: str | None, options: Sequence[Option], first: Option | None = None) -> Option:
    """The option with this text; the default if there is none."""
    default = options[0] if first is None else first
    return next((option for option in options if str(option) == written), default)
