"""The names of published repositories' tensors with small shapes, and which weights of ours they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

D, D_FF, SRC, TGT, LENGTH = 12, 20, 23, 29, 17
Shape = tuple[int, ...]
Named = dict[str, tuple[Shape, tuple[str, ...]]]
"""Name of a tensor -> its shape and our weights; () for what the model does without."""
ATTENTION = ("w_q", "w_k", "w_v", "w_o")


def linear(theirs: str, ours: str, rows: int = D, columns: int = D, *, bias: bool = True) -> Named:
    """A linear layer's weight and bias."""
    found: Named = {f"{theirs}.weight": ((rows, columns), (f"{ours}.weight",))}
    return found | ({f"{theirs}.bias": ((rows,), (f"{ours}.bias",))} if bias else {})


def norm(theirs: str, ours: str, gamma: str = "weight", beta: str = "bias") -> Named:
    """A norm's parameters."""
    found: Named = {f"{theirs}.{gamma}": ((D,), (f"{ours}.gamma",))}
    return found | ({f"{theirs}.{beta}": ((D,), (f"{ours}.beta",))} if beta else {})


def attention(theirs: Iterable[str], ours: str, *, bias: bool = True) -> Named:
    """Queries, keys, values and output."""
    found: Named = {}
    for name, part in zip(theirs, ATTENTION, strict=True):
        found |= linear(name, f"{ours}.{part}", bias=bias)
    return found


def feed_forward(up: str, down: str, *, bias: bool = True) -> Named:
    """The two layers of a feed-forward."""
    return linear(up, "feed_forward.w_1", D_FF, D, bias=bias) | linear(
        down, "feed_forward.w_2", D, D_FF, bias=bias
    )


def stack(prefix: str, side: str, layer: Named, depth: int) -> Named:
    """Layers numbered from 0."""
    return {
        f"{prefix}.{i}.{name}": (shape, tuple(f"{side}.layers.{i}.{one}" for one in ours))
        for i in range(depth)
        for name, (shape, ours) in layer.items()
    }


def table(theirs: str, ours: str, rows: int) -> Named:
    """An embedding, or a table of positions."""
    return {theirs: ((rows, D), (ours,) if ours else ())}


def under(prefix: str, names: Iterable[str]) -> list[str]:
    """Names inside a module."""
    return [f"{prefix}.{name}" for name in names]


def _min_gpt() -> Named:
    layer = norm("ln1", "self_attn_norm") | norm("ln2", "feed_forward_norm")
    layer |= attention(under("attn", ("query", "key", "value", "proj")), "self_attn")
    layer |= {"attn.mask": ((1, 1, LENGTH, LENGTH), ())} | feed_forward("mlp.0", "mlp.2")
    outside: Named = {"pos_emb": ((1, LENGTH, D), ("tgt_embedding.positions.weight",))}
    outside |= table("tok_emb.weight", "tgt_embedding.weight", TGT)
    outside |= norm("ln_f", "decoder.final_norm") | linear("head", "generator", TGT, bias=False)
    return outside | stack("blocks", "decoder", layer, 3)


def _nanochat() -> Named:
    layer = attention(under("attn", ("c_q", "c_k", "c_v", "c_proj")), "self_attn", bias=False)
    layer |= {"attn.ve_gate.weight": ((5, D), ())} | feed_forward("mlp.c_fc", "mlp.c_proj", bias=False)
    outside = table("transformer.wte.weight", "tgt_embedding.weight", TGT)
    outside |= linear("lm_head", "generator", TGT, bias=False)
    outside |= {"resid_lambdas": ((3,), ()), "value_embeds.1.weight": ((TGT, D), ())}
    return stack("transformer.h", "decoder", layer, 3) | outside


def _former() -> Named:
    names = under("attention", ("toqueries", "tokeys", "tovalues"))
    layer = attention([*names, "attention.unifyheads"], "self_attn", bias=False)
    layer["attention.unifyheads.bias"] = ((D,), ("self_attn.w_o.bias",))
    layer |= norm("norm1", "self_attn_norm") | norm("norm2", "feed_forward_norm")
    layer |= feed_forward("ff.0", "ff.2")
    outside = table("token_embedding.weight", "tgt_embedding.weight", TGT)
    outside |= table("pos_embedding.weight", "tgt_embedding.positions.weight", LENGTH)
    return outside | stack("tblocks", "decoder", layer, 2) | linear("toprobs", "generator", TGT)


