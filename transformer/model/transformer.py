"""The whole Transformer: embeddings, stacks and generator (paper, section 3, figure 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from transformer.model.attention import soft_capped
from transformer.model.config import TransformerConfig
from transformer.model.embedding import Embedding
from transformer.model.feed_forward import ACTIVATION_FUNCTIONS
from transformer.model.layers import DecoderLayerCache
from transformer.model.masks import causal_mask, padding_mask
from transformer.model.normalization import norm_of
from transformer.model.stacks import Decoder, Encoder
from transformer.model.trace import NO_TAP, Tap


class SequenceTooLongError(ValueError):
    """There are more tokens than the model has positions."""


@dataclass
class DecoderState:
    """The state of incremental decoding: the encoded source, and every layer's keys and values.

    Attributes:
        memory: (B, S, D), or None without an encoder.
        memory_mask: (B, 1, 1, S), or None if no source is padded.
        tokens: (n * B, T) ids of the targets so far, n for each source (for example, a beam).
        caches: one per decoder layer; cross-attention caches have B rows, self-attention caches n * B.
    """

    memory: Tensor | None
    memory_mask: Tensor | None
    tokens: Tensor
    caches: list[DecoderLayerCache]

    def select(self, sources: Tensor, targets: Tensor) -> None:
        """Keep some sources and targets of the batch.

        Args:
            sources: (B') rows of the source.
            targets: (n * B') rows of the targets so far, n for each of those sources in turn. Rows may
                repeat.
        """
        if self.memory is not None and not _are_all_rows(sources, self.memory):
            self.memory = self.memory.index_select(0, sources)
            if self.memory_mask is not None:
                self.memory_mask = self.memory_mask.index_select(0, sources)
            for cache in self.caches:
                cache.cross_attn.select(sources)
        self.tokens = self.tokens.index_select(0, targets)
        for cache in self.caches:
            cache.self_attn.select(targets)


def _are_all_rows(rows: Tensor, batch: Tensor) -> bool:
    return torch.equal(rows, torch.arange(len(batch), device=rows.device))


class GeneratorTransform(nn.Module):
    """Norm(activation(dense(x))): the head of masked language models (Devlin et al. 2018)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.d_model, config.generator_width, bias=config.bias)
        self.activation = ACTIVATION_FUNCTIONS[config.activation]
        self.norm = norm_of(config, config.generator_width)

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """(B, T, D) -> (B, T, generator_width); the tap sees hidden (after the activation) and the norm."""
        hidden: Tensor = tap("hidden", self.activation(self.dense(x)))
        return self.norm(hidden, tap.at("norm"))


class Transformer(nn.Module):
    """An encoder-decoder, encoder-only or decoder-only Transformer.

    Args:
        config: sizes and choices.
        generator: draws the initial weights; by default torch's default generator.
    """

    def __init__(self, config: TransformerConfig, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        if config.n_encoder_layers:
            self.src_embedding = Embedding(config.src_vocab_size, config)
            self.encoder = Encoder(config)
        if config.n_decoder_layers:
            self.tgt_embedding = Embedding(config.tgt_vocab_size, config)
            self.decoder = Decoder(config)
        if config.share_embeddings:
            self.tgt_embedding.weight = self.src_embedding.weight
        if config.generator_transform:
            self.generator_transform = GeneratorTransform(config)
        if config.has_generator:
            self.generator = self._make_generator(config)
        self.reset_parameters(generator)

    def _make_generator(self, config: TransformerConfig) -> nn.Linear:
        vocab_size = config.tgt_vocab_size or config.src_vocab_size
        bias = config.bias if config.generator_bias is None else config.generator_bias
        generator = nn.Linear(config.generator_width, vocab_size, bias=bias)
        if config.tie_generator:
            embedding = self.tgt_embedding if config.n_decoder_layers else self.src_embedding
            generator.weight = embedding.weight
        return generator

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Initialise the weights: Xavier-uniform matrices, embeddings with std d_model^-1/2, zero biases.

        An embedding times sqrt(d_model) then has values of about 1, like the positional encoding.
        """
        for name, parameter in self.named_parameters():
            if parameter.is_meta:  # nothing to initialise, and trying would load torch's compiler
                continue
            if name.endswith(".gamma"):
                nn.init.ones_(parameter)
            elif parameter.dim() == 1 or name.endswith(".beta"):
                nn.init.zeros_(parameter)
            elif "embedding" in name and "projection" not in name:
                nn.init.normal_(parameter, std=1 / math.sqrt(self.config.d_model), generator=generator)
            else:
                nn.init.xavier_uniform_(parameter, generator=generator)

    def forward(self, src: Tensor | None = None, tgt: Tensor | None = None, tap: Tap = NO_TAP) -> Tensor:
        """Logits for all positions at once; a decoder's are for the next token (teacher forcing).

        Args:
            src: (B, S) ids; None without an encoder.
            tgt: (B, T) ids, the decoder's input, which begins with <bos>; None without a decoder.
            tap: sees every intermediate tensor.

        Returns:
            (B, T, V) with a decoder, (B, S, V) without; hidden states (B, T or S, D) without a generator.

        Raises:
            SequenceTooLongError: for more tokens than config.max_len.
            ValueError: for a missing input, one that this kind of model can't use, or different batch sizes.
        """
        self._check_side("src", src, self.config.n_encoder_layers)
        self._check_side("tgt", tgt, self.config.n_decoder_layers)
        if src is not None and tgt is not None and len(src) != len(tgt):
            raise ValueError(f"src has {len(src)} sentences and tgt {len(tgt)}: give them pair by pair.")
        memory = memory_mask = None
        if src is not None:
            mask = padding_mask(src, self.config.pad_id)
            memory = x = self.encode(src, mask, tap)
            memory_mask = self._memory_mask(mask)
        if tgt is not None:
            x = self._decode(tgt, memory, memory_mask, tap)
        return self.propose(x, tap)

    def encode(self, src: Tensor, mask: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """Source ids (B, S) and their padding mask (B, 1, 1, S) -> memory (B, S, D)."""
        return self.encoder(self.src_embedding(src, tap.at("src_embedding")), mask, tap.at("encoder"))

    def _decode(
        self, tgt: Tensor, memory: Tensor | None, memory_mask: Tensor | None, tap: Tap = NO_TAP
    ) -> Tensor:
        """Target ids (B, T), memory (B, S, D) and its mask (B, 1, 1, S) -> last hidden states (B, T, D)."""
        mask = causal_mask(tgt.shape[1], device=tgt.device) & self._target_mask(tgt)
        embedded = self.tgt_embedding(tgt, tap.at("tgt_embedding"))
        return self.decoder(embedded, mask, memory, memory_mask, tap.at("decoder"))

    def propose(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """Last hidden states (B, T, D) -> logits (B, T, V); unchanged without a generator.

        The tap sees the transform's tensors, logits_uncapped if there is a cap, and logits.
        """
        if not self.config.has_generator:
            return x
        if self.config.generator_transform:
            x = self.generator_transform(x, tap.at("generator_transform"))
        if self.config.logits_scale:
            x = x * self.config.logits_factor
        logits = self.generator(x)
        if self.config.logits_soft_cap:
            logits = soft_capped(tap("logits_uncapped", logits), self.config.logits_soft_cap)
        return tap("logits", logits)

    def start(self, src: Tensor | None, batch_size: int = 1) -> DecoderState:
        """Encode the source once and prepare for decoding token by token with `step`.

        Args:
            src: (B, S) ids; None without an encoder.
            batch_size: B if there is no source.

        Raises:
            SequenceTooLongError: for a source of more tokens than config.max_len.
            ValueError: without a decoder; for a source without an encoder, or no source with one.
        """
        if not self.config.n_decoder_layers:
            raise ValueError("This encoder-only model can't decode: it has no decoder.")
        self._check_side("src", src, self.config.n_encoder_layers)
        memory = memory_mask = None
        if src is not None:
            mask = padding_mask(src, self.config.pad_id)
            memory, batch_size = self.encode(src, mask), src.shape[0]
            memory_mask = self._memory_mask(mask)
            memory_mask = None if memory_mask.all() else memory_mask
        tokens = torch.empty(batch_size, 0, dtype=torch.long, device=self.tgt_embedding.weight.device)
        caches = [DecoderLayerCache() for _ in range(self.config.n_decoder_layers)]
        return DecoderState(memory, memory_mask, tokens, caches)

    @property
    def recomputes(self) -> bool:
        """True if each decoding step computes the whole target again.

        If heads are merged untransposed, every value depends on all tokens so far, so nothing can be cached.
        """
        return self.config.merge_heads == "untransposed"

    def step(self, tokens: Tensor, state: DecoderState) -> Tensor:
        """Append target tokens (B, T_new) to the state; returns the logits that follow them (B, T_new, V).

        Raises:
            SequenceTooLongError: for a target of more tokens than config.max_len; the state is unchanged.
        """
        start, n_keys = state.tokens.shape[1], state.tokens.shape[1] + tokens.shape[1]
        self._check_length(n_keys)
        state.tokens = torch.cat((state.tokens, tokens), dim=1)
        if self.recomputes:
            return self.propose(self._decode_again(state)[:, start:])
        mask, open_keys = None, self._target_mask(state.tokens)
        if tokens.shape[1] > 1 or not open_keys.all():  # a single token needs no mask unless there is padding
            mask = causal_mask(tokens.shape[1], n_keys, tokens.device) & open_keys
        x = self.tgt_embedding(tokens, start=start)
        return self.propose(self.decoder(x, mask, state.memory, state.memory_mask, caches=state.caches))

    def _decode_again(self, state: DecoderState) -> Tensor:
        """Hidden states (B, T, D) of the whole target, for a model that `recomputes`."""
        memory, mask = state.memory, state.memory_mask
        if memory is not None:
            targets = len(state.tokens) // len(memory)
            memory = memory.repeat_interleave(targets, dim=0)
            mask = None if mask is None else mask.repeat_interleave(targets, dim=0)
        return self._decode(state.tokens, memory, mask)

    def _memory_mask(self, source_mask: Tensor) -> Tensor:
        """Cross-attention's mask (B, 1, 1, S); all True if the model does not mask padding there."""
        return source_mask if self.config.memory_padding_mask else torch.ones_like(source_mask)

    def _target_mask(self, tgt: Tensor) -> Tensor:
        """Masks the padding of target ids (B, T): (B, 1, 1, T).

        The first token is never masked, because some models start a target with the pad token.
        """
        mask = padding_mask(tgt, self.config.pad_id)
        mask[..., :1] = True
        return mask

    def _check_side(self, name: str, ids: Tensor | None, n_layers: int) -> None:
        if (n_layers > 0) != (ids is not None):
            verb = "needs" if n_layers else "has no use for"
            raise ValueError(f"This {self.config.kind} model {verb} {name}.")
        if ids is not None:
            self._check_length(ids.shape[1])

    def _check_length(self, n_tokens: int) -> None:
        if n_tokens > self.config.max_len:
            raise SequenceTooLongError(
                f"{n_tokens} tokens are more than this model's {self.config.max_len} positions."
            )
