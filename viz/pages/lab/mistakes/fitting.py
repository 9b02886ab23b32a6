"""Requirements of the mistakes: each function returns the reason why a model doesn't fit, or ""."""

from __future__ import annotations

from collections.abc import Callable

from transformer.model.config import TransformerConfig

Unfit = Callable[[TransformerConfig], str]


def fits_all(_: TransformerConfig) -> str:
    """Fits every model."""
    return ""


def needs_heads(config: TransformerConfig) -> str:
    """Several heads."""
    return "This model has one head in each attention." if config.n_heads == 1 else ""


def needs_transposing(config: TransformerConfig) -> str:
    """Several heads, merged as in the paper."""
    if config.merge_heads == "untransposed":
        return "This model was trained with heads that are merged without transposing."
    return needs_heads(config)


def needs_scale(config: TransformerConfig) -> str:
    """Scores that are divided."""
    if config.attention_scale is True:
        return ""
    if config.attention_scale:
        return f"This model was trained with scores times {config.attention_scale:g}, not divided by a root."
    return "This model was trained without dividing the scores."


def needs_scaled_heads(config: TransformerConfig) -> str:
    """Scores divided by √d_head, with d_head below d_model."""
    if config.d_head == config.d_model:
        return "A head of this model is as wide as the model: d_head and d_model are the same number."
    return needs_scale(config)


def needs_future(config: TransformerConfig) -> str:
    """Cells masked within one sentence: a decoder's future."""
    if not config.n_decoder_layers:
        return "This model has no decoder: in one sentence without padding, its masks close nothing."
    return ""


def needs_prediction(config: TransformerConfig) -> str:
    """A decoder that predicts the next token."""
    if not config.n_decoder_layers:
        return "This model has no decoder: it predicts no next token."
    return "" if config.has_generator else "This model has no generator: it predicts no next token."


def needs_cross_attention(config: TransformerConfig) -> str:
    """An encoder and a decoder."""
    return "" if config.kind == "encoder-decoder" else "This model has no cross-attention."


def needs_predicting_cross_attention(config: TransformerConfig) -> str:
    """An encoder, and a decoder that predicts the next token."""
    return needs_cross_attention(config) or needs_prediction(config)


def needs_padding(config: TransformerConfig) -> str:
    """An encoder, and a padding token."""
    if not config.n_encoder_layers:
        return "This model has no encoder: its padding comes after the sentence, where no token looks."
    return "This model has no padding token." if config.pad_id < 0 else ""


def needs_embedding_scale(config: TransformerConfig) -> str:
    """Embeddings that are multiplied by the square root of their width."""
    if config.embedding_scale is True:
        return ""
    if config.embedding_scale:
        return f"This model was trained with embeddings times {config.embedding_scale:g}, which is no root."
    return "This model was trained without scaling its embeddings."


def needs_added_positions(config: TransformerConfig) -> str:
    """Positions that are added to the embeddings."""
    if config.positions in ("sinusoidal", "learned"):
        return ""
    return "This model adds no positions to its embeddings."


def needs_wavelengths(config: TransformerConfig) -> str:
    """Sinusoidal or rotary positions, with the same wavelengths in all layers."""
    if config.position_bases:
        return "The layers of this model have wavelengths of their own, of different bases."
    if config.positions in ("sinusoidal", "rotary"):
        return ""
    return "The positions of this model have no wavelengths."


def needs_base(config: TransformerConfig) -> str:
    """Wavelengths with the paper's base, 10000."""
    if config.position_base != 10_000:
        return f"The positions of this model have the base {config.position_base:g}, not 10000."
    return needs_wavelengths(config)


def needs_final_norm(config: TransformerConfig) -> str:
    """A norm after the last layer of a stack."""
    return "" if config.final_norm else "No stack of this model ends with a norm of its own."


def needs_norms(config: TransformerConfig) -> str:
    """Norms of any kind."""
    return "" if config.has_norms else "This model has no norms."


def needs_layer_norm(config: TransformerConfig) -> str:
    """Layer norms that divide by the biased standard deviation."""
    if not config.has_norms:
        return needs_norms(config)
    if config.norm == "layer_unbiased":
        return "This model was trained with the unbiased deviation."
    return "" if config.norm == "layer" else "This model has RMS norms, which take no deviation."
