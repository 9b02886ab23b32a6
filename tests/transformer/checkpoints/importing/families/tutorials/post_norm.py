"""Samples of tutorials whose norms follow the sublayers."""

from __future__ import annotations

import re

import torch

from tests.transformer.checkpoints.importing.families.reference import (
    D_MODEL,
    HEADS,
    MAX_LEN,
    Program,
    Rules,
    S,
    Sample,
    drawn,
    drawn_as,
    fused,
    published,
    sinusoids,
    with_positions,
)
from tests.transformer.checkpoints.importing.families.tutorials.samples import (
    SCALE,
    TORCH,
    attentions,
    learned,
    made,
    numbered_norms,
    projections,
    shared_by_heads,
    tied,
    with_convolutions,
)

EXAMPLE = {"encoder": S, "decoder": S + 1}
"""Tokens in graykode's example sentences; the position table has one more row."""


def aladdinpersson(*, shared: bool = True, bias: bool = False, divided_by: str = "model") -> Sample:
    """Published versions: one matrix shared by all heads, or full-width ones; each with or without biases."""
    rules: Rules = {
        "^src_embedding": "encoder.word_embedding",
        "^tgt_embedding": "decoder.word_embedding",
        "^src_positions": "encoder.position_embedding.weight",
        "^tgt_positions": "decoder.position_embedding.weight",
        "^generator": "decoder.fc_out",
        "^encoder(.*)self_attn_norm": r"encoder\1norm1",
        "^decoder(.*)self_attn_norm": r"decoder\1norm",
        "cross_attn_norm": "transformer_block.norm1",
        "^encoder(.*)feed_forward_norm": r"encoder\1norm2",
        "^decoder(.*)feed_forward_norm": r"decoder\1transformer_block.norm2",
        **attentions("attention", "attention", "transformer_block.attention"),
        **projections("queries", "keys", "values", "fc_out"),
        r"^decoder(.*)feed_forward\.": r"decoder\1transformer_block.feed_forward.",
        r"feed_forward\.w_1": "feed_forward.0",
        r"feed_forward\.w_2": "feed_forward.2",
        **TORCH,
    }
    weights = with_positions(drawn(without=() if bias else ("*attn.w_[qkv].bias",)), learned())
    stored, used = shared_by_heads(weights) if shared else (weights, weights)
    program = Program(score_scale=(D_MODEL if divided_by == "model" else D_MODEL // HEADS) ** -0.5, pad_id=0)
    n_heads = None if shared else HEADS
    return made(
        "aladdinpersson", used, rules, program, stored=stored, n_heads=n_heads, scores_divided_by=divided_by
    )


def bentrevett(version: str = "current") -> Sample:
    """The current version, one whose layers share a norm, and the first, which has convolutions too."""
    rules: Rules = {
        "^src_": "encoder.",
        "^tgt_": "decoder.",
        r"\.embedding": ".tok_embedding",
        r"\.positions": ".pos_embedding.weight",
        **TORCH,
    }
    if version == "first":
        rules = {
            **rules,
            "^generator": "decoder.fc",
            r"[a-z_]+_norm\.": "ln.",
            **attentions("sa", "sa", "ea"),
            "w_o": "fc",
            r"feed_forward\.w": "pf.fc",
        }
    else:
        rules = {
            **rules,
            "^generator": "decoder.fc_out",
            "cross_attn_norm": "enc_attn_layer_norm",
            "self_attn_norm": "self_attn_layer_norm" if version == "current" else "layer_norm",
            "feed_forward_norm": "ff_layer_norm",
            r"self_attn\.w": "self_attention.fc",
            r"cross_attn\.w": "encoder_attention.fc",
            r"feed_forward\.w": "positionwise_feedforward.fc",
        }
    weights, dropped = with_positions(drawn(), learned()), tuple[str, ...]()
    if version != "current":
        used = {name: re.sub("(cross_attn|feed_forward)_norm", "self_attn_norm", name) for name in weights}
        weights = {name: weights[norm] for name, norm in used.items()}
        dropped = ("*cross_attn_norm*", "*feed_forward_norm*")
    found = made("bentrevett", weights, rules, Program(embedding_scale=SCALE, pad_id=1), without=dropped)
    return with_convolutions(found, ".pf.")


def d2l(*, bias: bool = False, named: bool = True, d_model: int = D_MODEL) -> Sample:
    """ "Dive into Deep Learning": the book's blocks have names; copies number them."""
    rules: Rules = {
        "^src_embedding": "encoder.embedding",
        "^tgt_embedding": "decoder.embedding",
        "^generator": "decoder.dense",
        **numbered_norms("addnorm{}.ln"),
        **attentions("attention", "attention1", "attention2"),
        "w_([qkvo])": r"W_\1",
        r"feed_forward\.w_": "ffn.dense",
        r"\.layers\.": ".blks.block" if named else ".blks.",
        **TORCH,
    }
    weights = drawn(d_model=d_model, without=() if bias else ("*attn.w_?.bias",))
    weights = with_positions(weights, sinusoids(d_model=d_model))
    program = Program(embedding_scale=d_model**0.5, pad_id=1)
    return made("d2l", weights, rules, program, without=("*_positions",))


def graykode(*, stores_norms: bool = True, copied: bool = False, rows: str = "of_example") -> Sample:
    """The repository's version, which adds selected rows of the table, or a copy without biases."""
    rules: Rules = {
        "^src_embedding": "encoder.src_emb",
        "^tgt_embedding": "decoder.tgt_emb",
        "^src_positions": "encoder.pos_emb.pe" if copied else "encoder.pos_emb.weight",
        "^tgt_positions": "decoder.pos_emb.pe" if copied else "decoder.pos_emb.weight",
        "^generator": "projection",
        "feed_forward_norm": "pos_ffn.layer_norm",
        "attn_norm": "attn.layer_norm",
        **attentions("enc_self_attn", "dec_self_attn", "dec_enc_attn"),
        **projections("W_Q", "W_K", "W_V", "fc" if copied else "linear"),
        r"feed_forward\.w_1": "pos_ffn.fc.0" if copied else "pos_ffn.conv1",
        r"feed_forward\.w_2": "pos_ffn.fc.2" if copied else "pos_ffn.conv2",
        **TORCH,
    }
    width = HEADS * (11 if copied else 14)
    without = ("generator.bias", *(("*attn.w*.bias", "*feed_forward.w*.bias") if copied else ()))
    used = drawn(widths=(width, width), without=without)
    if not stores_norms:
        used |= {name: torch.ones_like(weight) for name, weight in used.items() if "gamma" in name}
        used |= {name: torch.zeros_like(weight) for name, weight in used.items() if "beta" in name}
    stored = dict(used)
    for side, length in zip(("src", "tgt"), EXAMPLE.values(), strict=True):
        table = sinusoids(length + 1) if copied else drawn_as({side: (length + 1, D_MODEL)})[side]
        order = [*range(length)]
        if rows == "from_1" and not copied:
            order = [*range(1, length + 1)]
        elif rows == "of_example" and not copied:
            order = [*range(1, length), 0] if side == "src" else [length, *range(1, length)]
        stored[f"{side}_positions"], used[f"{side}_positions"] = table, table[order]
    found = made(
        "graykode", used, rules, Program(pad_id=0), stored=stored, batch_axis=1,
        without=() if stores_norms else ("*_norm.*",), rows_of_pos_emb=None if copied else rows,
    )  # fmt: skip
    return with_convolutions(found, ".conv")


def hyunwoongko(*, norm: str = "layer", stored: bool = False) -> Sample:
    """Norms of two kinds; sinusoids computed or stored."""
    rules: Rules = {
        "^src_embedding": "encoder.emb.tok_emb",
        "^tgt_embedding": "decoder.emb.tok_emb",
        "^src_positions": "encoder.emb.pos_emb.encoding",
        "^tgt_positions": "decoder.emb.pos_emb.encoding",
        "^generator": "decoder.linear",
        **numbered_norms("norm{}"),
        **attentions("attention", "self_attention", "enc_dec_attention"),
        "w_o": "w_concat",
        r"feed_forward\.w_": "ffn.linear",
    }
    program = Program(norm="unbiased" if norm == "layer_unbiased" else "layer", eps=1e-12, pad_id=1)
    without = () if stored else ("*_positions",)
    weights = with_positions(drawn(), sinusoids())
    return made("hyunwoongko", weights, rules, program, without=without, norm=norm)


JADORE801120: Rules = {
    "^src_embedding.weight": "encoder.src_word_emb.weight",
    "^tgt_embedding.weight": "decoder.trg_word_emb.weight",
    "^src_positions": "encoder.position_enc.pos_table",
    "^tgt_positions": "decoder.position_enc.pos_table",
    "^generator": "trg_word_prj",
    r"\.layers\.": ".layer_stack.",
    "final_norm": "layer_norm",
    "feed_forward_norm": "pos_ffn.layer_norm",
    "attn_norm": "attn.layer_norm",
    **attentions("slf_attn", "slf_attn", "enc_attn"),
    "w_([qkv])": r"w_\1s",
    "w_o": "fc",
    "feed_forward": "pos_ffn",
    **TORCH,
}


def jadore801120(
    *, norm_first: bool = False, d_k: int = D_MODEL // HEADS, scaled: str | None = None
) -> Sample:
    """The current code, whose stacks' norms follow the embeddings unless all norms are first.

    With `scaled` ("prj", "emb" or "none"), generator and embedding are one matrix.
    """
    width = d_k * HEADS
    weights = drawn(widths=(width, width), final_norm=True, without=("*attn.w*.bias", "generator.bias"))
    weights = with_positions(weights, sinusoids())
    if scaled is not None:
        weights = tied(weights, "tgt_embedding.weight", "generator.weight")
    places: Rules = {"encoder.final_norm": "src_embedding.norm", "decoder.final_norm": "tgt_embedding.norm"}
    used = weights if norm_first else published(weights, places)
    program = Program(
        norm_first=norm_first,
        eps=1e-6,
        embedding_scale=SCALE if scaled == "emb" else 1.0,
        logits_scale=1 / SCALE if scaled == "prj" else 1.0,
        pad_id=1,
    )
    return made(
        "jadore801120", used, JADORE801120, program, stored=weights, scale_emb_or_prj=scaled,
        norm_position="pre" if norm_first else None,
    )  # fmt: skip


def jadore801120_of_2018() -> Sample:
    """With biases and convolutions, without outer norms; positions count from 1, row 0 is for padding."""
    rules = {**JADORE801120, "trg": "tgt", "pos_table": "weight"}
    table = sinusoids(MAX_LEN + 1)
    weights = drawn(without=("generator.bias",))
    stored = with_positions(weights, torch.cat([torch.zeros(1, D_MODEL), table[1:]]))
    found = made("jadore801120", with_positions(weights, table[1:]), rules, Program(pad_id=1), stored=stored)
    return with_convolutions(found, ".pos_ffn.w_")


def fused_tutorial(*, transposes_back: bool = True, norm_first: bool = False, eps: float = 1e-5) -> Sample:
    """Fused projections; one version merges heads without transposing back."""
    rules: Rules = {
        "^src_embedding": "encoder.sentence_embedding.embedding",
        "^tgt_embedding": "decoder.sentence_embedding.embedding",
        "^generator": "linear",
        r"^decoder(.*\.)(\w+_norm)": r"decoder\1layer_\2",
        **numbered_norms("norm{}"),
        **attentions("attention", "self_attention", "encoder_decoder_attention"),
        "w_q": "q_layer",
        "w_o": "linear_layer",
        r"feed_forward\.w_": "ffn.linear",
    }
    weights = with_positions(drawn(), sinusoids())
    stored = fused(weights, "qkv_layer", "qkv", within="self_attn", heads=HEADS)
    stored = fused(stored, "kv_layer", "kv", within="cross_attn", heads=HEADS)
    return made(
        "fused_tutorial", weights, rules,
        Program(norm_first=norm_first, eps=eps, transposes_back=transposes_back, pad_id=1),
        stored=stored, without=("*_positions",), norm_position="pre" if norm_first else "post", norm_eps=eps,
        merge_heads="transposed" if transposes_back else "untransposed",
    )  # fmt: skip
