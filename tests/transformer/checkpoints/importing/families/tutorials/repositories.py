"""Samples of Transformers as the code of published repositories saves and computes them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from tests.transformer.checkpoints.importing.families.reference import (
    D_MODEL,
    HEADS,
    Program,
    Reference,
    Rules,
    Sample,
    Weights,
    drawn,
    drawn_as,
    published,
    sinusoids,
    with_positions,
)

SCALE = math.sqrt(D_MODEL)
TORCH = {"gamma$": "weight", "beta$": "bias"}
"""Names of the parameters of torch's own norm."""
OWN_ROW = {"row_of_source": "own"}


def doubled_exponents() -> Tensor:
    """(19, D), the table of devjwsong's PositionalEncoder."""
    table = torch.zeros(19, D_MODEL)
    for position in range(19):
        for i in range(D_MODEL):
            angle = position / 10_000 ** (2 * i / D_MODEL)
            table[position, i] = math.cos(angle) if i % 2 else math.sin(angle)
    return table


def tied(weights: Weights, *names: str) -> Weights:
    """The weights with one tensor under all of these names."""
    return weights | dict.fromkeys(names, weights[names[0]])


def brandokoch() -> Sample:
    numbers = {"self": 1, "cross": 2}
    rules: Rules = {
        "^(src|tgt)_positions": r"\1_pos_embedding.pe_table",
        "^tgt": "trg",
        "^generator": "linear",
        r"layers\.(\d+)\.(self|cross)_attn_norm": (
            lambda found: f"blocks.{found[1]}.add_and_norm_{numbers[found[2]]}.layer_norm"
        ),
        r"layers\.(\d+)\.(self|cross)_attn\.w_o": (
            lambda found: f"blocks.{found[1]}.mha_layer_{numbers[found[2]]}.W_0"
        ),
        r"layers\.(\d+)\.(self|cross)_attn\.w_(.)": (
            lambda found: f"blocks.{found[1]}.W_{found[3]}_{numbers[found[2]]}"
        ),
        r"^encoder(.*)layers\.(\d+)\.feed_forward_norm": r"encoder\1blocks.\2.add_and_norm_2.layer_norm",
        r"^decoder(.*)layers\.(\d+)\.feed_forward_norm": r"decoder\1blocks.\2.add_and_norm_3.layer_norm",
        r"layers\.(\d+)\.feed_forward": r"blocks.\1.ffn_layer",
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
        "w_q": "query_projection",
        "w_k": "key_projection",
        "w_v": "value_projection",
        "w_o": "final_projection",
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
    return made("dreamgonfly", weights, rules, program, **({} if is_tied else OWN_ROW))


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
    stored = published(weights, rules, without=("generator*",))
    weights = with_positions(weights, sinusoids(halves=True))
    program = Program(norm_first=True, eps=1e-6, embedding_scale=SCALE, pad_id=1)
    answers = {"n_heads": HEADS, "pad_id": 1, "decoder_begins_with": "word"}
    return Sample("tunz", Reference(weights, program), stored | {"inv_timescales": torch.ones(21)}, answers)


def devjwsong(*, exponents: str = "doubled") -> Sample:
    rules: Rules = {
        "^tgt": "trg",
        "^generator": "output_linear",
        r"\.final_norm": ".layer_norm.layer",
        "self_attn_norm": "layer_norm_1.layer",
        "cross_attn_norm": "layer_norm_2.layer",
        "^encoder(.*)feed_forward_norm": r"encoder\1layer_norm_2.layer",
        "^decoder(.*)feed_forward_norm": r"decoder\1layer_norm_3.layer",
        "^encoder(.*)self_attn": r"encoder\1multihead_attention",
        "^decoder(.*)self_attn": r"decoder\1masked_multihead_attention",
        "cross_attn": "multihead_attention",
        "w_o": "w_0",
        r"feed_forward\.w_": "feed_forward.linear_",
        **TORCH,
    }
    table = doubled_exponents() if exponents == "doubled" else sinusoids()
    weights = with_positions(drawn(final_norm=True), table)
    program = Program(norm_first=True, eps=1e-6, embedding_scale=SCALE, pad_id=0)
    return made("devjwsong", weights, rules, program, without="*_positions", exponents=exponents)


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
    kernels = {
        name: weight[..., None]
        for name, weight in found.state_dict.items()
        if ".conv" in name and weight.dim() == 2
    }
    return found._replace(state_dict=found.state_dict | kernels)


def codertimo(*, norm_first: bool = True) -> Sample:
    rules: Rules = {
        "^src_embedding": "bert.embedding.token",
        "^src_positions": f"bert.embedding.position.{'pe' if norm_first else 'weight'}",
        "^generator": "mask_lm.linear",
        r"^encoder\.layers": "bert.transformer_blocks",
        "self_attn_norm": "input_sublayer.norm",
        "feed_forward_norm": "output_sublayer.norm",
        "self_attn": "attention",
        "w_q": "linear_layers.0",
        "w_k": "linear_layers.1",
        "w_v": "linear_layers.2",
        "w_o": "output_linear",
        "gamma$": "a_2",
        "beta$": "b_2",
    }
    table = sinusoids() if norm_first else drawn_as({"table": (19, D_MODEL)})["table"]
    weights = with_positions(drawn(depths=(3, 0)), table)
    segments = drawn_as({"segments": (3, D_MODEL)}, seed=1)["segments"]
    stored = {name: part[None] if ".pe" in name else part for name, part in published(weights, rules).items()}
    stored |= {"bert.embedding.segment.weight": segments, "next_sentence.linear.bias": torch.ones(2)}
    weights["src_positions"] = weights["src_positions"] + segments[1]
    gelu = functools.partial(functional.gelu, approximate="tanh")
    program = Program(norm_first=norm_first, norm="unbiased", eps=1e-6, activation=gelu, pad_id=0)
    return Sample("codertimo", Reference(weights, program), stored, {"n_heads": HEADS})


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
        "^encoder(.*)self_attn": r"encoder\1src_src_att",
        "^decoder(.*)self_attn": r"decoder\1trg_trg_att",
        "cross_attn": "src_trg_att",
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
        "w_q": "toqueries",
        "w_k": "tokeys",
        "w_v": "tovalues",
        "w_o": "unifyheads",
        "q_norm": "qln",
        "k_norm": "kln",
        **TORCH,
    }
    width = HEADS * D_MODEL if kind == "wide" else D_MODEL
    weights = drawn(depths=(0, 2), widths=(width, width), without=("*attn.w_[qkv].bias",))
    weights = with_positions(weights, drawn_as({"table": (19, D_MODEL)})["table"])
    head = D_MODEL // HEADS
    if kind == "normed":
        shapes = {
            f"decoder.layers.{i}.self_attn.{letter}_norm.{part}": (head,)
            for i in range(2)
            for letter in "qk"
            for part in ("gamma", "beta")
        }
        weights |= drawn_as(shapes, seed=2)
    stored = published(weights, rules)
    if kind == "narrow":
        for name in [name for name in weights if ".w_" in name and name[-8] in "qkv"]:
            small = weights[name][:head, :head]
            stored |= published({name: small.clone()}, rules)
            weights[name] = torch.block_diag(*[small] * HEADS)
    answers = {} if kind in ("narrow", "normed", "wide") else {"n_heads": HEADS}
    return Sample("former", Reference(weights, Program(score_scale=D_MODEL**-0.5)), stored, answers)


