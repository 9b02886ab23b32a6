"""Samples of Transformers as the code of published repositories saves and computes them."""

from __future__ import annotations

import functools

import torch
from torch.nn import functional

from tests.transformer.checkpoints.importing.families.reference import (
    D_MODEL,
    HEADS,
    Program,
    Rules,
    Sample,
    drawn,
    drawn_as,
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
    shared_by_heads,
    tied,
    with_convolutions,
)


def brandokoch() -> Sample:
    rules: Rules = {
        "^(src|tgt)_positions": r"\1_pos_embedding.pe_table",
        "^tgt": "trg",
        "^generator": "linear",
        **numbered_norms("add_and_norm_{}.layer_norm"),
        r"self_attn\.w_o": "mha_layer_1.W_0",
        r"cross_attn\.w_o": "mha_layer_2.W_0",
        r"self_attn\.w_(.)": r"W_\1_1",
        r"cross_attn\.w_(.)": r"W_\1_2",
        "feed_forward": "ffn_layer",
        "layers": "blocks",
        r"^(..coder)\.": r"\1.\1_",
        r"^(encoder.*)mha_layer_1": r"\1mha_layer",
        r"^(encoder.*W_.)_1": r"\1",
        r"^(encoder.*)add_and_norm_": r"\1add_and_norm_layer_",
        **TORCH,
    }
    weights = with_positions(drawn(vocabularies=(29, 29)), sinusoids())
    weights = tied(weights, "src_embedding.weight", "tgt_embedding.weight", "generator.weight")
    return made("brandokoch", weights, rules, Program(embedding_scale=SCALE, pad_id=0))


def dreamgonfly(*, is_tied: bool = True) -> Sample:
    rules: Rules = {
        "^src_embedding.weight": "sources_embedding.0.weight",
        "^tgt_embedding.weight": "inputs_embedding.0.weight" if is_tied else "inputs_token_embedding.weight",
        "^src_positions": f"sources_embedding.1.{'pos' if is_tied else 'encoding'}_table",
        "^tgt_positions": (
            "inputs_embedding.1.pos_table" if is_tied else "inputs_positional_encoding.encoding_table"
        ),
        "^src_embedding.norm": "encoder.layer_norm",
        "^tgt_embedding.norm": "decoder.layer_norm",
        "^generator": "target_projection",
        "(self|cross)_attn_norm": r"\1_attention.layer_norm",
        "feed_forward_norm": "feed_forward.layer_norm",
        "(self|cross)_attn": r"\1_attention.attention",
        "cross_": "memory_",
        **projections("query_projection", "key_projection", "value_projection", "final_projection"),
        r"feed_forward\.w_1": "feed_forward.feed_forward.feed_forward.0",
        r"feed_forward\.w_2": "feed_forward.feed_forward.feed_forward.2",
        **TORCH,
    }
    weights = drawn(without=("*attn.w*.bias", "generator.bias"))
    norms = {
        f"{side}_embedding.norm.{part}": (D_MODEL,) for side in ("src", "tgt") for part in ("gamma", "beta")
    }
    weights = with_positions(weights | drawn_as(norms), sinusoids())
    weights = tied(weights, "tgt_embedding.weight", "generator.weight") if is_tied else weights
    program = Program(eps=1e-6, logits_scale=D_MODEL**-0.5 if is_tied else 1.0, pad_id=1)
    return made("dreamgonfly", weights, rules, program, row_of_source=None if is_tied else "own")


def tunz() -> Sample:
    rules: Rules = {
        "^src_embedding": "i_vocab_embedding",
        "^tgt_embedding": "t_vocab_embedding",
        "final_norm": "last_norm",
        "cross_attn": "enc_dec_attention",
        "self_attn": "self_attention",
        "w_o": "output_layer",
        r"attention\.w_": "attention.linear_",
        r"feed_forward\.w_": "ffn.layer",
        "feed_forward_norm": "ffn_norm",
        **TORCH,
    }
    weights = drawn(final_norm=True, without=("*attn.w*.bias", "generator.bias"))
    weights = tied(weights, "tgt_embedding.weight", "generator.weight")
    weights = with_positions(weights, sinusoids(halves=True))
    program = Program(norm_first=True, eps=1e-6, embedding_scale=SCALE, pad_id=1)
    without = ("generator*", "*_positions")
    found = made("tunz", weights, rules, program, without=without, decoder_begins_with="word")
    return found._replace(state_dict=found.state_dict | {"inv_timescales": torch.ones(21)})


def devjwsong(*, exponents: str = "doubled") -> Sample:
    rules: Rules = {
        "^tgt": "trg",
        "^generator": "output_linear",
        r"\.final_norm": ".layer_norm.layer",
        **numbered_norms("layer_norm_{}.layer"),
        **attentions("multihead_attention", "masked_multihead_attention", "multihead_attention"),
        "w_o": "w_0",
        r"feed_forward\.w_": "feed_forward.linear_",
        **TORCH,
    }
    table = doubled_exponents() if exponents == "doubled" else sinusoids()
    weights = with_positions(drawn(final_norm=True), table)
    program = Program(norm_first=True, eps=1e-6, embedding_scale=SCALE, pad_id=0)
    return made("devjwsong", weights, rules, program, without=("*_positions",), exponents=exponents)


