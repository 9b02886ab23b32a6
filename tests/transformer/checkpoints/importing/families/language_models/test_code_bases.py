"""LitGPT, torchtune, MiniMind, nanochat, and the models of Stanford's CS336 and of the UvA's tutorial 6."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from tests.transformer.checkpoints.importing.families.figures import FIGURES
from tests.transformer.checkpoints.importing.families.foreign import (
    close,
    imported,
    random_ids,
    randomized,
    raw_of,
)
from tests.transformer.checkpoints.importing.families.reference import (
    Program,
    Reference,
    Rules,
    Sample,
    Weights,
    assert_same,
    compared,
    drawn,
    drawn_as,
    fused,
    published,
    sinusoids,
    with_positions,
)
from tests.transformer.model.core import trace_of
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.opening import open_checkpoint
from transformer.errors import CheckpointError

VOCAB, DIM, HEADS, DEPTH, D_FF, EXPERTS, CHOSEN = 43, 36, 6, 2, 37, 4, 2
D_HEAD = DIM // HEADS
DECODER: dict[str, str] = {r"^decoder\.": "", "^generator": "lm_head", "gamma$": "weight"}
LITGPT: Rules = DECODER | {
    "^tgt_embedding": "transformer.wte", "^final_norm": "transformer.ln_f", "^layers": "transformer.h",
    "self_attn_norm": "norm_1", "feed_forward_norm": "norm_2", "self_attn.w_o": "attn.proj",
    "self_attn": "attn", r"feed_forward\.": "mlp.", r"mlp\.router": "mlp.gate",
    r"w_1\.": "fc_1.", r"w_3\.": "fc_2.", r"w_2\.": "proj.", r"attn\.([qk])_norm": r"attn.norm_\1",
}  # fmt: skip
TORCHTUNE: Rules = {
    "^tgt_embedding": "tok_embeddings", "^generator": "output", r"^decoder\.": "", "^final_norm": "norm",
    "self_attn_norm": "sa_norm", "feed_forward_norm": "mlp_norm", r"self_attn\.w_o": "attn.output_proj",
    r"self_attn\.w_([qkv])": r"attn.\1_proj", r"self_attn\.": "attn.", r"feed_forward\.w_": "mlp.w",
    "gamma$": "scale",
}  # fmt: skip
CS336: Rules = DECODER | {
    "^tgt_embedding": "token_embeddings", "^final_norm": "ln_final", "self_attn_norm": "ln1",
    "feed_forward_norm": "ln2", r"self_attn\.w_o": "attn.output_proj",
    r"self_attn\.w_([qkv])": r"attn.\1_proj", r"feed_forward\.w_": "ffn.w",
}  # fmt: skip
MINIMIND: Rules = DECODER | {
    "^(?!lm_head)": "model.", "tgt_embedding": "embed_tokens", r"model\.final_norm": "model.norm",
    "self_attn_norm": "input_layernorm", "feed_forward_norm": "post_attention_layernorm",
    r"self_attn\.w_([qkvo])": r"self_attn.\1_proj", r"feed_forward\.": "mlp.", r"mlp\.router": "mlp.gate",
    r"w_1\.": "gate_proj.", r"w_2\.": "down_proj.", r"w_3\.": "up_proj.",
}  # fmt: skip
NANOCHAT: Rules = DECODER | {
    "^tgt_embedding": "transformer.wte", "^layers": "transformer.h", "self_attn.w_o": "attn.c_proj",
    r"self_attn\.w_": "attn.c_", r"feed_forward\.w_1": "mlp.c_fc", r"feed_forward\.w_2": "mlp.c_proj",
    "^": "_orig_mod.",
}  # fmt: skip


class Routed(Reference):
    """With a feed-forward of several experts: those with the largest shares, which are made to sum to 1."""

    def _feed_forward(self, name: str, x: Tensor) -> Tensor:
        every = torch.stack(
            [Reference._feed_forward(self, f"{name}.experts.{i}", x) for i in range(EXPERTS)], -2
        )
        shares, chosen = self._linear(f"{name}.router", x).softmax(-1).topk(CHOSEN)
        shares = torch.zeros(*x.shape[:2], EXPERTS).scatter(-1, chosen, shares)
        return (every * (shares / shares.sum(-1, keepdim=True))[..., None]).sum(-2)


def llama(
    kv_heads: int = 2, *, vocab: int = VOCAB, normed: bool = False, tied: bool = False, routed: bool = False
) -> Weights:
    """Weights of a Llama, by our names."""
    weights = drawn(
        d_model=DIM,
        d_ff=D_FF,
        widths=(DIM, kv_heads * D_HEAD),
        vocabularies=(0, vocab),
        depths=(0, DEPTH),
        final_norm=True,
        gated=True,
        without=("*.bias", "*.beta", *(["*.feed_forward.w_*"] if routed else [])),
    )
    shapes: dict[str, tuple[int, ...]] = {}
    for i in range(DEPTH):
        at = f"decoder.layers.{i}"
        if normed:
            shapes |= {f"{at}.self_attn.{part}_norm.gamma": (D_HEAD,) for part in "qk"}
        if routed:
            shapes[f"{at}.feed_forward.router.weight"] = (EXPERTS, DIM)
            for expert in range(EXPERTS):
                inside = f"{at}.feed_forward.experts.{expert}"
                shapes |= {f"{inside}.w_{n}.weight": (D_FF, DIM) for n in "13"}
                shapes[f"{inside}.w_2.weight"] = (DIM, D_FF)
    weights |= drawn_as(shapes, seed=1)
    return weights | ({"generator.weight": weights["tgt_embedding.weight"].clone()} if tied else {})


def reference(
    weights: Weights,
    rotary: str,
    base: float = 10_000.0,
    eps: float = 1e-5,
    kind: type[Reference] = Reference,
) -> Reference:
    """The computation of a Llama."""
    program = Program(
        heads=HEADS,
        norm_first=True,
        norm="rms",
        activation=functional.silu,
        rotary=rotary,
        base=base,
        eps=eps,
    )
    return kind(weights, program)


def litgpt(form: str, *, routed: bool = False) -> Sample:
    weights = llama(normed=form == "qkv", routed=routed)
    eps, base = (1e-6, 1_000_000.0) if form == "qkv" else (1e-5, 500_000.0)
    one = fused(weights, form, "qkv", heads=0 if form == "qkv" else 2)
    theirs = reference(weights, "halves", base, eps, Routed if routed else Reference)
    answers = {"n_heads": HEADS, "rotary_stretch": 1.0} if form == "attn" else {}
    return Sample("litgpt", theirs, published(one, LITGPT), answers)


def torchtune(model: str) -> Sample:
    weights = llama(normed=model == "qwen 3")
    if model == "qwen 2":
        rows = {name: weights[name].shape[:1] for name in weights if re.search(r"w_[qkv]\.weight", name)}
        weights |= drawn_as({name.replace("weight", "bias"): shape for name, shape in rows.items()}, seed=2)
    pairs = "pairs" if model == "llama" else "halves"
    base, eps = (1e6, 1e-6) if "qwen" in model else (5e5, 1e-5)
    answers: dict[str, Any] = {} if model == "qwen 3" else {"n_heads": HEADS}
    answers |= {"rotary_pairs": "apart"} if model == "phi 3" else {}
    return Sample("torchtune", reference(weights, pairs, base, eps), published(weights, TORCHTUNE), answers)


def cs336() -> Sample:
    weights = llama(HEADS)
    return Sample("cs336", reference(weights, "pairs"), published(weights, CS336), {"n_heads": HEADS})


def minimind(*, routed: bool) -> Sample:
    weights = llama(vocab=6400, normed=True, tied=True, routed=routed)
    theirs = reference(weights, "halves", 1e6, 1e-6, Routed if routed else Reference)
    answers = {"n_active_experts": CHOSEN} if routed else {}
    return Sample("minimind", theirs, published(weights, MINIMIND), answers)


class Nanochat(Reference):
    """Norms without weights, squared ReLU, a rotation by negative angles before the norms, capped logits."""

    def __call__(self, src: Tensor | None, tgt: Tensor | None) -> Tensor:
        return 15 * (super().__call__(src, tgt) / 15).tanh()

    def _norm(self, name: str, x: Tensor) -> Tensor:
        if name.endswith(("q_norm", "k_norm", "post_norm")):
            return x  # not yet rotated, or not there
        return x / (x.square().mean(-1, keepdim=True) + torch.finfo(torch.float32).eps).sqrt()

    def _rotated(self, x: Tensor) -> Tensor:
        first, second = x.chunk(2, -1)
        rates = 10_000 ** (-torch.arange(first.shape[-1]) / first.shape[-1])
        angle = torch.arange(x.shape[-2])[:, None] * rates
        turned = first * angle.cos() + second * angle.sin(), second * angle.cos() - first * angle.sin()
        return self._norm("after the rotation", torch.cat(turned, -1))


def nanochat(kv_heads: int) -> Sample:
    weights = drawn(
        d_model=DIM,
        d_ff=4 * DIM,
        widths=(DIM, kv_heads * D_HEAD),
        vocabularies=(0, VOCAB),
        depths=(0, 3),
        without=("*.bias", "*.beta", "*.gamma"),
    )
    program = Program(
        heads=HEADS, norm_first=True, activation=lambda x: x.clamp(min=0) ** 2, rotary="backwards"
    )
    return Sample("nanochat", Nanochat(weights, program), published(weights, NANOCHAT), {"n_heads": HEADS})


SAMPLES: dict[str, Callable[[], Sample]] = {
    "litgpt": lambda: litgpt("qkv"),
    "litgpt, older": lambda: litgpt("attn"),
    "litgpt with experts": lambda: litgpt("qkv", routed=True),
    "torchtune's llama": lambda: torchtune("llama"),
    "torchtune's phi 3": lambda: torchtune("phi 3"),
    "torchtune's qwen 2": lambda: torchtune("qwen 2"),
    "torchtune's qwen 3": lambda: torchtune("qwen 3"),
    "cs336": cs336,
    "nanochat": lambda: nanochat(HEADS),
    "nanochat with grouped heads": lambda: nanochat(2),
    "minimind": lambda: minimind(routed=False),
    "minimind with experts": lambda: minimind(routed=True),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_parity(tmp_path: Path, name: str) -> None:
    compared(tmp_path, SAMPLES[name](), n_heads=HEADS)


def test_pythia_in_litgpt(tmp_path: Path) -> None:
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

    settings: dict[str, Any] = {
        "vocab_size": VOCAB, "hidden_size": 48, "num_hidden_layers": DEPTH, "num_attention_heads": 3,
        "intermediate_size": D_FF, "rotary_pct": 0.25, "attn_implementation": "eager",
    }  # fmt: skip
    theirs = randomized(GPTNeoXForCausalLM(GPTNeoXConfig(**settings)))
    rules: Rules = {
        "^gpt_neox.embed_in": "transformer.wte", "^gpt_neox.layers": "transformer.h", "^embed_out": "lm_head",
        "^gpt_neox.final_layer_norm": "transformer.ln_f", "input_layernorm": "norm_1",
        "post_attention_layernorm": "norm_2", "attention.query_key_value": "attn.attn",
        "attention.dense": "attn.proj", "dense_h_to_4h": "fc", "dense_4h_to_h": "proj",
    }  # fmt: skip
    ours, report = imported(raw_of(tmp_path, published(theirs.state_dict(), rules)), {"n_heads": 3})
    ids = random_ids(VOCAB, 2, 13)
    with torch.no_grad():
        expected = theirs(ids, output_attentions=True)
    trace = trace_of(ours, None, ids)
    assert report.family == "litgpt"
    assert close(trace["logits"], expected.logits)
    assert close(trace["decoder.layers.1.self_attn.weights"], expected.attentions[1])


def minimind_folder(folder: Path, sample: Sample, **config: Any) -> Path:
    """A folder of transformers as MiniMind's code saves it."""
    told = {
        "architectures": ["MiniMindForCausalLM"], "auto_map": {"AutoModelForCausalLM": "model_minimind.M"},
        "model_type": "minimind", "num_attention_heads": HEADS, "num_key_value_heads": 2, "head_dim": D_HEAD,
        "hidden_size": DIM, "num_hidden_layers": DEPTH, "intermediate_size": D_FF, "vocab_size": 6400,
        "rms_norm_eps": 1e-6, "rope_theta": 1e6, "max_position_embeddings": 99, "hidden_act": "silu",
        "use_moe": False, "num_experts": EXPERTS, "num_experts_per_tok": CHOSEN, "norm_topk_prob": True,
    }  # fmt: skip
    torch.save(sample.state_dict, folder / "pytorch_model.bin")
    (folder / "config.json").write_text(json.dumps(told | config))
    return folder


