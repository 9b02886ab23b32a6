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
    """More tokens than the model has positions for."""


@dataclass
class DecoderState:
    """What an incremental decoding keeps: the encoded source, and for each layer its keys and values.

    Attributes:
        memory: (B, S, D), or None without an encoder.
        memory_mask: (B, 1, 1, S), or None where no source is padded.
        tokens: (B, T) ids, the target so far.
        caches: one a decoder layer.

    Several targets of one source may be decoded side by side: B is then that of the targets, and each row of
    the source (of memory, its mask, and the keys and values of the cross-attention) serves as many of them.
    """

    memory: Tensor | None
    memory_mask: Tensor | None
    tokens: Tensor
    caches: list[DecoderLayerCache]

    def select(self, sources: Tensor, targets: Tensor) -> None:
        """Keep some sources and targets of the batch.

        Args:
            sources: (B') rows of the source.
            targets: (n * B') rows of the target so far: n for each of those sources, one after the other. A
                row may come several times.
        """
        if self.memory is not None and not _is_all(sources, self.memory):
            self.memory = self.memory.index_select(0, sources)
            if self.memory_mask is not None:
                self.memory_mask = self.memory_mask.index_select(0, sources)
            for cache in self.caches:
                cache.cross_attn.select(sources)
        self.tokens = self.tokens.index_select(0, targets)
        for cache in self.caches:
            cache.self_attn.select(targets)


def _is_all(rows: Tensor, of: Tensor) -> bool:
    return torch.equal(rows, torch.arange(len(of), device=rows.device))


class GeneratorTransform(nn.Module):
    """Norm(activation(dense(x))): the head of masked language models (Devlin et al. 2018)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.d_model, config.generator_width, bias=config.bias)
        self.activation = ACTIVATION_FUNCTIONS[config.activation]
        self.norm = norm_of(config, config.generator_width)

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """(B, T, D) -> (B, T, D), or (B, T, d_embedding) where embeddings are so wide.

        The tap sees hidden (after the activation), then the norm's.
        """
        hidden: Tensor = tap("hidden", self.activation(self.dense(x)))
        return self.norm(hidden, tap.at("norm"))


class Transformer(nn.Module):
    """Encoder-decoder, encoder-only or decoder-only, as the configuration says.

    Args:
        config: sizes and choices.
        generator: where the initial weights are drawn from; torch's own when left out.
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
        """Fresh weights: Xavier-uniform for matrices, deviation d_model^-1/2 for embeddings, zero for biases.

        With that deviation an embedding times sqrt(d_model) has numbers of size 1, like the encoding's.
        """
        for name, parameter in self.named_parameters():
            if parameter.is_meta:  # no memory; to ask for numbers nonetheless would load torch's compiler
                continue
            if name.endswith(".gamma"):
                nn.init.ones_(parameter)
            elif parameter.dim() == 1:
                nn.init.zeros_(parameter)
            elif "embedding" in name and "projection" not in name:
                nn.init.normal_(parameter, std=1 / math.sqrt(self.config.d_model), generator=generator)
            else:
                nn.init.xavier_uniform_(parameter, generator=generator)

    def forward(self, src: Tensor | None = None, tgt: Tensor | None = None, tap: Tap = NO_TAP) -> Tensor:
        """Logits of every position at once; in a decoder, those of the next token (teacher forcing).

        Args:
            src: (B, S) ids; None without an encoder.
            tgt: (B, T) ids, the decoder's input, beginning with <bos>; None without a decoder.
            tap: sees every number on the way.

        Returns:
            (B, T, V) with a decoder, (B, S, V) without; hidden states (B, T or S, D) without a generator.

        Raises:
            SequenceTooLongError: for more tokens than config.max_len.
            ValueError: when an input is missing that this kind of model needs, or is given that it can't use,
                or src and tgt are not equally many.
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
        """Last hidden states (B, T, D) -> logits (B, T, V); as they are without a generator.

        The tap sees what the head's transform shows it, logits and, where they are capped, logits_uncapped.
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
        """Encode the source once and get ready to decode token by token with `step`.

        Args:
            src: (B, S) ids; None without an encoder.
            batch_size: B where there is no source to tell it.

        Raises:
            SequenceTooLongError: for a source of more tokens than config.max_len.
            ValueError: without a decoder; for a source where there is no encoder, or none where there is one.
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
        """Whether each step of a decoding computes the whole target again.

        It must where heads are merged untransposed: every number depends on all tokens so far.
        """
        return self.config.merge_heads == "untransposed"

    def step(self, tokens: Tensor, state: DecoderState) -> Tensor:
        """Feed the newest target tokens (B, T_new) and get the logits that follow (B, T_new, V).

        The state grows by these tokens: their keys and values are not computed again (unlike in `forward`).
        A model that `recomputes` computes all tokens so far again.

        Raises:
            SequenceTooLongError: for a target of more tokens than config.max_len; the state stays as it was.
        """
        start, n_keys = state.tokens.shape[1], state.tokens.shape[1] + tokens.shape[1]
        self._check_length(n_keys)
        state.tokens = torch.cat((state.tokens, tokens), dim=1)
        if self.recomputes:
            return self.propose(self._decode_again(state)[:, start:])
        mask, open_keys = None, self._target_mask(state.tokens)
        if tokens.shape[1] > 1 or not open_keys.all():  # else one token may look at everything before it
            mask = causal_mask(tokens.shape[1], n_keys, tokens.device) & open_keys
        x = self.tgt_embedding(tokens, start=start)
        return self.propose(self.decoder(x, mask, state.memory, state.memory_mask, caches=state.caches))

    def _decode_again(self, state: DecoderState) -> Tensor:
        """Hidden states (B, T, D) of the whole target, for attention that mixes earlier tokens with later."""
        memory, mask = state.memory, state.memory_mask
        if memory is not None:
            targets = len(state.tokens) // len(memory)
            memory = memory.repeat_interleave(targets, dim=0)
            mask = None if mask is None else mask.repeat_interleave(targets, dim=0)
        return self._decode(state.tokens, memory, mask)

    def _memory_mask(self, source_mask: Tensor) -> Tensor:
        """What cross-attention may look at: (B, 1, 1, S), the source's words, or everything."""
        return source_mask if self.config.memory_padding_mask else torch.ones_like(source_mask)

    def _target_mask(self, tgt: Tensor) -> Tensor:
        """Closes the padding of target ids (B, T): (B, 1, 1, T).

        What begins a target is no padding, though some models begin with the token that pads their sources.
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