def sooftware(*, convolutions: bool = False) -> Sample:
    first, second = ("conv1", "conv2") if convolutions else ("feed_forward.0.linear", "feed_forward.3.linear")
    rules: Rules = {
        "^src_embedding": "encoder.embedding.embedding",
        "^tgt_embedding": "decoder.embedding.embedding",
        "^src_positions": "encoder.positional_encoding.pe",
        "^tgt_positions": "decoder.positional_encoding.pe",
        "^generator": "linear.linear",
        "self_attn": "self_attention",
        "cross_attn": "encoder_attention",
        r"attention\.w_([qkv])": r"attention.sublayer.linear_\1.linear",
        "w_o": "sublayer.linear.linear",
        r"feed_forward\.w_1": f"feed_forward.sublayer.{first}",
        r"feed_forward\.w_2": f"feed_forward.sublayer.{second}",
        "_norm": ".layer_norm",
    }
    weights = with_positions(drawn(), sinusoids())
    program = Program(norm="unbiased", eps=1e-6, embedding_scale=SCALE, pad_id=0)
    found = made("sooftware", weights, rules, program, row_of_pe="own")
    return with_convolutions(found, ".conv")


def codertimo(*, norm_first: bool = True, has_heads: bool = True) -> Sample:
    """Encoder layers, all words in segment 1; saved with their two heads or without, and then unwrapped."""
    rules: Rules = {
        "^src_embedding": "bert.embedding.token",
        "^src_positions": f"bert.embedding.position.{'pe' if norm_first else 'weight'}",
        "^segments": "bert.embedding.segment.weight",
        "^generator": "mask_lm.linear",
        r"^encoder\.layers": "bert.transformer_blocks",
        "self_attn_norm": "input_sublayer.norm",
        "feed_forward_norm": "output_sublayer.norm",
        "self_attn": "attention",
        **projections("linear_layers.0", "linear_layers.1", "linear_layers.2", "output_linear"),
        "gamma$": "a_2",
        "beta$": "b_2",
    }
    weights = drawn(depths=(3, 0), without=() if has_heads else ("generator*",))
    weights = with_positions(weights, sinusoids() if norm_first else learned())
    segments = drawn_as({"segments": (3, D_MODEL)}, seed=1)
    used = weights | {"src_positions": weights["src_positions"] + segments["segments"][1]}
    gelu = functools.partial(functional.gelu, approximate="tanh")
    program = Program(norm_first=norm_first, norm="unbiased", eps=1e-6, activation=gelu, pad_id=0)
    found = made("codertimo", used, rules, program, stored=weights | segments, pad_id=None)
    if not has_heads:
        bare = {name.removeprefix("bert."): weight for name, weight in found.state_dict.items()}
        return found._replace(state_dict=bare)
    head = {"next_sentence.linear.weight": torch.ones(2, D_MODEL), "next_sentence.linear.bias": torch.ones(2)}
    return found._replace(state_dict=found.state_dict | head)


def joeynmt(*, norm_first: bool = True, is_tied: bool = False) -> Sample:
    rules: Rules = {
        "^src_embedding": "src_embed.lut",
        "^tgt_embedding": "trg_embed.lut",
        "^src_positions": "encoder.pe.pe",
        "^tgt_positions": "decoder.pe.pe",
        "^generator": "decoder.output_layer",
        "final_norm": "layer_norm",
        "^encoder(.*)self_attn_norm": r"encoder\1layer_norm",
        "^decoder(.*)self_attn_norm": r"decoder\1x_layer_norm",
        "cross_attn_norm": "dec_layer_norm",
        "feed_forward_norm": "feed_forward.layer_norm",
        **attentions("src_src_att", "trg_trg_att", "src_trg_att"),
        "w_([qkv])": r"\1_layer",
        "w_o": "output_layer",
        r"feed_forward\.w_1": "feed_forward.pwff_layer.0",
        r"feed_forward\.w_2": "feed_forward.pwff_layer.3",
        **TORCH,
    }
    weights = drawn(vocabularies=(29, 29), final_norm=norm_first, without=("generator.bias",))
    weights = with_positions(weights, sinusoids())
    if is_tied:
        weights = tied(weights, "src_embedding.weight", "tgt_embedding.weight", "generator.weight")
    program = Program(norm_first=norm_first, eps=1e-6, embedding_scale=SCALE, pad_id=1)
    return made("joeynmt", weights, rules, program)


def former(kind: str = "default") -> Sample:
    rules: Rules = {
        "^tgt_embedding": "token_embedding",
        "^tgt_positions": "pos_embedding.weight",
        "^generator": "toprobs",
        r"^decoder\.layers": "tblocks",
        "self_attn_norm": "norm1",
        "feed_forward_norm": "norm2",
        r"feed_forward\.w_1": "ff.0",
        r"feed_forward\.w_2": "ff.2",
        "self_attn": "attention",
        **projections("toqueries", "tokeys", "tovalues", "unifyheads"),
        "q_norm": "qln",
        "k_norm": "kln",
        **TORCH,
    }
    width = HEADS * D_MODEL if kind == "wide" else D_MODEL
    weights = drawn(depths=(0, 2), widths=(width, width), without=("*attn.w_[qkv].bias",))
    weights = with_positions(weights, learned())
    if kind == "normed":
        shapes = {
            f"decoder.layers.{i}.self_attn.{letter}_norm.{part}": (D_MODEL // HEADS,)
            for i in range(2)
            for letter in "qk"
            for part in ("gamma", "beta")
        }
        weights |= drawn_as(shapes, seed=2)
    stored, used = shared_by_heads(weights) if kind == "narrow" else (weights, weights)
    n_heads = HEADS if kind == "default" else None
    program = Program(score_scale=D_MODEL**-0.5)
    return made("former", used, rules, program, stored=stored, n_heads=n_heads, pad_id=None)
