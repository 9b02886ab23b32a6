"""Records what torch's own attentions and layers compute."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn


@contextmanager
def torch_attention(module: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Attention weights (B, H, Q, K) and layer outputs of torch's own modules, by the module's name.

    Layers take the path of training, apart from dropout: torch's fused path gives no weights.
    """
    seen: dict[str, Tensor] = {}
    was_fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    hooks = []
    for name, part in module.named_modules():
        if isinstance(part, nn.MultiheadAttention):
            hooks += [
                part.register_forward_pre_hook(_want_weights, with_kwargs=True),
                part.register_forward_hook(lambda _m, _i, out, name=name: seen.update({name: out[1]})),
            ]
        elif isinstance(part, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
            hooks.append(part.register_forward_hook(lambda _m, _i, out, name=name: seen.update({name: out})))
    try:
        yield seen
    finally:
        torch.backends.mha.set_fastpath_enabled(was_fast)
        for hook in hooks:
            hook.remove()


def _want_weights(
    module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, {**kwargs, "need_weights": True, "average_attn_weights": False}
