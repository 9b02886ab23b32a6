"""The residual stream at a position, taken apart into everything that was added to it.

Each sublayer adds its output, and norms between an addition and its reader are linear once their recorded
scales are held fixed, so a linear reading of the stream is the exact sum of the readings of all parts (Elhage
et al. 2021, "A Mathematical Framework for Transformer Circuits", transformer-circuits.pub/2021/framework).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.analysis.ledgers.reading import Part, Reading
from transformer.analysis.residual import addition_path
from transformer.model.attention import MultiHeadAttention
from transformer.model.embedding import Embedding
from transformer.model.feed_forward import FeedForward
from transformer.model.trace import Stack, Trace
from transformer.model.transformer import Transformer

EMBEDDINGS: dict[Stack, str] = {"encoder": "src_embedding", "decoder": "tgt_embedding"}


@dataclass(frozen=True)
class Stream:
    """The residual stream of a stack at one position of a run.

    Args:
        model: the model.
        trace: its run.
        stack: which stream.
        position: of the token.
        by_key: whether the output of a head is split over the keys that it attends to.
    """

    model: Transformer
    trace: Trace
    stack: Stack
    position: int
    by_key: bool = False

    def read_output(self, reading: Reading) -> None:
        """Take apart the stack's output."""
        if self.model.config.ends_with_norm(self.stack):
            self._norm(f"{self.stack}.final_norm", reading, Part("bias", None, "final_norm"))
        self._sum(len(self._sublayers()), reading)

    def read_input(self, layer: int, sublayer: str, reading: Reading) -> None:
        """Take apart the input of a sublayer's matrices."""
        config = self.model.config
        if config.reads_normed(layer, sublayer):
            name = f"{sublayer}_norm"
            self._norm(f"{self._layer(layer)}.{name}", reading, Part("bias", layer, name))
        # In parallel, both sublayers read what enters the layer.
        first = "self_attn" if config.parallel_residual else sublayer
        self._sum(self._sublayers().index((layer, first)), reading)

    def _layer(self, layer: int) -> str:
        return f"{self.stack}.layers.{layer}"

    def _sublayers(self) -> list[tuple[int, str]]:
        """Layer and name of all sublayers, in the order in which they add to the stream."""
        crosses = self.stack == "decoder" and self.model.config.kind == "encoder-decoder"
        names = ("self_attn", *(["cross_attn"] if crosses else []), "feed_forward")
        return [(layer, name) for layer in range(self.trace.n_layers(self.stack)) for name in names]

    def _sum(self, n: int, reading: Reading) -> None:
        """Take apart the stream after its first n sublayers."""
        for layer, name in reversed(self._sublayers()[:n]):
            self._addition(layer, name, reading)
        self._embedding(reading)

    def _norm(self, path: str, reading: Reading, part: Part) -> None:
        norm = self.model.get_submodule(path)
        reading.through_norm(norm, self.trace[f"{path}.scale"][0, self.position], part)  # type: ignore[arg-type]

    def _addition(self, layer: int, name: str, reading: Reading) -> None:
        """Take apart what a sublayer adds, and pull the reading back to the stream before it."""
        config, path = self.model.config, f"{self._layer(layer)}.{name}"
        if config.norms_the_stream:
            self._norm(f"{path}_norm", reading, Part("bias", layer, f"{name}_norm"))
        branch = reading.branch(config.residual_scale)
        if addition_path(config, path) != f"{path}.out":
            self._norm(f"{path}_post_norm", branch, Part("bias", layer, f"{name}_post_norm"))
        module = self.model.get_submodule(path)
        if isinstance(module, MultiHeadAttention):
            self._attention(layer, name, module, branch)
        else:
            # The biases of experts are weighted: part of the output.
            bias = module.w_2.bias if isinstance(module, FeedForward) else None
            self._output(Part("feed_forward", layer, name), bias, branch)

    def _output(self, part: Part, bias: Tensor | None, reading: Reading) -> None:
        """A sublayer's output as one part, without its last bias, which is another."""
        out = self.trace[f"{self._layer(part.layer or 0)}.{part.sublayer}.out"][0, self.position].double()
        reading.add(part, out if bias is None else out - bias.cpu())
        reading.add(Part("bias", part.layer, part.sublayer), bias)

    def _attention(self, layer: int, name: str, module: MultiHeadAttention, reading: Reading) -> None:
        if not module.transposed:  # no row of W_O belongs to one head
            self._output(Part("attention", layer, name), module.w_o.bias, reading)
            return
        reading.through_matrix(module.w_o.weight, module.w_o.bias, Part("bias", layer, name))
        directions = reading.directions.unflatten(0, (module.n_heads, -1))  # (H, d_head, R)
        path = f"{self._layer(layer)}.{name}"
        weights = self.trace[f"{path}.weights"][0, :, self.position].double()  # (H, K)
        values = self.trace[f"{path}.v"][0].double()  # (n_kv_heads, K, d_head)
        if module.w_v.bias is not None:
            bias = module.w_v.bias.double().cpu().unflatten(0, (module.n_kv_heads, 1, -1))
            values = values - bias
            moved = weights.sum(dim=-1)[:, None] * _for_each_head(bias[:, 0], module)  # (H, d_head)
            parts = [Part("bias", layer, name, head) for head in range(module.n_heads)]
            reading.add_values(parts, torch.einsum("hd,hdr->hr", moved, directions))
        values = _for_each_head(values, module)  # (H, K, d_head)
        if not self.by_key:
            parts = [Part("attention", layer, name, head) for head in range(module.n_heads)]
            reading.add_values(parts, torch.einsum("hk,hkd,hdr->hr", weights, values, directions))
            return
        heads, keys = range(module.n_heads), range(weights.shape[-1])
        parts = [Part("attention", layer, name, head, key) for head in heads for key in keys]
        read = torch.einsum("hk,hkd,hdr->hkr", weights, values, directions)
        reading.add_values(parts, read.flatten(0, 1))

    def _embedding(self, reading: Reading) -> None:
        path = EMBEDDINGS[self.stack]
        module = self.model.get_submodule(path)
        assert isinstance(module, Embedding)
        if module.projection is not None:
            bias = Part("bias", None, f"{path}.projection")
            reading.through_matrix(module.projection.weight, module.projection.bias, bias)
        if module.norm is not None:
            self._norm(f"{path}.norm", reading, Part("bias", None, f"{path}.norm"))
        if module.segments is not None:
            reading.add(Part("segment", None, path), self.trace[f"{path}.segments"][0, 0])
        if module.positions is not None:
            reading.add(Part("position", None, path), self.trace[f"{path}.positions"][0, self.position])
        reading.add(Part("token", None, path), self.trace[f"{path}.tokens"][0, self.position])


def _for_each_head(shared: Tensor, module: MultiHeadAttention) -> Tensor:
    """(n_kv_heads, ...) -> (H, ...)."""
    return shared.repeat_interleave(module.n_heads // module.n_kv_heads, dim=0)
