"""The sizes and architecture choices that describe a Transformer, with their sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NormPosition = Literal["pre", "post", "both", "output", "none"]
Norm = Literal["layer", "rms", "layer_unbiased"]
SinusoidLayout = Literal["interleaved", "halves", "halves_to_base"]

NORM_PLACES: dict[str, str] = {
    "pre": "pre-norm",
    "post": "post-norm",
    "both": "norms before and after",
    "output": "norms of sublayer outputs",
    "none": "no norms around sublayers",
}
"""Norm positions in words."""
POSITION_WORDS: dict[str, str] = {
    "sinusoidal": "sinusoidal positions",
    "learned": "learned positions",
    "relative": "relative positions",
    "alibi": "ALiBi",
    "rotary": "rotary positions",
    "none": "no positions",
}
"""Kinds of positions in words."""


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Sizes and choices of a Transformer, not yet checked; see `TransformerConfig`.

    Attributes:
        src_vocab_size: rows of the source embedding; 0 without an encoder.
        tgt_vocab_size: rows of the target embedding; 0 without a decoder.
        d_model: width of the residual stream (paper, section 3.1: 512).
        n_heads: attention heads per layer (section 3.2.2: 8).
        n_kv_heads: key and value heads, each shared by n_heads / n_kv_heads query heads (grouped-query
            attention, Ainslie et al. 2023, arXiv:2305.13245); 0 becomes n_heads.
        d_head: width of a head, the paper's d_k = d_v; 0 becomes d_model / n_heads.
        merge_heads: "transposed" as in the paper: the outputs of a token's heads are concatenated.
            "untransposed", a published bug with which models were trained: only reshaped, which scatters each
            head's rows over other tokens, depending on the length of the sentence.
        attention_scale: True divides q k by sqrt(d_head) (equation 1), False doesn't (T5); a number is the
            factor itself (Gemma Team 2024, arXiv:2408.00118).
        attention_soft_cap: c in c tanh(scores / c), which keeps scores between -c and c before the softmax
            (the same report, section 2); 0 for none.
        attention_windows: for each layer, the encoder's first: its queries see only keys fewer than so many
            positions away in self-attention (Longformer, Beltagy et al. 2020, arXiv:2004.05150, section 3.1;
            Mistral, Jiang et al. 2023, arXiv:2310.06825); 0 for a layer that sees all.
        query_key_norm: True normalises each head's queries and keys, before any rotation (Henry et al. 2020,
            arXiv:2010.04245; Dehghani et al. 2023, arXiv:2302.05442), with weights that all heads share;
            "each_head" does so with weights of each head's own (Stable LM 2 12B); "across_heads" normalises
            those of all heads together, before they are split (OLMo 2, arXiv:2501.00656, section 2.1).
        n_encoder_layers: the paper's N for the encoder; 0 makes a decoder-only model.
        n_decoder_layers: N for the decoder, which may differ; 0 makes an encoder-only model.
        d_ff: hidden width of the position-wise feed-forward (section 3.3: 2048).
        shared_layers: all layers of a stack share one set of weights (ALBERT, Lan et al. 2019,
            arXiv:1909.11942, section 3.1).
        max_len: longest sentence accepted, in tokens.
        dropout: P_drop of section 5.4, for sublayer outputs and embeddings; in training only.
        activation: activation of the feed-forward; "gelu_tanh" is the tanh approximation of GELU,
            "relu_squared" the square of ReLU (Primer, So et al. 2021, arXiv:2109.08668, section 4.2).
        gated: multiply the feed-forward's hidden values by a second projection: GEGLU, SwiGLU
            (Shazeer 2020, arXiv:2002.05202).
        n_experts: feed-forwards per layer, of which a router chooses some for each token (mixture of experts,
            Shazeer et al. 2017, arXiv:1701.06538); 0 for one feed-forward.
        n_active_experts: experts chosen for a token, weighted by the softmax of their logits (Mixtral, Jiang
            et al. 2024, arXiv:2401.04088, section 2.1).
        norm: "layer" (Ba et al. 2016); "rms", without mean and beta (Zhang and Sennrich 2019); or
            "layer_unbiased", divided by the unbiased deviation plus eps (the Annotated Transformer).
        norm_position: "post" as in the paper, LayerNorm(x + Sublayer(x)); "pre",
            x + Sublayer(LayerNorm(x)); "both", x + LayerNorm(Sublayer(LayerNorm(x))) with two norms
            (Gemma Team 2024, arXiv:2408.00118, section 2); "output", x + LayerNorm(Sublayer(x)) (OLMo 2,
            arXiv:2501.00656, section 2.1); or "none", x + Sublayer(x), as in models compiled from programs
            (Tracr, Lindner et al. 2023, arXiv:2301.05062).
        residual_scale: factor of a sublayer's output before it is added to the stream.
        parallel_residual: self-attention and feed-forward read the same stream, each through its own norm,
            and both are added to it (GPT-NeoX, Black et al. 2022, arXiv:2204.06745, section 2.1); pre-norm
            decoders only.
        first_norm: False for pre-norm models whose first self-attention reads the embeddings without a norm,
            since these are normed (ModernBERT, Warner et al. 2024, arXiv:2412.13663, section 2.1.1).
        final_norm: a norm after the last layer of both stacks, or of the named stack. Pre-norm needs it.
        norm_eps: added to the variance ("rms": the mean square) under the root; "layer_unbiased": to the
            deviation itself.
        positions: "sinusoidal" (section 3.5) and "learned" are added to the embeddings; "relative" adds a
            learned bias by distance to the scores of self-attention (Raffel et al. 2020, arXiv:1910.10683),
            "alibi" one that falls linearly, not learned (Press et al. 2022, arXiv:2108.12409);
            "rotary" rotates queries and keys (Su et al. 2021, arXiv:2104.09864).
        position_base: the 10000 in section 3.5's wavelengths, for sinusoidal and rotary positions.
        position_bases: rotary base of each layer, the encoder's first, where they differ; 0 for a layer
            without rotation (Gemma 3, Kamath et al. 2025, arXiv:2503.19786, section 2; NoPE layers).
        position_offset: sinusoidal position of the first token; 0 in the paper.
        rotary_dims: leading dimensions of each head that are rotated (GPT-NeoX, section 2.1); 0 for all.
        rotary_stretch: factor that lengthens rotary wavelengths, for texts longer than those of pretraining
            (position interpolation, Chen et al. 2023, arXiv:2306.15595); 1 for none. Layers with a base other
            than `position_base` are never stretched (Gemma 3).
        stretch_start: rotary wavelengths up to this one are not stretched ("NTK by parts", Peng et al. 2023,
            arXiv:2309.00071, section 3.2).
        stretch_full: rotary wavelengths from this one on are stretched fully, those between the two partly.
        sinusoid_layout: "interleaved" as in section 3.5; "halves": all sines, then all cosines; or
            "halves_to_base", as in the first published code (tensor2tensor): the same with exponents i /
            (d_model / 2 - 1), so that the last wavelength is exactly 2 pi base.
        n_position_buckets: number of buckets of relative distances, each with its own bias; far distances
            share buckets.
        max_position_distance: distances from this one on share the last bucket.
        relative_bias_per_layer: each layer learns a relative bias of its own (umT5, Chung et al. 2023,
            arXiv:2304.09151); otherwise all layers of a stack share one.
        d_embedding: width of the embeddings, their norm, segments and positions if it differs from d_model,
            to which a projection maps them (ALBERT, section 3.1). 0 for d_model.
        embedding_scale: True multiplies embeddings by sqrt(d_model) (section 3.4), False doesn't; a number is
            the factor itself.
        embedding_norm: normalise the embeddings.
        n_segments: rows of BERT's segment embedding (sentences A and B); the first row is added to every
            token. 0 for none.
        bias: whether linear layers have a bias (layer norms always have beta).
        attention_bias: the same for attention; None for `bias`.
        generator_bias: the same for the generator; None for `bias`.
        has_generator: whether there is a generator; without it the model returns hidden states.
        generator_transform: a dense layer (to the embedding width), activation and norm before the generator.
        logits_scale: True divides hidden states by sqrt(d_model) before the generator (the counterpart of
            embedding_scale for a tied generator), False doesn't; a number is the factor itself.
        logits_soft_cap: c in c tanh(logits / c); 0 for none.
        share_embeddings: one embedding matrix for source and target, which requires equal vocabularies.
        tie_generator: the generator's matrix is the embedding's (section 3.4).
        pad_id: id that pads short sentences in a batch, on both sides; -1 for none.
        memory_padding_mask: cross-attention masks the source's padding. Some models were trained without it:
            their output for a short sentence depends on its batch.
    """

    src_vocab_size: int
    tgt_vocab_size: int
    d_model: int
    n_heads: int
    n_encoder_layers: int
    n_decoder_layers: int
    d_ff: int
    max_len: int
    dropout: float = 0.1
    n_kv_heads: int = 0
    d_head: int = 0
    merge_heads: Literal["transposed", "untransposed"] = "transposed"
    attention_scale: bool | float = True
    attention_soft_cap: float = 0.0
    attention_windows: tuple[int, ...] = ()
    query_key_norm: bool | Literal["each_head", "across_heads"] = False
    activation: Literal["relu", "gelu", "gelu_tanh", "silu", "relu_squared"] = "relu"
    gated: bool = False
    n_experts: int = 0
    n_active_experts: int = 0
    shared_layers: bool = False
    norm: Norm = "layer"
    norm_position: NormPosition = "post"
    residual_scale: float = 1.0
    parallel_residual: bool = False
    first_norm: bool = True
    final_norm: bool | Literal["encoder", "decoder"] = False
    norm_eps: float = 1e-5
    positions: Literal["sinusoidal", "learned", "relative", "alibi", "rotary", "none"] = "sinusoidal"
    position_base: float = 10_000.0
    position_bases: tuple[float, ...] = ()
    position_offset: int = 0
    rotary_dims: int = 0
    rotary_stretch: float = 1.0
    stretch_start: float = 0.0
    stretch_full: float = 0.0
    sinusoid_layout: SinusoidLayout = "interleaved"
    n_position_buckets: int = 32
    max_position_distance: int = 128
    relative_bias_per_layer: bool = False
    d_embedding: int = 0
    embedding_scale: bool | float = True
    embedding_norm: bool = False
    n_segments: int = 0
    bias: bool = True
    attention_bias: bool | None = None
    generator_bias: bool | None = None
    has_generator: bool = True
    generator_transform: bool = False
    logits_scale: bool | float = False
    logits_soft_cap: float = 0.0
    share_embeddings: bool = False
    tie_generator: bool = True
    pad_id: int = 0
    memory_padding_mask: bool = True
