"""One head of one attention: where its numbers are recorded, and on which tokens."""

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
    """One head of one attention of a way.

    Attributes:
        way: whose.
        name: of the attention.
        x: what queries are made of.
        memory: what keys and values are made of: x itself, or the encoder's output.
        number: the head.
    """

    way: Way
    name: AttentionName
    x: Matrix
    memory: Matrix

    @property
    def number(self) -> int:
        """Which head it is."""
        return self.way.head

    @property
    def path(self) -> str:
        """Of the module."""
        return f"{self.way.stack}.layers.{self.way.layer}.{self.name}"

    @property
    def block(self) -> str:
        """The block of the drawing: that of layer 0."""
        return f"{self.way.stack}.layers.0.{self.name}"

    @property
    def shared(self) -> int:
        """The head of keys and values that it uses."""
        return self.number // (self.way.config.n_heads // self.way.config.n_kv_heads)

    @property
    def queries(self) -> Axis:
        """The tokens that look."""
        return self.way.axis(self.way.stack, "query")

    @property
    def keys(self) -> Axis:
        """The tokens that are looked at."""
        return self.way.axis(self.key_stack, "key")

    @property
    def key_stack(self) -> Stack:
        """The stack whose tokens are looked at."""
        return "encoder" if self.name == "cross_attn" else self.way.stack

    @property
    def mask(self) -> NDArray[np.bool_]:
        """(Q, K), True = may attend."""
        shape = len(self.queries.labels), len(self.keys.labels)
        return np.broadcast_to(self.way.run.trace[f"{self.path}.mask"][0, 0].numpy(), shape)

    def records(self, name: str) -> bool:
        """Whether this attention has such a number."""
        return f"{self.path}.{name}" in self.way.run.trace

    def stage(self, name: str, title: str, recorded: str, **what: Any) -> Stage:
        """A stage of this head; `recorded` is the name of the tensor, "" for none."""
        path = f"{self.path}.{recorded}" if recorded else ""
        return Stage(
            name=f"{self.name.removesuffix('_attn')}-{name}",
            title=title,
            stack=self.way.stack,
            block=self.block,
            path=path,
            sizes=self.way.sizes(path) if path else (),
            **what,
        )
