"""Checkpoint: the drawing has the blocks that the model has, and every weight once."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.support.checkpoints import SRC_VOCAB_SIZE, TGT_VOCAB_SIZE
from transformer.model.config import TransformerConfig, preset
from transformer.model.transformer import Transformer
from viz.pages.checkpoint.drawing import stacks_of


def config_of(**changes: Any) -> TransformerConfig:
    return preset("toy", src_vocab_size=SRC_VOCAB_SIZE, tgt_vocab_size=TGT_VOCAB_SIZE, **changes)


def labels(config: TransformerConfig) -> list[list[str]]:
    """Of the blocks inside a layer, each stack's from the bottom up."""
    return [
        [block.label for sublayer in stack.layer for block in (*sublayer.inside, *sublayer.after)]
        for stack in stacks_of(config)
    ]


def test_norms_stand_where_the_model_has_them() -> None:
    assert labels(config_of(norm_position="pre", final_norm=True))[0] == [
        "layer norm", "self-attention", "layer norm", "feed-forward",
    ]  # fmt: skip
    assert labels(config_of(norm_position="post", final_norm=False))[1] == [
        "causal self-attention", "layer norm", "cross-attention", "layer norm", "feed-forward", "layer norm",
    ]  # fmt: skip


@pytest.mark.parametrize("norm_position", ["pre", "post"])
def test_all_weights_are_drawn_once(norm_position: str) -> None:
    config = config_of(norm_position=norm_position, final_norm=norm_position == "pre")
    drawn = 0
    for stack in stacks_of(config):
        inside = [block for sublayer in stack.layer for block in (*sublayer.inside, *sublayer.after)]
        drawn += sum(block.parameters for block in (*stack.below, *stack.above))
        drawn += stack.n_layers * sum(block.parameters for block in inside)
    model = Transformer(config, torch.Generator().manual_seed(0))
    assert drawn == sum(p.numel() for p in model.parameters())
