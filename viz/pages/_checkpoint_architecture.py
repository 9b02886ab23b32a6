"""A configuration as the blocks of a drawing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transformer.analysis.parts import Part
from transformer.config import TransformerConfig
from viz.figures.architecture import Block, Stack

_TITLES = {
    "self_attn": "self-attention",
    "cross_attn": "cross-attention",
    "feed_forward": "feed-forward",
}
_POSITIONS = {
    "sinusoidal": "+ sinusoidal positions",
    "learned": "+ learned positions",
    "relative": "relative positions in the scores",
    "rotary": "queries and keys are rotated",
    "none": "no positions",
}
_NORMS = {"layer": "layer norm", "layer_unbiased": "layer norm, unbiased", "rms": "RMS norm"}
_MOST_NOTES = 8


def stacks_of(config: TransformerConfig, parts: tuple[Part, ...]) -> list[Stack]:
    """The stacks of a model, the encoder first.

    Args:
        config: of the model.
        parts: of it, as `parts_of` gives them: what hovering tells.
    """
    by_path = {part.path: part for part in _all(parts)}
    stacks = []
    if config.n_encoder_layers:
        top = () if config.n_decoder_layers else tuple(_output(config, by_path))
        stacks.append(_stack(config, by_path, "encoder", "src_embedding", config.n_encoder_layers, top))
    if config.n_decoder_layers:
        stacks.append(
            _stack(config, by_path, "decoder", "tgt_embedding", config.n_decoder_layers,
                   tuple(_output(config, by_path)))
        )  # fmt: skip
    return stacks


def _all(parts: tuple[Part, ...]) -> Iterator[Part]:
    for part in parts:
        yield part
        yield from _all(part.parts)


def _stack(
    config: TransformerConfig, parts: Mapping[str, Part], name: str, embedding: str, times: int,
    top: tuple[Block, ...],
) -> Stack:  # fmt: skip
    below = [
        Block(
            "embedding",
            "embedding",
            _POSITIONS[config.positions],
            _notes(parts.get(embedding)),
        )
    ]
    if config.embedding_norm:
        below.append(Block("norm", _NORMS[config.norm]))
    layer = []
    for sublayer in ("self_attn", "cross_attn", "feed_forward"):
        path = f"{name}.layers.0.{sublayer}"
        if path not in parts:
            continue
        block = _sublayer(config, sublayer, name, parts[path])
        norm = Block("norm", _NORMS[config.norm], "", _notes(parts.get(f"{path}_norm")))
        layer += [norm, block] if config.norm_position == "pre" else [block, norm]
    final = parts.get(f"{name}.final_norm")
    above = [] if final is None else [Block("norm", _NORMS[config.norm], "final", _notes(final))]
    return Stack(name, below, layer, times, (*above, *top))


def _sublayer(config: TransformerConfig, sublayer: str, stack: str, part: Part) -> Block:
    if sublayer == "feed_forward":
        gate = ", gated" if config.gated else ""
        detail = f"{config.d_model} → {config.d_ff} → {config.d_model}, {config.activation}{gate}"
        return Block("feed-forward", _TITLES[sublayer], detail, _notes(part))
    detail = f"{config.n_heads} heads of {config.d_head}"
    if config.n_kv_heads != config.n_heads:
        detail += f", {config.n_kv_heads} of keys"
    is_causal = stack == "decoder" and sublayer == "self_attn"
    title = f"{'masked ' if is_causal else ''}{_TITLES[sublayer]}"
    return Block("attention", title, detail, _notes(part), reads=sublayer == "cross_attn")


def _output(config: TransformerConfig, parts: Mapping[str, Part]) -> Iterator[Block]:
    if not config.has_generator:
        return
    if config.generator_transform:
        yield Block("norm", "dense, norm", "", _notes(parts.get("generator_transform")))
    tied = "tied to the embedding" if config.tie_generator else "a matrix of its own"
    yield Block("output", "generator", tied, _notes(parts.get("generator")))


def _notes(part: Part | None) -> list[str]:
    """Names, shapes and counts of what a part has."""
    if part is None:
        return []
    weights = [
        f"{inner.path}.{name}: {' × '.join(f'{size:,}' for size in shape)}"
        for inner in _all((part,))
        for name, shape in inner.weights
    ]
    more = [f"and {len(weights) - _MOST_NOTES} more"] if len(weights) > _MOST_NOTES else []
    return [f"{part.n_parameters:,} parameters", *weights[:_MOST_NOTES], *more]
