"""Checkpoint: the drawing has the blocks of the model, and every weight once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from tests.support.checkpoints import SRC_VOCAB_SIZE, TGT_VOCAB_SIZE
from tests.support.kinds import KINDS
from transformer.model.config import TransformerConfig, preset
from transformer.model.transformer import Transformer
from viz.pages.checkpoint.drawing import stacks_of, unusual


def config_of(**changes: Any) -> TransformerConfig:
    return preset("toy", src_vocab_size=SRC_VOCAB_SIZE, tgt_vocab_size=TGT_VOCAB_SIZE, **changes)


def labels(config: TransformerConfig) -> list[list[str]]:
    """Labels of the blocks inside a layer of each stack, from the bottom up."""
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
    assert labels(config_of(norm_position="both"))[0] == [
        "layer norm", "self-attention", "layer norm of the output",
        "layer norm", "feed-forward", "layer norm of the output",
    ]  # fmt: skip
    assert labels(config_of(norm_position="output"))[0] == [
        "self-attention", "layer norm of the output", "feed-forward", "layer norm of the output",
    ]  # fmt: skip


def test_a_block_says_what_is_unusual_in_it() -> None:
    """In words, because the columns can't show it."""
    about = {
        kind: " ".join(
            block.about
            for stack in stacks_of(KINDS[kind]().model.config)
            for sublayer in stack.layer
            for block in sublayer.inside
        )
        for kind in (
            *("capped", "parallel", "shared", "factors", "shifted", "prompted"),
            *("output_norms", "own_biases"),
        )
    }
    assert "are multiplied by 0.3, not divided by √14. A soft cap keeps scores below 2.5." in about["capped"]
    assert (
        "Rotary bases of the decoder's layers: 9 in layer 0; none in layer 1; 500 in layer 2."
        in about["capped"]
    )
    assert "The first 4 of a head's 10 dimensions are rotated." in about["parallel"]
    assert "It reads the same stream as self-attention, in parallel." in about["parallel"]
    assert "All layers share the same weights." in about["shared"]
    assert "Its output is multiplied by 0.4 before it is added." in about["factors"]
    assert "It sees the source's padding, too." in about["shifted"]
    assert "The norms of queries and keys are over all heads at once." in about["output_norms"]
    assert "The norms of queries and keys have weights for each head." in about["own_biases"]
    assert "Each layer has learned a relative bias of its own." in about["own_biases"]
    unusual = ("soft cap", "turned", "parallel", "same weights", "multiplied", "padding")
    assert not any(word in about["prompted"] for word in unusual)
    embedding = stacks_of(KINDS["shared"]().model.config)[0].below[0]
    assert embedding.detail.endswith("14 → 30")
    assert "a vector of 14 numbers" in embedding.about


def test_all_weights_are_drawn_once() -> None:
    for norm_position in ("pre", "post", "both", "output"):
        config = config_of(norm_position=norm_position, final_norm=norm_position == "pre")
        drawn = 0
        for stack in stacks_of(config):
            inside = [block for sublayer in stack.layer for block in (*sublayer.inside, *sublayer.after)]
            drawn += sum(block.parameters for block in (*stack.below, *stack.above))
            drawn += stack.n_layers * sum(block.parameters for block in inside)
        model = Transformer(config, torch.Generator().manual_seed(0))
        assert drawn == sum(p.numel() for p in model.parameters())


def test_the_caption_says_which_layer_is_drawn_if_the_first_lacks_a_norm() -> None:
    config = KINDS["alibi"]().model.config
    assert config.has_norms_before
    assert unusual(config) == ""
    assert "all others have a norm before self-attention" in unusual(replace(config, first_norm=False))
