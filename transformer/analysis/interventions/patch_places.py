"""What a patch may exchange between two runs: the rows and columns of each grid."""

from __future__ import annotations

from typing import Literal, NamedTuple

from transformer.errors import EditError
from transformer.model.config import TransformerConfig
from transformer.model.trace import AttentionName, Stack


class Place(NamedTuple):
    """A kind of place to patch: one grid.

    Attributes:
        stack: the stack.
        attention: the attention, unless it is the residual stream that is patched.
        tensor: "z", the outputs of heads, each patched alone; "k", "v" and the residual stream ("resid") are
            patched by position.
        layer: for heads: None for those of all layers, each at all positions together; otherwise the layer
            whose heads are patched at one position at a time.
    """

    stack: Stack
    attention: AttentionName | None
    tensor: Literal["resid", "z", "k", "v"]
    layer: int | None = None

    def __str__(self) -> str:
        parts = (self.stack, self.attention, self.tensor, self.layer)
        return " ".join(str(part) for part in parts if part is not None)

    @property
    def by_head(self) -> bool:
        """True if columns are heads, False if they are positions."""
        return self.tensor == "z" and self.layer is None

    @property
    def axes(self) -> tuple[str, str]:
        """What a row and a column are."""
        if self.layer is not None:
            return "head", "position"
        return "layer" if self.attention else "after layer", "head" if self.by_head else "position"

    def paths(self, config: TransformerConfig) -> list[str]:
        """The path of each row: a layer or, first in the residual stream, the stack's input; or a head's."""
        n_layers = config.n_encoder_layers if self.stack == "encoder" else config.n_decoder_layers
        layers = [f"{self.stack}.layers.{layer}" for layer in range(n_layers)]
        if self.attention is None:
            return [f"{layers[0]}.resid_pre", *(f"{layer}.resid_post" for layer in layers)]
        paths = [f"{layer}.{self.attention}.{self.tensor}" for layer in layers]
        return paths if self.layer is None else [paths[self.layer]] * config.n_heads

    def row_labels(self, config: TransformerConfig) -> list[str]:
        """The rows in words."""
        n_rows = len(self.paths(config))
        if self.attention is None:
            return ["input", *(f"layer {layer}" for layer in range(n_rows - 1))]
        return [f"{self.axes[0]} {index}" for index in range(n_rows)]

    def cell(self, row: int, column: int) -> tuple[int | None, int | None]:
        """The head and the position of a cell; None for all."""
        if self.by_head:
            return column, None
        return None if self.layer is None else row, column

    def in_layers(self, config: TransformerConfig) -> list[Place]:
        """The heads of each layer, position by position; empty for what is patched by position anyway."""
        n_layers = len(self.paths(config)) if self.by_head else 0
        return [self._replace(layer=layer) for layer in range(n_layers)]


def places(config: TransformerConfig) -> list[Place]:
    """What can be patched in a model: the residual stream, heads, and keys and values of cross-attention."""
    stacks: list[Stack] = []
    if config.n_encoder_layers:
        stacks.append("encoder")
    if config.n_decoder_layers:
        stacks.append("decoder")
    found = [Place(stack, None, "resid") for stack in stacks]
    found += [Place(stack, "self_attn", "z") for stack in stacks]
    if config.kind == "encoder-decoder":
        found += [Place("decoder", "cross_attn", "z")]
        found += [Place("decoder", "cross_attn", "k"), Place("decoder", "cross_attn", "v")]
    return found


def place_named(config: TransformerConfig, name: str) -> Place:
    """A place by its name: "encoder resid", "decoder cross_attn z", or "decoder cross_attn z 1" in one layer.

    Raises:
        EditError: the model has no such place.
    """
    whole = places(config)
    known = {str(one): one for place in whole for one in (place, *place.in_layers(config))}
    if name not in known:
        raise EditError(
            f"There is no {name!r} to patch: choose one of {', '.join(map(str, whole))}. With a layer's "
            "number after z, its heads are patched position by position."
        )
    return known[name]