def _dreamgonfly() -> Named:
    def sublayer(theirs: str, ours: str) -> Named:
        names = under(
            f"{theirs}.sublayer", (f"{part}_projection" for part in ("query", "key", "value", "final"))
        )
        return attention(names, ours) | norm(f"{theirs}.layer_normalization", f"{ours}_norm", "gain")

    ff = "pointwise_feedforward_layer"
    last = feed_forward(f"{ff}.sublayer.feed_forward.0", f"{ff}.sublayer.feed_forward.3")
    last |= norm(f"{ff}.layer_normalization", "feed_forward_norm", "gain")
    own = sublayer("self_attention_layer", "self_attn")
    found: Named = {}
    for side, ours, rows in (("encoder", "src", SRC), ("decoder", "tgt", TGT)):
        found |= table(f"{side}.embedding.embbedding.weight", f"{ours}_embedding.weight", rows)
        found |= {f"{side}.embedding.pe": ((LENGTH, 1, D), (f"{ours}_embedding.positions.weight",))}
    found |= stack("encoder.encoder_layers", "encoder", own | last, 3)
    cross = sublayer("memory_attention_layer", "cross_attn")
    found |= stack("decoder.decoder_layers", "decoder", own | cross | last, 2)
    return found | linear("decoder.generator", "generator", TGT)


