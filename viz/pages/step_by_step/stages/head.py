"""One head of one attention: its recorded tensors and its tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer.model.trace import AttentionName, Stack
from viz.pages.step_by_step.stages.stage import Axis, Matrix, Stage
from viz.pages.step_by_step.stages.way import Way

SHAPES = {
    "q": ("B", "H", "Q", "d_head"),
    "k": ("B", "H_kv", "K", "d_head"),
    "v": ("B", "H_kv", "K", "d_head"),
}


@dataclass(frozen=True)
class Head:
    """One head of one attention.

    Attributes:
        way: the run and the chosen head.
        name: name of the attention.
        x: the input of the queries.
        memory: the input of keys and values: x itself, or the encoder's output.
    """

    way: Way
    name: AttentionName
    x: Matrix
    memory: Matrix

    @property
    def number(self) -> int:
        """The head's index."""
        return self.way.head

    @property
    def path(self) -> str:
        """The path of the attention module."""
        return f"{self.way.stack}.layers.{self.way.layer}.{self.name}"

    @property
    def block(self) -> str:
        """The attention's block in the drawing, which shows layer 0."""
        return f"{self.way.stack}.layers.0.{self.name}"

    @property
    def shared(self) -> int:
        """The index of the key-value head that this head uses."""
        return self.number // (self.way.config.n_heads // self.way.config.n_kv_heads)

    @property
    def queries(self) -> Axis:
        """The query tokens."""
        return self.way.axis(self.way.stack, "query")

    @property
    def keys(self) -> Axis:
        """The key tokens."""
        return self.way.axis(self.key_stack, "key")

    @property
    def key_stack(self) -> Stack:
        """The stack that the keys come from."""
        return "encoder" if self.name == "cross_attn" else self.way.stack

    @property
    def mask(self) -> NDArray[np.bool_]:
        """(Q, K), True = may attend."""
        shape = len(self.queries.labels), len(self.keys.labels)
        return np.broadcast_to(self.way.run.trace[f"{self.path}.mask"][0, 0].numpy(), shape)

    def records(self, name: str) -> bool:
        """True if this attention recorded a tensor of this name."""
        return f"{self.path}.{name}" in self.way.run.trace

    def stage(self, name: str, title: str, recorded: str, **what: Any) -> Stage:
        """Make a stage of this head; `recorded` is the name of its tensor, "" for none."""
        path = f"{self.path}.{recorded}" if recorded else ""
        return Stage(
            name=f"{self.name.removesuffix('_attn')}-{name}",
            title=title,
            stack=self.way.stack,
            block=self.block,
            path=path,
            **what,
        )