@pytest.mark.parametrize("routed", [False, True])
def test_a_folder_of_minimind_asks_nothing(tmp_path: Path, routed: bool) -> None:
    sample = minimind(routed=routed)
    opened = open_checkpoint(minimind_folder(tmp_path, sample, use_moe=routed))
    assert opened.loaded is not None
    assert not opened.report.questions
    assert_same(opened.loaded.model, sample.theirs)


def uvadlc(n_classes: int = VOCAB) -> tuple[Reference, dict[str, Any]]:
    """The tutorial's encoder up to its head, and the file that Lightning saves."""
    weights = drawn(d_model=DIM, d_ff=2 * DIM, vocabularies=(VOCAB, 0), depths=(DEPTH, 0))
    rules: Rules = {
        r"^encoder\.": "transformer.", r"self_attn\.w_o": "self_attn.o_proj", "self_attn_norm": "norm1",
        "feed_forward_norm": "norm2", r"feed_forward\.w_1": "linear_net.0",
        r"feed_forward\.w_2": "linear_net.3", "gamma$": "weight", "beta$": "bias",
    }  # fmt: skip
    state_dict = published(
        fused(weights, "qkv_proj", "qkv", heads=HEADS), rules, without=("*_embedding*", "generator*")
    )
    head = {
        "output_net.0.weight": (DIM, DIM),
        "output_net.1.weight": (DIM,),
        "output_net.4.weight": (n_classes, DIM),
    }
    state_dict |= drawn_as(head | {"input_net.1.weight": (DIM, VOCAB), "input_net.1.bias": (DIM,)}, seed=1)
    words = state_dict["input_net.1.weight"].T + state_dict["input_net.1.bias"]
    weights = with_positions(weights | {"src_embedding.weight": words}, sinusoids(d_model=DIM))
    saved = {"state_dict": state_dict, "hyper_parameters": {"num_heads": HEADS, "model_dim": DIM}}
    return Reference(weights, Program(heads=HEADS)), saved


