"""Samples of tutorials whose norms precede the sublayers."""

from __future__ import annotations

from tests.transformer.checkpoints.importing.families.reference import (
    D_MODEL,
    Program,
    Rules,
    Sample,
    drawn,
    sinusoids,
    with_positions,
)
from tests.transformer.checkpoints.importing.families.tutorials.samples import (
    SCALE,
    TORCH,
    attentions,
    doubled_exponents,
    learned,
    made,
    numbered_norms,
    projections,
)

UNBIASED = Program(norm_first=True, norm="unbiased", eps=1e-6, embedding_scale=SCALE, pad_id=1)


def annotated(*, torch_norms: bool = False, norm_first: bool = True, final_norm: bool = True) -> Sample:
    """The Annotated Transformer and its copies: its own norms or torch's, on either side of the sublayers."""
    rules: Rules = {
        "^(...)_embedding": r"\1_embed.0.lut",
        "^(...)_positions": r"\1_embed.1.pe",
        "^generator": "generator.proj",
        **numbered_norms("sublayer.{}.norm", first=0),
        "final_norm": "norm",
        r"cross_attn\.": "src_attn.",
        **projections(*(f"linears.{i}" for i in range(4))),
        **(TORCH if torch_norms else {"gamma$": "a_2", "beta$": "b_2"}),
    }
    program = Program(
        norm_first=norm_first,
        norm="layer" if torch_norms else "unbiased",
        eps=1e-5 if torch_norms else 1e-6,
        embedding_scale=SCALE,
        pad_id=2,
    )
    weights = with_positions(drawn(final_norm=final_norm), sinusoids())
    return made("annotated", weights, rules, program, norm_position="pre" if norm_first else "post")


def gordicaleksa() -> Sample:
    rules: Rules = {
        "^src_embedding": "src_embedding.embeddings_table",
        "^tgt_embedding": "trg_embedding.embeddings_table",
        "^src_positions": "src_pos_embedding.positional_encodings_table",
        "^tgt_positions": "trg_pos_embedding.positional_encodings_table",
        "^generator": "decoder_generator.linear",
        r"^(encoder|decoder)\.layers": r"\1.\1_layers",
        **numbered_norms("sublayers.{}.norm", first=0),
        "final_norm": "norm",
        **attentions("multi_headed_attention", "trg_multi_headed_attention", "src_multi_headed_attention"),
        **projections("qkv_nets.0", "qkv_nets.1", "qkv_nets.2", "out_projection_net"),
        r"feed_forward\.w_": "pointwise_net.linear",
        **TORCH,
    }
    weights = with_positions(drawn(final_norm=True), sinusoids())
    program = Program(norm_first=True, embedding_scale=SCALE, pad_id=1)
    return made("gordicaleksa", weights, rules, program, batch_axis=None)


def hkproj(*, first_version: bool = False) -> Sample:
    """The first version has scalar gamma and beta, attention biases and another name for cross-attention."""
    rules: Rules = {
        "^(...)_embedding": r"\1_embed.embedding",
        "^(...)_positions": r"\1_pos.pe",
        "^generator": "projection_layer.proj",
        **numbered_norms("residual_connections.{}.norm", first=0),
        "final_norm": "norm",
        "self_attn": "self_attention_block",
        "cross_attn": "source_attention_block" if first_version else "cross_attention_block",
        r"feed_forward\.w_": "feed_forward_block.linear_",
        "gamma$": "alpha",
        "beta$": "bias",
    }
    weights = drawn(final_norm=True, without=() if first_version else ("*attn.w_?.bias",))
    used = stored = with_positions(weights, sinusoids())
    if first_version:
        scalars = {name: weight[:1].clone() for name, weight in used.items() if "norm." in name}
        used, stored = used | {name: s.repeat(D_MODEL) for name, s in scalars.items()}, stored | scalars
    return made("hkproj", used, rules, UNBIASED, stored=stored)


LABML = Program(norm_first=True, embedding_scale=SCALE, pad_id=0)
LABML_RULES: Rules = {
    "^(...)_embedding": r"\1_embed.linear",
    "^(...)_positions": r"\1_embed.positional_encodings",
    "^generator": "generator.projection",
    "self_attn_norm": "norm_self_attn",
    "cross_attn_norm": "norm_src_attn",
    "feed_forward_norm": "norm_ff",
    "final_norm": "norm",
    r"cross_attn\.": "src_attn.",
    **projections("query.linear", "key.linear", "value.linear", "output"),
    r"feed_forward\.w_3": "feed_forward.linear_v",
    r"feed_forward\.w_": "feed_forward.layer",
    **TORCH,
}


def labml(*, bias: bool = True, gated: bool = False, is_learned: bool = False) -> Sample:
    weights = drawn(final_norm=True, gated=gated, without=() if bias else ("*attn.w_[qk].bias",))
    weights = with_positions(weights, learned() if is_learned else sinusoids())
    return made("labml", weights, LABML_RULES, LABML, batch_axis=1)


def labml_alone(*, is_causal: bool = False) -> Sample:
    """A language model of encoder layers, with or without a causal mask."""
    weights = with_positions(drawn(depths=(0, 2) if is_causal else (2, 0), final_norm=True), sinusoids())
    rules = {"^tgt": "src", "^decoder": "encoder", **LABML_RULES}
    return made("labml", weights, rules, LABML, batch_axis=1, causal=is_causal)


def samlynnevans(*, exponents: str = "doubled") -> Sample:
    rules: Rules = {
        "^src_embedding": "encoder.embed.embed",
        "^tgt_embedding": "decoder.embed.embed",
        "^src_positions": "encoder.pe.pe",
        "^tgt_positions": "decoder.pe.pe",
        "^generator": "out",
        **numbered_norms("norm_{}"),
        "final_norm": "norm",
        **attentions("attn", "attn_1", "attn_2"),
        "w_([qkv])": r"\1_linear",
        "w_o": "out",
        r"feed_forward\.w_": "ff.linear_",
        "gamma$": "alpha",
        "beta$": "bias",
    }
    table = doubled_exponents() if exponents == "doubled" else sinusoids()
    return made("samlynnevans", with_positions(drawn(final_norm=True), table), rules, UNBIASED)
