"""Copying, from the weights alone: whether attending to a token raises the logit of that same token."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.loaded import LoadedModel
from transformer.model.attention import MultiHeadAttention
from transformer.model.layers import DecoderLayer, EncoderLayer
from transformer.model.normalization import RMSNorm
from transformer.model.trace import Stack

N_COMPARED = 256
"""Random tokens whose logits a token's own is compared with."""


def why_no_copying(loaded: LoadedModel) -> str:
    """Why no logit belongs to what a head reads; empty if one does."""
    config = loaded.model.config
    if not config.has_generator:
        return "the model has no generator, so there are no logits"
    if config.generator_transform or config.d_embedding:
        return "layers between the heads and the vocabulary are not linear"
    if config.merge_heads == "untransposed":
        return "heads are merged untransposed, so no rows of W_O belong to one head"
    return ""


def copying_stack(loaded: LoadedModel) -> Stack:
    """The stack whose tokens have the logits."""
    return "decoder" if loaded.model.config.n_decoder_layers else "encoder"


@torch.inference_mode()
def copying_shares(loaded: LoadedModel, ids: Sequence[int], seed: int) -> Tensor:
    """The share of random other tokens whose logits each head raises less than the token's own: (ids, H).

    The path is embedding, the layer's norm, W_V, W_O, the final norm's gamma, generator (Elhage et al. 2021,
    "OV circuit"); what other layers make of it is left out. H counts the heads of all layers.
    """
    model, stack = loaded.model, copying_stack(loaded)
    embedding = model.tgt_embedding if stack == "decoder" else model.src_embedding
    layers = model.decoder if stack == "decoder" else model.encoder
    final_norm = layers.final_norm
    x = embedding.weight[list(ids)] * embedding.scale  # (N, D)
    x = x if embedding.norm is None else embedding.norm(x)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(model.generator.weight), (N_COMPARED,), generator=generator)
    own, others = model.generator.weight[list(ids)], model.generator.weight[drawn.to(x.device)]
    is_other = (torch.tensor(list(ids))[:, None] != drawn).to(
        x.device
    )  # rounding would decide on the token itself
    shares = []
    for layer in layers.layers:
        assert isinstance(layer, EncoderLayer | DecoderLayer)
        norm = layer.self_attn_norm
        read = norm(x) if norm is not None and model.config.has_norms_before else x
        for moved in _moved(layer.self_attn, read):  # (N, D) per head
            written = moved
            if final_norm is not None:
                centred = moved if isinstance(final_norm, RMSNorm) else moved - moved.mean(-1, keepdim=True)
                written = centred * final_norm.gamma
            logit = (written * own).sum(dim=-1, keepdim=True)
            is_lower = (written @ others.T < logit) & is_other
            shares.append(is_lower.sum(dim=-1) / is_other.sum(dim=-1).clamp(min=1))
    return torch.stack(shares, dim=-1).cpu()


def _moved(attention: MultiHeadAttention, x: Tensor) -> list[Tensor]:
    """What each head moves when it attends to x (N, D) alone, without biases: (N, D) each."""
    shared = attention.n_heads // attention.n_kv_heads
    values = (x @ attention.w_v.weight.T).unflatten(-1, (attention.n_kv_heads, -1))
    rows = attention.w_o.weight.unflatten(-1, (attention.n_heads, -1))  # (D, H, d_head)
    return [values[:, head // shared] @ rows[:, head].T for head in range(attention.n_heads)]