def test_the_uva_tutorial_asks_nothing(tmp_path: Path) -> None:
    theirs, saved = uvadlc()
    torch.save(saved, tmp_path / "ReverseTask.ckpt")
    opened = open_checkpoint(tmp_path / "ReverseTask.ckpt")
    assert opened.loaded is not None
    assert (opened.report.family, opened.report.questions) == ("uvadlc", ())
    FIGURES.note_import(opened.report)
    ids = random_ids(VOCAB, 2, 11)
    theirs(ids, None)
    trace = trace_of(opened.loaded.model, ids, None)
    assert len(theirs.seen) == 2 * DEPTH
    assert all(close(trace[path], value) for path, value in theirs.seen.items())


def test_what_is_not_computed_is_refused_by_name(tmp_path: Path) -> None:
    shared = {"model.layers.0.mlp.shared_experts.0.gate_proj.weight": torch.ones(D_FF, DIM)}
    gemma = llama()
    gemma = {name: weight - 1 if "norm" in name else weight for name, weight in gemma.items()}
    refused: dict[str, Weights] = {
        "shared_experts": minimind(routed=True).state_dict | shared,
        "reads vectors": uvadlc(n_classes=1)[1]["state_dict"],
        "convert_from_litgpt": published(fused(gemma, "qkv", "qkv"), LITGPT),
        "FullModelHFCheckpointer": published(gemma, TORCHTUNE),
    }
    for said, state_dict in refused.items():
        with pytest.raises(CheckpointError, match=said):
            plan_import(raw_of(tmp_path, state_dict), {})
    folder = minimind_folder(tmp_path, minimind(routed=True), norm_topk_prob=False)
    with pytest.raises(CheckpointError, match="norm_topk_prob"):
        open_checkpoint(folder)
