"""Small Transformers of every kind, in sizes that reveal swapped axes, and batches for them."""

from __future__ import annotations

import torch
from torch import Tensor

from transformer.model.config import TransformerConfig
from transformer.model.trace import Recorder, Trace
from transformer.model.transformer import Transformer

BATCH, SRC_LENGTH, TGT_LENGTH = 2, 7, 5
PAD_ID, BOS_ID, EOS_ID = 0, 1, 2

SIZES = {
    "src_vocab_size": 29,
    "tgt_vocab_size": 31,
    "d_model": 66,  # 3 heads of 22: sinusoidal positions need an even width
    "n_heads": 3,
    "n_encoder_layers": 2,
    "n_decoder_layers": 3,
    "d_ff": 37,
    "max_len": 13,
}
KINDS: dict[str, dict[str, object]] = {
    "encoder-decoder": {},
    "encoder-only": {"tgt_vocab_size": 0, "n_decoder_layers": 0},
    "decoder-only": {"src_vocab_size": 0, "n_encoder_layers": 0},
}


def tiny_config(**changes: object) -> TransformerConfig:
    return TransformerConfig.from_dict(SIZES | changes)


def tiny_transformer(seed: int = 0, /, **changes: object) -> Transformer:
    """In eval mode; biases, gammas and betas are random too, so that none can be forgotten."""
    generator = torch.Generator().manual_seed(seed)
    model = Transformer(tiny_config(**changes), generator)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.2)
    return model.eval()


def random_ids(vocab_size: int, *shape: int, seed: int = 0) -> Tensor:
    """Word ids without padding."""
    return torch.randint(PAD_ID + 1, vocab_size, shape, generator=torch.Generator().manual_seed(seed))


def batch(config: TransformerConfig) -> tuple[Tensor | None, Tensor | None]:
    """Source (2, 7) and target (2, 5), each None if the model doesn't take it; the second row is padded."""
    src = random_ids(config.src_vocab_size, BATCH, SRC_LENGTH) if config.n_encoder_layers else None
    tgt = random_ids(config.tgt_vocab_size, BATCH, TGT_LENGTH) if config.n_decoder_layers else None
    if src is not None:
        src[1, 4:] = PAD_ID
    if tgt is not None:
        tgt[1, 3:] = PAD_ID
    return src, tgt


def pair_batch(config: TransformerConfig) -> tuple[Tensor, Tensor]:
    """`batch` for an encoder-decoder."""
    src, tgt = batch(config)
    assert src is not None
    assert tgt is not None
    return src, tgt


def with_pair(model: Transformer) -> tuple[Transformer, Tensor, Tensor]:
    """An encoder-decoder and its `batch`."""
    return model, *pair_batch(model.config)


def one(ids: Tensor, sentence: int) -> Tensor:
    """One sentence of a batch, without its padding."""
    return ids[sentence][ids[sentence] != PAD_ID][None]


def trace_of(model: Transformer, src: Tensor | None, tgt: Tensor | None) -> Trace:
    recorder = Recorder()
    model(src, tgt, tap=recorder)
    return Trace(recorder.records)


def deviation(actual: Tensor, expected: Tensor) -> float:
    """The largest absolute difference; infinite if shapes differ or a number is NaN."""
    if actual.shape != expected.shape:
        return float("inf")
    difference = (actual - expected).detach().abs()
    return float("inf") if difference.isnan().any() else difference.max().item()


def relative_deviation(actual: Tensor, expected: Tensor) -> float:
    """The largest absolute difference, relative to the largest expected value."""
    return deviation(actual, expected) / expected.abs().max().item()
