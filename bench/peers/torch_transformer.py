"""torch.nn.Transformer with embeddings and a generator: a translator of the same sizes as ours."""

from __future__ import annotations

import math
import warnings

import torch
from torch import Tensor, nn
from torch.nn import functional

from transformer.model.config import TransformerConfig
from transformer.model.positions import sinusoidal_encoding


class TorchTranslator(nn.Module):
    """Maps source and decoder input to logits, as `transformer.model.transformer.Transformer` does."""

    positions: Tensor

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.src_embedding = nn.Embedding(config.src_vocab_size, config.d_model)
        self.tgt_embedding = nn.Embedding(config.tgt_vocab_size, config.d_model)
        self.register_buffer("positions", sinusoidal_encoding(config.max_len, config.d_model))
        self.dropout = nn.Dropout(config.dropout)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pre-norm rules out nested tensors, which training doesn't use
            self.stacks = nn.Transformer(
                d_model=config.d_model,
                nhead=config.n_heads,
                num_encoder_layers=config.n_encoder_layers,
                num_decoder_layers=config.n_decoder_layers,
                dim_feedforward=config.d_ff,
                dropout=config.dropout,
                activation=config.activation,
                norm_first=config.norm_position == "pre",
                batch_first=True,
            )
        self.generator = nn.Linear(config.d_model, config.tgt_vocab_size)
        self.generator.weight = self.tgt_embedding.weight

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """(B, S) and (B, T) ids -> (B, T, V) logits."""
        src_padding, tgt_padding = src == self.config.pad_id, tgt == self.config.pad_id
        n = tgt.shape[1]
        later = torch.ones(n, n, dtype=torch.bool, device=tgt.device).triu(1)
        z = self.stacks(
            self._embed(self.src_embedding, src),
            self._embed(self.tgt_embedding, tgt),
            tgt_mask=later,
            tgt_is_causal=True,
            src_key_padding_mask=src_padding,
            tgt_key_padding_mask=tgt_padding,
            memory_key_padding_mask=src_padding,
        )
        return functional.linear(z, self.generator.weight, self.generator.bias)

    def _embed(self, embedding: nn.Embedding, ids: Tensor) -> Tensor:
        scaled = embedding(ids) * math.sqrt(self.config.d_model)
        embedded: Tensor = self.dropout(scaled + self.positions[: ids.shape[1]])
        return embedded
