"""The paper's model written again by hand: one sentence, float64, heads one by one, none of our code.

For the shipped models and similar random ones: sinusoidal positions, layer norms, ReLU, a tied generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional

from transformer.loaded import LoadedModel

KEPT = ("q", "k", "v", "scores", "weights", "z")


@dataclass(frozen=True)
class Changed:
    """Changes to the computation.

    Attributes:
        positions: False leaves out the positions.
        off: a head whose output is zero: the path of its attention and its number.
        closed: a key that is masked in a row of the cross-attentions: row and key.
        n_padding: number of masked tokens at the end of the source.
    """

    positions: bool = True
    off: tuple[str, int] | None = None
    closed: tuple[int, int] | None = None
    n_padding: int = 0


@dataclass
class ByHand:
    """A forward pass.

    Attributes:
        seen: q, k, v, scores, weights and z of each head, (H, T, ...), and other vectors, by path.
        stream: the input of each layer of a stack, as a leaf for gradients.
    """

    loaded: LoadedModel
    changed: Changed = field(default_factory=Changed)
    seen: dict[str, Tensor] = field(default_factory=dict)
    stream: dict[str, list[Tensor]] = field(default_factory=lambda: {"encoder": [], "decoder": []})

    def __post_init__(self) -> None:
        self.config = self.loaded.model.config
        self.weights = {name: tensor.double() for name, tensor in self.loaded.model.state_dict().items()}

    def __call__(self, src: tuple[int, ...], tgt: tuple[int, ...]) -> Tensor:
        """The logits (T, V)."""
        memory = self.encode(src)
        future = torch.ones(len(tgt), len(tgt)).triu(1).bool()
        x = self.embedded("tgt_embedding", tgt)
        to_source = torch.ones(len(tgt), len(src), dtype=torch.bool)
        to_source[:, len(src) - self.changed.n_padding :] = False
        if self.changed.closed:
            to_source[self.changed.closed] = False
        for layer in range(self.config.n_decoder_layers):
            x = self.begin("decoder", x)
            path = f"decoder.layers.{layer}"
            x = self.sublayer(f"{path}.self_attn", x, lambda y, p: self.attention(p, y, y, ~future))
            x = self.sublayer(f"{path}.cross_attn", x, lambda y, p: self.attention(p, y, memory, to_source))
            x = self.sublayer(f"{path}.feed_forward", x, self.feed_forward)
        self.seen["decoder.end"] = x.detach()
        x = self.norm("decoder.final_norm", x) if self.config.final_norm else x
        return x @ self.weights["tgt_embedding.weight"].T + self.weights["generator.bias"]

    def encode(self, src: tuple[int, ...]) -> Tensor:
        """The memory (S, D)."""
        x = self.embedded("src_embedding", src)
        may = torch.ones(len(src), len(src), dtype=torch.bool)
        may[:, len(src) - self.changed.n_padding :] = False
        for layer in range(self.config.n_encoder_layers):
            x = self.begin("encoder", x)
            path = f"encoder.layers.{layer}"
            x = self.sublayer(f"{path}.self_attn", x, lambda y, p: self.attention(p, y, y, may))
            x = self.sublayer(f"{path}.feed_forward", x, self.feed_forward)
        return self.norm("encoder.final_norm", x) if self.config.final_norm else x

    def begin(self, stack: str, x: Tensor) -> Tensor:
        x = x if x.requires_grad else x.detach().requires_grad_()
        self.stream[stack].append(x)
        return x

    def embedded(self, name: str, ids: tuple[int, ...]) -> Tensor:
        d = self.config.d_model
        x = self.weights[f"{name}.weight"][list(ids)] * d**0.5
        return x + encoding(len(ids), d) if self.changed.positions else x

    def sublayer(self, path: str, x: Tensor, compute: Callable[[Tensor, str], Tensor]) -> Tensor:
        if self.config.norm_position == "pre":
            out = compute(self.norm(f"{path}_norm", x), path)
            result = x + out
        else:
            out = compute(x, path)
            result = self.norm(f"{path}_norm", x + out)
        self.seen[f"{path}.out"] = out.detach()
        return result

    def norm(self, path: str, x: Tensor) -> Tensor:
        normalized = (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
        self.seen[f"{path}.normalized"] = normalized.detach()
        return normalized * self.weights[f"{path}.gamma"] + self.weights[f"{path}.beta"]

    def feed_forward(self, x: Tensor, path: str) -> Tensor:
        hidden = functional.relu(self.linear(f"{path}.w_1", x))
        self.seen[f"{path}.hidden"] = hidden.detach()
        return self.linear(f"{path}.w_2", hidden)

    def linear(self, path: str, x: Tensor) -> Tensor:
        return functional.linear(x, self.weights[f"{path}.weight"], self.weights[f"{path}.bias"])

    def attention(self, path: str, x: Tensor, memory: Tensor, may: Tensor) -> Tensor:
        q, k, v = (self.linear(f"{path}.w_{n}", y) for n, y in zip("qkv", (x, memory, memory), strict=True))
        width = self.config.d_model // self.config.n_heads
        heads = []
        for head in range(self.config.n_heads):
            own = slice(head * width, (head + 1) * width)
            scores = q[:, own] @ k[:, own].T / math.sqrt(width)
            exponentials = torch.exp(scores - scores.max(-1, keepdim=True).values) * may
            weights = exponentials / exponentials.sum(-1, keepdim=True)
            z = weights @ v[:, own] * (self.changed.off != (path, head))
            heads.append((q[:, own], k[:, own], v[:, own], scores, weights, z))
        for name, tensors in zip(KEPT, zip(*heads, strict=True), strict=True):
            self.seen[f"{path}.{name}"] = torch.stack([tensor.detach() for tensor in tensors])
        return self.linear(f"{path}.w_o", torch.cat([parts[-1] for parts in heads], dim=-1))


def encoding(length: int, d: int) -> Tensor:
    """Sines and cosines of section 3.5, one number at a time."""
    rows = [
        [
            math.sin(at / 10_000 ** (i / d)) if i % 2 == 0 else math.cos(at / 10_000 ** ((i - 1) / d))
            for i in range(d)
        ]
        for at in range(length)
    ]
    return torch.tensor(rows, dtype=torch.float64)
