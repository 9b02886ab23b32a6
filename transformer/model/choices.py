"""The sizes and choices that a Transformer is described by, each with where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NormPosition = Literal["pre", "post", "both"]
Norm = Literal["layer", "rms", "layer_unbiased"]
SinusoidLayout = Literal["interleaved", "halves", "halves_to_base"]

NORM_PLACES: dict[str, str] = {"pre": "pre-norm", "post": "post-norm", "both": "norms before and after"}
"""Where a layer's norms stand, in words."""


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Sizes and choices of one Transformer; `TransformerConfig` checks them.

    Attributes:
        src_vocab_size: rows of the source embedding; 0 when there is no encoder.
        tgt_vocab_size: rows of the target embedding; 0 when there is no decoder.
        d_model: width of the residual stream (paper, section 3.1: 512).
        n_heads: attention heads a layer (section 3.2.2: 8).
        n_kv_heads: heads of keys and values, each shared by n_heads / n_kv_heads heads of queries (grouped
            queries, Ainslie et al. 2023, arXiv:2305.13245); 0 becomes n_heads: each its own.
        d_head: width of a head, the paper's d_k = d_v; 0 becomes d_model / n_heads.
        merge_heads: "transposed" as in the paper: a token gets its heads' outputs side by side.
            "untransposed", as published by mistake and trained with: they are only reshaped, which deals the
            rows of each head out to other tokens, by a rule that depends on the length of the sentence.
        attention_scale: whether q k is divided by sqrt(d_head) (equation 1; T5 trains without); or what it is
            multiplied by instead (Gemma Team 2024, arXiv:2408.00118).
        attention_soft_cap: c of c tanh(scores / c), which keeps scores between -c and c before the softmax
            (the same report, section 2); 0 for none.
        query_key_norm: whether each head's queries and keys go through a norm of their own, before rotary
            positions turn them (Henry et al. 2020, arXiv:2010.04245; Dehghani et al. 2023, arXiv:2302.05442).
        n_encoder_layers: the paper's N for the encoder; 0 makes a decoder-only model.
        n_decoder_layers: N for the decoder, independent of the encoder's; 0 makes an encoder-only model.
        d_ff: hidden width of the position-wise feed-forward (section 3.3: 2048).
        shared_layers: whether all layers of a stack are one and the same, run again and again (ALBERT, Lan et
            al. 2019, arXiv:1909.11942, section 3.1).
        max_len: the longest sentence, in tokens, that is accepted.
        dropout: P_drop of section 5.4: of sublayers' outputs and of the embeddings, in training only.
        activation: of the feed-forward; "gelu_tanh" is GELU's approximation by tanh.
        gated: whether the feed-forward multiplies its hidden numbers by a second projection: GEGLU, SwiGLU
            (Shazeer 2020, arXiv:2002.05202).
        norm: "layer" (Ba et al. 2016); "rms", without mean and beta (Zhang and Sennrich 2019); or
            "layer_unbiased", divided by the unbiased deviation plus eps (the Annotated Transformer).
        norm_position: "post" as in the paper, LayerNorm(x + Sublayer(x)); "pre",
            x + Sublayer(LayerNorm(x)); or "both", x + LayerNorm(Sublayer(LayerNorm(x))), the two being
            different norms (Gemma Team 2024, arXiv:2408.00118, section 2).
        residual_scale: what a sublayer's output is multiplied by before it is added to the stream.
        parallel_residual: whether self-attention and feed-forward read the same stream, each through its own
            norm, and both are added to it (GPT-NeoX, Black et al. 2022, arXiv:2204.06745, section 2.1); of
            pre-norm decoders.
        final_norm: one more norm after the last layer of each stack (needed by pre-norm, harmless in
            post-norm), or of the named one alone.
        norm_eps: added to the variance ("rms": the mean square) under the root; "layer_unbiased": to the
            deviation itself.
        positions: sinusoidal (section 3.5), learned, or none at the embedding; "relative" adds a learned bias
            to the scores of self-attention by distance (Raffel et al. 2020, arXiv:1910.10683), "rotary" turns
            queries and keys (Su et al. 2021, arXiv:2104.09864).
        position_base: the 10000 of section 3.5's wavelengths; of sinusoidal and rotary positions.
        position_bases: the base of each decoder layer's rotary positions, where they differ; 0 for a layer
            that turns nothing (Gemma 3, Kamath et al. 2025, arXiv:2503.19786, section 2; NoPE layers).
        position_offset: the position of the first token, of sinusoids; the paper's 0.
        rotary_dims: how many leading numbers of each head are turned, the others stay as they are (GPT-NeoX,
            section 2.1); 0 for all.
        rotary_stretch: how many times longer rotary wavelengths are made, for longer texts than those first
            trained on (position interpolation, Chen et al. 2023, arXiv:2306.15595); 1 for not at all.
            Layers whose base is another than `position_base` are never stretched (Gemma 3).
        stretch_start: rotary wavelengths up to this one stay as they are ("NTK by parts", Peng et al. 2023,
            arXiv:2309.00071, section 3.2).
        stretch_full: from this one on they are stretched in full, and between the two in part.
        sinusoid_layout: "interleaved" as in section 3.5; "halves": all sines, then all cosines; or
            "halves_to_base", as first published in code (tensor2tensor): the same with the exponents
            i / (d_model / 2 - 1), so that the last wavelength is 2 pi base exactly.
        n_position_buckets: distances that have a relative bias of their own, near ones each, far ones shared.
        max_position_distance: from it on all distances share the last bucket.
        d_embedding: width of the embeddings, their norm, segments and positions, where it is smaller than the
            stream's; a projection then widens them to d_model (ALBERT, section 3.1). 0 for d_model.
        embedding_scale: whether embeddings are multiplied by sqrt(d_model) (section 3.4), or what they are
            multiplied by instead.
        embedding_norm: whether a norm follows the embeddings.
        n_segments: kinds of token (BERT's sentence A and B) with a vector each; the first one's is added to
            every token. 0 for none.
        bias: whether linear layers have a bias (layer norms always have beta).
        attention_bias: the same for those of attention; as `bias` when None.
        generator_bias: the same for the generator; as `bias` when None.
        has_generator: whether hidden states become logits; a model without returns its hidden states.
        generator_transform: whether a dense layer (to the embeddings' width), the activation and a norm stand
            before the generator.
        logits_scale: whether hidden states are divided by sqrt(d_model) before the generator (a tied
            generator's counterpart of embedding_scale), or what they are multiplied by instead.
        logits_soft_cap: c of c tanh(logits / c); 0 for none.
        share_embeddings: one matrix for source and target words (needs equal vocabularies).
        tie_generator: the generator's matrix is the embedding's (section 3.4).
        pad_id: the id that fills up short sentences of a batch, on both sides; -1 where no id does.
        memory_padding_mask: whether cross-attention is kept from the source's padding; some models were
            trained without, and what they make of a short sentence then depends on its batch.
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
    query_key_norm: bool = False
    activation: Literal["relu", "gelu", "gelu_tanh", "silu"] = "relu"
    gated: bool = False
    shared_layers: bool = False
    norm: Norm = "layer"
    norm_position: NormPosition = "post"
    residual_scale: float = 1.0
    parallel_residual: bool = False
    final_norm: bool | Literal["encoder", "decoder"] = False
    norm_eps: float = 1e-5
    positions: Literal["sinusoidal", "learned", "relative", "rotary", "none"] = "sinusoidal"
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
