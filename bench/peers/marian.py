"""Hugging Face's MarianMTModel: a copy of our model that computes the same, or a random one in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import MarianConfig, MarianMTModel

from transformer.model.attention import MultiHeadAttention
from transformer.model.config import TransformerConfig
from transformer.model.feed_forward import FeedForward
from transformer.model.layers import DecoderLayer, EncoderLayer
from transformer.model.normalization import LayerNorm, Norm
from transformer.model.positions import sinusoidal_encoding
from transformer.model.transformer import Transformer
from transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID


def marian_model(config: TransformerConfig) -> MarianMTModel:
    """A MarianMTModel of the same sizes: post-norm, sinusoidal positions, tied generator with a bias."""
    return MarianMTModel(
        MarianConfig(
            vocab_size=config.src_vocab_size,
            decoder_vocab_size=config.tgt_vocab_size,
            share_encoder_decoder_embeddings=False,
            tie_word_embeddings=False,
            d_model=config.d_model,
            encoder_layers=config.n_encoder_layers,
            decoder_layers=config.n_decoder_layers,
            encoder_attention_heads=config.n_heads,
            decoder_attention_heads=config.n_heads,
            encoder_ffn_dim=config.d_ff,
            decoder_ffn_dim=config.d_ff,
            max_position_embeddings=config.max_len,
            activation_function=config.activation,
            dropout=config.dropout,
            scale_embedding=True,
            pad_token_id=config.pad_id,
            bos_token_id=BOS_ID,
            eos_token_id=EOS_ID,
            decoder_start_token_id=BOS_ID,
            forced_eos_token_id=None,
        )
    )


@torch.no_grad()
def marian_copy(ours: Transformer) -> MarianMTModel:
    """A MarianMTModel in eval mode with all weights of a post-norm encoder-decoder without final norms."""
    theirs = marian_model(ours.config)
    theirs.train(mode=False)
    positions = sinusoidal_encoding(ours.config.max_len, ours.config.d_model, ours.config.position_base)
    inner = theirs.model
    for stack, embedding in ((inner.encoder, ours.src_embedding), (inner.decoder, ours.tgt_embedding)):
        stack.embed_tokens.weight.copy_(embedding.weight)
        stack.embed_positions.weight.copy_(positions)
    theirs.lm_head.weight.copy_(ours.generator.weight)
    theirs.final_logits_bias.copy_(ours.generator.bias[None])
    for mine, other in zip(ours.encoder.layers, inner.encoder.layers, strict=True):
        assert isinstance(mine, EncoderLayer)
        _copy_common(mine, other)
    for mine, other in zip(ours.decoder.layers, inner.decoder.layers, strict=True):
        assert isinstance(mine, DecoderLayer)
        _copy_common(mine, other)
        _copy_attention(mine.cross_attn, other.encoder_attn)
        _copy_norm(mine.cross_attn_norm, other.encoder_attn_layer_norm)
    return theirs


def save_random_marian(folder: Path, *, smallest: bool = False) -> None:
    """Save a random translation model (six layers per stack, 300 MB) as config.json and model.safetensors."""
    vocab_size, d_model = (97, 32) if smallest else (60_000, 512)
    config = MarianConfig(
        vocab_size=vocab_size,
        d_model=d_model,
        encoder_layers=6,
        decoder_layers=6,
        encoder_attention_heads=8,
        decoder_attention_heads=8,
        encoder_ffn_dim=4 * d_model,
        decoder_ffn_dim=4 * d_model,
        max_position_embeddings=512,
        activation_function="swish",
        scale_embedding=True,
        pad_token_id=vocab_size - 1,
        eos_token_id=0,
        decoder_start_token_id=vocab_size - 1,
        forced_eos_token_id=0,
    )
    MarianMTModel(config).save_pretrained(folder)


def generate(
    theirs: MarianMTModel, src: Tensor, *, beam_size: int, n_tokens: int, suppressed_ids: Sequence[int]
) -> list[list[int]]:
    """Generate n_tokens tokens for each source (B, S) with their greedy decoding or beam search."""
    generating: Any = theirs  # their type of `generate` excludes their own model
    ids: Tensor = generating.generate(
        input_ids=src,
        attention_mask=(src != PAD_ID).long(),
        num_beams=beam_size,
        do_sample=False,
        max_new_tokens=n_tokens,
        min_new_tokens=n_tokens,
        suppress_tokens=list(suppressed_ids),
    )
    rows: list[list[int]] = ids[:, 1:].tolist()
    return rows


def _copy_common(mine: EncoderLayer | DecoderLayer, other: nn.Module) -> None:
    _copy_attention(mine.self_attn, other.get_submodule("self_attn"))
    _copy_norm(mine.self_attn_norm, other.get_submodule("self_attn_layer_norm"))
    assert isinstance(mine.feed_forward, FeedForward)
    _copy_linear(mine.feed_forward.w_1, other.get_submodule("fc1"))
    _copy_linear(mine.feed_forward.w_2, other.get_submodule("fc2"))
    _copy_norm(mine.feed_forward_norm, other.get_submodule("final_layer_norm"))


def _copy_attention(mine: MultiHeadAttention, other: nn.Module) -> None:
    names = {"w_q": "q_proj", "w_k": "k_proj", "w_v": "v_proj", "w_o": "out_proj"}
    for own, their in names.items():
        _copy_linear(mine.get_submodule(own), other.get_submodule(their))


def _copy_linear(mine: nn.Module, other: nn.Module) -> None:
    other.load_state_dict(mine.state_dict())


def _copy_norm(mine: Norm | None, other: nn.Module) -> None:
    assert isinstance(mine, LayerNorm)
    other.load_state_dict({"weight": mine.gamma, "bias": mine.beta})
