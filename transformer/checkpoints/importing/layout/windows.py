"""Settings of each layer: which layers attend to a window only, or rotate with a base of their own."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.importing.layout.derived import Settings
from transformer.checkpoints.importing.report import SettingSource
from transformer.errors import CheckpointError, shown

_WAYS = ("every", "all_but_every", "all_but_first_of_every")
"""Ways to count layers."""


def put_windows(reading: Settings, spec: Mapping[str, Any]) -> None:
    """Fill in attention_windows, unless all texts fit into the window.

    `spec` has the window's key, its default there and how to convert it (times, minus), its value without
    config.json, and layers: those that have the window, as in `marked`; all of them by default.
    """
    local = marked(reading, spec.get("layers", {}))
    limit = reading.get("max_len") or 0
    widths = _widths(reading.draft.config, spec, len(local))
    windows = tuple(
        width if is_local and 0 < width < limit else 0 for width, is_local in zip(widths, local, strict=True)
    )
    if any(windows):
        reading.draft.put("attention_windows", windows, _source(reading), spec.get("key", "window"))


def _widths(config: ForeignConfig | None, spec: Mapping[str, Any], n_layers: int) -> list[int]:
    """The window of each layer; config.json has one for all, or a list.

    Raises:
        CheckpointError: for lists that are too short, or have other values than whole numbers.
    """
    if config is None or "key" not in spec:
        return [spec.get("value", 0)] * n_layers
    keys = spec.get("key", "")
    key = keys if isinstance(keys, str) else next(iter(keys), "")
    told = config.get(key)
    if not isinstance(told, list):
        told = [config.integer(key, spec.get("default", 0) if config.leaves_out(key) else 0)] * n_layers
    if len(told) < n_layers or any(type(width) is not int for width in told):
        raise CheckpointError(
            f"config.json says {key} {shown(told)}: it must list {n_layers} whole numbers, one per layer."
        )
    return [width and int(width * spec.get("times", 1)) - spec.get("minus", 0) for width in told[:n_layers]]


def put_bases(reading: Settings, spec: Mapping[str, Any]) -> None:
    """Fill in position_bases: the usual one, and that of the layers in `spec`, as in `marked`.

    `spec` also has the other base, or its key, or its entry in rope_parameters.

    Raises:
        CheckpointError: when the layers can't be told apart by their bases, though only some are stretched.
    """
    reading.get("rotary")
    draft, config = reading.draft, reading.draft.config
    usual, base = reading.get("position_base") or 10_000.0, float(spec["base"])
    if config is not None and "base_key" in spec:
        base = _other_base(config, config.number(spec["base_key"], base), spec.get("entry", ""))
        if base == usual and "rotary_stretch" in draft.settings:
            raise CheckpointError(
                f"config.json says rope_theta {shown(base)} of all layers and stretches the wavelengths of "
                "some. Headlight's model tells such layers by their base: it needs two."
            )
    bases = tuple(base if is_other else usual for is_other in marked(reading, spec["layers"]))
    if set(bases) == {usual}:
        return
    why = spec.get("why", "one for layers with a window, one for others")
    draft.put("position_bases", bases, _source(reading), why)


def _source(reading: Settings) -> SettingSource:
    return "layout" if reading.draft.config is None else "config"


def marked(reading: Settings, spec: Mapping[str, Any]) -> list[bool]:
    """Which layers are of a kind.

    Args:
        reading: with the number of layers.
        spec: a list's key in config.json, and which of its values mark a layer (`is`) or don't (`else`); or
            every n-th layer (`every`), or all others (`all_but_every`; `all_but_first_of_every` counts
            from the first layer on), n having an attribute of its own (`n_key`); those from a number on, with
            the attribute `from_key`. All layers if nothing is said.

    Raises:
        CheckpointError: for lists that are too short, and for values that are in neither.
    """
    n_layers = (reading.get("n_encoder_layers") or 0) + reading.get("n_decoder_layers")
    config = reading.draft.config or ForeignConfig({})
    way = next((way for way in _WAYS if way in spec), "")
    n = spec.get(way, 0)
    n = config.integer(spec["n_key"], n) if "n_key" in spec else n
    first = config.integer(spec["from_key"], 0) if "from_key" in spec else 0
    keys = spec.get("key", [])
    key = next((key for key in (keys if isinstance(keys, list) else [keys]) if key in config), "")
    if key:
        return _by_value(config.get(key), key, spec, n_layers)
    if n < 1:
        return [layer >= first for layer in range(n_layers)]
    shift = 0 if way == "all_but_first_of_every" else 1
    return [((layer + shift) % n == 0) == (way == "every") for layer in range(n_layers)]


def _by_value(listed: Any, key: str, spec: Mapping[str, Any], n_layers: int) -> list[bool]:
    known = (spec["is"], spec["else"])
    listed = _expanded(listed, n_layers)
    if not isinstance(listed, list) or len(listed) < n_layers:
        raise CheckpointError(
            f"config.json says {key} {shown(listed)}: it must list {n_layers} values, one for each layer."
        )
    if any(value not in known for value in listed):
        raise CheckpointError(
            f"config.json says {key} {shown(listed)}: Headlight knows {known[0]} and {known[1]}."
        )
    return [value == spec["is"] for value in listed[:n_layers]]


def _expanded(listed: Any, n_layers: int) -> Any:
    """A list; pairs of a list and how often it is repeated, as GPT-Neo has them, are written out."""
    if not isinstance(listed, list) or not all(
        isinstance(one, list) and len(one) == 2 and isinstance(one[0], list) and type(one[1]) is int
        for one in listed
    ):
        return listed
    repeated = (value for values, n in listed if values for _ in range(n) for value in values)
    return list(islice(repeated, n_layers))


def _other_base(config: ForeignConfig, usual: float, entry: str) -> float:
    """The base in an entry of rope_parameters.

    Raises:
        CheckpointError: when its wavelengths are stretched.
    """
    found = config.get("rope_parameters", {}).get(entry) or {}
    rope = ForeignConfig(found if isinstance(found, dict) else {})
    kind = rope.get("rope_type", "default")
    if kind != "default":
        raise CheckpointError(
            f"config.json says rope_type {shown(kind)} of layers with a window: Headlight's model stretches "
            "the wavelengths of the others alone."
        )
    return rope.number("rope_theta", usual)