def _tunz() -> Named:
    def sublayer(theirs: str, ours: str) -> Named:
        names = under(theirs, ("linear_q", "linear_k", "linear_v", "output_layer"))
        return norm(f"{theirs}_norm", f"{ours}_norm") | attention(names, ours, bias=False)

    last = norm("ffn_norm", "feed_forward_norm") | feed_forward("ffn.layer1", "ffn.layer2")
    own = sublayer("self_attention", "self_attn")
    found: Named = {"inv_timescales": ((D // 2,), ())}
    found |= table("t_vocab_embedding.weight", "tgt_embedding.weight", TGT)
    found |= stack("decoder.layers", "decoder", own | sublayer("enc_dec_attention", "cross_attn") | last, 2)
    found |= norm("decoder.last_norm", "decoder.final_norm")
    found |= table("i_vocab_embedding.weight", "src_embedding.weight", SRC)
    found |= stack("encoder.layers", "encoder", own | last, 3)
    return found | norm("encoder.last_norm", "encoder.final_norm")


def _sooftware() -> Named:
    def sublayer(theirs: str, ours: str) -> Named:
        names = under(
            f"{theirs}.sublayer",
            (f"{part}.linear" for part in ("linear_q", "linear_k", "linear_v", "linear")),
        )
        return attention(names, ours) | norm(f"{theirs}.layer_norm", f"{ours}_norm", "gamma", "beta")

    ff = "feed_forward.sublayer.feed_forward"
    last = feed_forward(f"{ff}.0.linear", f"{ff}.3.linear")
    last |= norm("feed_forward.layer_norm", "feed_forward_norm", "gamma", "beta")
    own = sublayer("self_attention", "self_attn")
    found: Named = {}
    for side, ours, rows in (("encoder", "src", SRC), ("decoder", "tgt", TGT)):
        found |= table(f"{side}.embedding.embedding.weight", f"{ours}_embedding.weight", rows)
        found |= {f"{side}.positional_encoding.pe": ((LENGTH, 1, D), (f"{ours}_embedding.positions.weight",))}
        cross = sublayer("encoder_attention", "cross_attn") if side == "decoder" else {}
        found |= stack(f"{side}.layers", side, own | cross | last, 2 + (side == "encoder"))
    return found | linear("linear.linear", "generator", TGT)


def _codertimo_bert() -> Named:
    layer = attention(
        under("attention", (*(f"linear_layers.{i}" for i in range(3)), "output_linear")), "self_attn"
    )
    layer |= feed_forward("feed_forward.w_1", "feed_forward.w_2")
    layer |= norm("input_sublayer.norm", "self_attn_norm", "a_2", "b_2")
    layer |= norm("output_sublayer.norm", "feed_forward_norm", "a_2", "b_2")
    found = table("bert.embedding.token.weight", "src_embedding.weight", SRC)
    found |= {"bert.embedding.position.pe": ((1, LENGTH, D), ("src_embedding.positions.weight",))}
    found |= table("bert.embedding.segment.weight", "", 3)
    found |= stack("bert.transformer_blocks", "encoder", layer, 3)
    heads: Named = {"next_sentence.linear.weight": ((2, D), ()), "next_sentence.linear.bias": ((2,), ())}
    return found | heads | linear("mask_lm.linear", "generator", SRC)


def _joey_nmt() -> Named:
    def one(theirs: str, ours: str) -> Named:
        return attention(under(theirs, ("q_layer", "k_layer", "v_layer", "output_layer")), ours)

    last = norm("feed_forward.layer_norm", "feed_forward_norm")
    last |= feed_forward("feed_forward.pwff_layer.0", "feed_forward.pwff_layer.3")
    found = table("src_embed.lut.weight", "src_embedding.weight", SRC)
    found |= table("trg_embed.lut.weight", "tgt_embedding.weight", TGT)
    found |= stack(
        "encoder.layers",
        "encoder",
        norm("layer_norm", "self_attn_norm") | one("src_src_att", "self_attn") | last,
        3,
    )
    found |= norm("encoder.layer_norm", "encoder.final_norm")
    found |= {"encoder.pe.pe": ((1, LENGTH, D), ("src_embedding.positions.weight",))}
    own = one("trg_trg_att", "self_attn") | one("src_trg_att", "cross_attn") | last
    norms = norm("x_layer_norm", "self_attn_norm") | norm("dec_layer_norm", "cross_attn_norm")
    found |= stack("decoder.layers", "decoder", own | norms, 2) | norm(
        "decoder.layer_norm", "decoder.final_norm"
    )
    found |= {"decoder.pe.pe": ((1, LENGTH, D), ("tgt_embedding.positions.weight",))}
    return found | linear("decoder.output_layer", "generator", TGT, bias=False)


def _like_open_nmt() -> Named:
    """As a module of a larger model, whose name holds both sides' names."""

    def one(theirs: str, ours: str) -> Named:
        return attention(
            under(theirs, ("linear_query", "linear_keys", "linear_values", "final_linear")), ours
        )

    last = feed_forward("feed_forward.w_1", "feed_forward.w_2") | norm(
        "feed_forward.layer_norm", "feed_forward_norm"
    )
    own, before = one("self_attn", "self_attn"), "model.encoder_decoder"
    luts = "embeddings.make_embedding.emb_luts.0.weight"
    found = table(f"{before}.encoder.{luts}", "src_embedding.weight", SRC)
    found |= stack(
        f"{before}.encoder.transformer", "encoder", own | last | norm("layer_norm", "self_attn_norm"), 3
    )
    found |= norm(f"{before}.encoder.layer_norm", "encoder.final_norm")
    found |= table(f"{before}.decoder.{luts}", "tgt_embedding.weight", TGT)
    norms = norm("layer_norm_1", "self_attn_norm") | norm("layer_norm_2", "cross_attn_norm")
    found |= stack(
        f"{before}.decoder.transformer_layers",
        "decoder",
        own | one("context_attn", "cross_attn") | last | norms,
        2,
    )
    return (
        found
        | norm(f"{before}.decoder.layer_norm", "decoder.final_norm")
        | linear("model.generator.0", "generator", TGT)
    )


def _transformer_lens() -> Named:
    heads, d_head = 3, 4
    layer: Named = {}
    for part, ours in zip("QKV", ATTENTION, strict=False):
        layer |= {f"attn.W_{part}": ((heads, D, d_head), (f"self_attn.{ours}.weight",))}
        layer |= {f"attn.b_{part}": ((heads, d_head), (f"self_attn.{ours}.bias",))}
    layer |= {
        "attn.W_O": ((heads, d_head, D), ("self_attn.w_o.weight",)),
        "attn.b_O": ((D,), ("self_attn.w_o.bias",)),
    }
    layer |= {"attn.mask": ((LENGTH, LENGTH), ()), "attn.IGNORE": ((), ())}
    layer |= norm("ln1", "self_attn_norm", "w", "b") | norm("ln2", "feed_forward_norm", "w", "b")
    layer |= {
        "mlp.W_in": ((D, D_FF), ("feed_forward.w_1.weight",)),
        "mlp.b_in": ((D_FF,), ("feed_forward.w_1.bias",)),
    }
    layer |= {
        "mlp.W_out": ((D_FF, D), ("feed_forward.w_2.weight",)),
        "mlp.b_out": ((D,), ("feed_forward.w_2.bias",)),
    }
    found = table("embed.W_E", "tgt_embedding.weight", TGT)
    found |= table("pos_embed.W_pos", "tgt_embedding.positions.weight", LENGTH)
    found |= stack("blocks", "decoder", layer, 2) | norm("ln_final", "decoder.final_norm", "w", "b")
    return found | {
        "unembed.W_U": ((D, TGT), ("generator.weight",)),
        "unembed.b_U": ((TGT,), ("generator.bias",)),
    }


def _brandokoch() -> Named:
    def one(end: str, ours: str) -> Named:
        return attention((*(f"W_{part}{end}" for part in "qkv"), f"mha_layer{end}.W_0"), ours)

    def added(name: str, ours: str) -> Named:
        return norm(f"{name}.layer_norm", ours)

    ff, before = feed_forward("ffn_layer.w_1", "ffn_layer.w_2"), "transformer_encoder_decoder"
    layer = one("", "self_attn") | added("add_and_norm_layer_1", "self_attn_norm") | ff
    layer |= added("add_and_norm_layer_2", "feed_forward_norm")
    found = table(f"{before}.src_embedding.weight", "src_embedding.weight", SRC)
    found |= stack(f"{before}.encoder.encoder_blocks", "encoder", layer, 3)
    found |= table(f"{before}.trg_embedding.weight", "tgt_embedding.weight", TGT)
    layer = one("_1", "self_attn") | added("add_and_norm_1", "self_attn_norm")
    layer |= one("_2", "cross_attn") | added("add_and_norm_2", "cross_attn_norm")
    layer |= ff | added("add_and_norm_3", "feed_forward_norm")
    return (
        found
        | stack(f"{before}.decoder.decoder_blocks", "decoder", layer, 2)
        | linear(f"{before}.linear", "generator", TGT)
    )


def _like_gpt2() -> Named:
    """With Conv1D, whose matrices are stored (in, out)."""
    fused = tuple(f"self_attn.{part}" for part in ATTENTION[:3])
    layer = norm("ln_1", "self_attn_norm") | norm("ln_2", "feed_forward_norm")
    layer |= {"attention.c_attn.weight": ((D, 3 * D), tuple(f"{one}.weight" for one in fused))}
    layer |= {"attention.c_attn.bias": ((3 * D,), tuple(f"{one}.bias" for one in fused))}
    layer |= linear("attention.c_proj", "self_attn.w_o")
    for name, ours, rows, columns in (("fc", "w_1", D_FF, D), ("proj", "w_2", D, D_FF)):
        layer |= {f"mlp.c_{name}.weight": ((columns, rows), (f"feed_forward.{ours}.weight",))}
        layer |= {f"mlp.c_{name}.bias": ((rows,), (f"feed_forward.{ours}.bias",))}
    found = table("tokens.weight", "tgt_embedding.weight", TGT)
    found |= table("positions.weight", "tgt_embedding.positions.weight", LENGTH)
    return found | stack("layers", "decoder", layer, 2) | norm("ln_f", "decoder.final_norm")


def _like_llama() -> Named:
    layer = attention(under("attention", ("q_proj", "k_proj", "v_proj", "out_proj")), "self_attn", bias=False)
    for part in ("k", "v"):
        layer[f"attention.{part}_proj.weight"] = ((D // 3, D), (f"self_attn.w_{part}.weight",))
    layer |= feed_forward("mlp.gate", "mlp.down", bias=False) | linear(
        "mlp.up", "feed_forward.w_3", D_FF, bias=False
    )
    layer |= norm("input_norm", "self_attn_norm", beta="") | norm(
        "post_attention_norm", "feed_forward_norm", beta=""
    )
    found = table("net.tok.weight", "tgt_embedding.weight", TGT) | stack("net.layers", "decoder", layer, 2)
    return (
        found
        | norm("net.norm", "decoder.final_norm", beta="")
        | linear("net.out", "generator", TGT, bias=False)
    )


PUBLISHED: Mapping[str, Named] = {
    "minGPT": _min_gpt(),
    "nanochat": _nanochat(),
    "pbloem": _former(),
    "dreamgonfly": _dreamgonfly(),
    "tunz": _tunz(),
    "sooftware": _sooftware(),
    "codertimo": _codertimo_bert(),
    "JoeyNMT": _joey_nmt(),
    "like OpenNMT": _like_open_nmt(),
    "TransformerLens": _transformer_lens(),
    "brandokoch": _brandokoch(),
    "like GPT-2": _like_gpt2(),
    "like Llama": _like_llama(),
}
NOT_COMPUTED = {"nanochat"}


def state_dict(named: Named, generator: torch.Generator) -> dict[str, Tensor]:
    """Random numbers."""
    return {name: torch.randn(shape, generator=generator) for name, (shape, _) in named.items()}
