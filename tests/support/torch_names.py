"""A model of ours under the names of torch.nn.Transformer: trained, and in a layout that raises questions."""

from __future__ import annotations

import torch
from torch import Tensor

from transformer.model.transformer import Transformer


def as_torch_saves_it(model: Transformer) -> dict[str, Tensor]:
    """The state dict of a torch.nn.Transformer with the same numbers."""
    ours = model.state_dict()
    theirs: dict[str, Tensor] = {}

    def module(source: str, target: str) -> None:
        weight, bias = ("gamma", "beta") if source.endswith("norm") else ("weight", "bias")
        theirs[f"{target}.weight"] = ours[f"{source}.{weight}"]
        theirs[f"{target}.bias"] = ours[f"{source}.{bias}"]

    def attention(source: str, target: str) -> None:
        for part in ("weight", "bias"):
            theirs[f"{target}.in_proj_{part}"] = torch.cat([ours[f"{source}.w_{x}.{part}"] for x in "qkv"])
        module(f"{source}.w_o", f"{target}.out_proj")

    for stack, depth in (("encoder", 2), ("decoder", 2)):
        for i in range(depth):
            source, target = f"{stack}.layers.{i}", f"transformer.{stack}.layers.{i}"
            attention(f"{source}.self_attn", f"{target}.self_attn")
            module(f"{source}.self_attn_norm", f"{target}.norm1")
            if stack == "decoder":
                attention(f"{source}.cross_attn", f"{target}.multihead_attn")
                module(f"{source}.cross_attn_norm", f"{target}.norm2")
            module(f"{source}.feed_forward_norm", f"{target}.norm{2 if stack == 'encoder' else 3}")
            module(f"{source}.feed_forward.w_1", f"{target}.linear1")
            module(f"{source}.feed_forward.w_2", f"{target}.linear2")
        module(f"{stack}.final_norm", f"transformer.{stack}.norm")
    module("generator", "generator")
    theirs["src_tok_emb.embedding.weight"] = ours["src_embedding.weight"]
    theirs["tgt_tok_emb.embedding.weight"] = ours["tgt_embedding.weight"]
    return theirs