def made(
    family: str, weights: Weights, rules: Rules, program: Program, *, without: str = "", **answers: Any
) -> Sample:
    """A sample whose tables of positions are stored for a batch of one."""
    stored = published(weights, rules, without=(without,))
    stored = {
        name: weight[None] if name.endswith(("table", ".pe")) else weight for name, weight in stored.items()
    }
    known = {"n_heads": HEADS, "pad_id": program.pad_id}
    return Sample(family, Reference(weights, program), stored, known | answers)


SAMPLES: dict[str, Callable[[], Sample]] = {
    "brandokoch": brandokoch,
    "dreamgonfly": dreamgonfly,
    "dreamgonfly, untied": lambda: dreamgonfly(is_tied=False),
    "tunz": tunz,
    "devjwsong": devjwsong,
    "devjwsong, as in the paper": lambda: devjwsong(exponents="paper"),
    "sooftware": sooftware,
    "sooftware, convolutions": lambda: sooftware(convolutions=True),
    "codertimo": codertimo,
    "codertimo, post-norm": lambda: codertimo(norm_first=False),
    "joeynmt": joeynmt,
    "joeynmt, post-norm": lambda: joeynmt(norm_first=False, is_tied=True),
    "former": former,
    "former, wide": lambda: former("wide"),
    "former, narrow": lambda: former("narrow"),
    "former, normed": lambda: former("normed"),
}
