"""TransformerLens: heads apart, matrices stored (in, out), norms with, without and with folded weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from tests.transformer.checkpoints.importing.families.foreign import close, imported, random_ids, raw_of
from tests.transformer.model.core import trace_of
from transformer.checkpoints.importing.recognition import plan_import
from transformer.errors import CheckpointError

VOCAB, WIDTH, HEADS, D_HEAD, HIDDEN, LENGTH, DEPTH = 37, 30, 3, 8, 44, 17, 3
IDS = random_ids(VOCAB, 2, 13)


def weights(*, kv_heads: int = HEADS, gated: bool = False) -> dict[str, Tensor]:
    """Random weights of a HookedTransformer, by its names."""
    inside = {
        "ln1.w": (WIDTH,), "ln1.b": (WIDTH,), "ln2.w": (WIDTH,), "ln2.b": (WIDTH,),
        "attn.W_Q": (HEADS, WIDTH, D_HEAD), "attn.b_Q": (HEADS, D_HEAD),
        "attn.W_O": (HEADS, D_HEAD, WIDTH), "attn.b_O": (WIDTH,),
        "mlp.W_in": (WIDTH, HIDDEN), "mlp.b_in": (HIDDEN,),
        "mlp.W_out": (HIDDEN, WIDTH), "mlp.b_out": (WIDTH,),
    }  # fmt: skip
    fewer = "" if kv_heads == HEADS else "_"
    for part in "KV":
        inside |= {
            f"attn.{fewer}W_{part}": (kv_heads, WIDTH, D_HEAD),
            f"attn.{fewer}b_{part}": (kv_heads, D_HEAD),
        }
    if gated:
        inside["mlp.W_gate"] = (WIDTH, HIDDEN)
    shapes = {f"blocks.{i}.{name}": shape for i in range(DEPTH) for name, shape in inside.items()}
    shapes |= {
        "embed.W_E": (VOCAB, WIDTH), "pos_embed.W_pos": (LENGTH, WIDTH),
        "ln_final.w": (WIDTH,), "ln_final.b": (WIDTH,),
        "unembed.W_U": (WIDTH, VOCAB), "unembed.b_U": (VOCAB,),
    }  # fmt: skip
    generator = torch.Generator().manual_seed(7)
    return {name: 0.3 * torch.randn(shape, generator=generator) for name, shape in shapes.items()}


def normed(at: str, x: Tensor, w: Mapping[str, Tensor], kind: str) -> Tensor:
    if kind == "layer":
        x = x - x.mean(-1, keepdim=True)
    x = x / (x.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt()
    return x * w.get(f"{at}.w", torch.ones(())) + w.get(f"{at}.b", torch.zeros(()))


def turned(x: Tensor, base: float) -> Tensor:
    """Rotate (batch, pos, head, d_head), the two numbers of a pair half a head apart."""
    half = x.shape[-1] // 2
    angles = torch.outer(torch.arange(x.shape[1]).float(), base ** (-torch.arange(half) / half))[:, None]
    one, other = x[..., :half], x[..., half:]
    return torch.cat(
        [one * angles.cos() - other * angles.sin(), other * angles.cos() + one * angles.sin()], -1
    )


def logits(
    w: Mapping[str, Tensor], *, kind: str = "layer", parallel: bool = False, scaled: bool = True
) -> tuple[Tensor, Tensor]:
    """Logits and the first layer's attention, typed from TransformerLens' definitions."""
    rotary, gated = "blocks.0.attn.rotary_cos" in w, "blocks.0.mlp.W_gate" in w
    x = w["embed.W_E"][IDS]
    if "pos_embed.W_pos" in w:
        x = x + w["pos_embed.W_pos"][: IDS.shape[1]]
    patterns = []
    for i in range(DEPTH):
        block = {
            name.removeprefix(f"blocks.{i}."): one
            for name, one in w.items()
            if name.startswith(f"blocks.{i}.")
        }
        block = {name.replace("attn._", "attn."): one for name, one in block.items()}
        before, y = x, normed("ln1", x, block, kind)
        q, k, v = (
            torch.einsum("bpd,hdk->bphk", y, block[f"attn.W_{part}"])
            + block.get(f"attn.b_{part}", torch.zeros(()))
            for part in "QKV"
        )
        if rotary:
            q, k = turned(q, 10_000.0), turned(k, 10_000.0)
        k, v = (part.repeat_interleave(HEADS // part.shape[2], dim=2) for part in (k, v))
        scores = torch.einsum("bqhk,bphk->bhqp", q, k) / (D_HEAD**0.5 if scaled else 1.0)
        seen = torch.ones(IDS.shape[1], IDS.shape[1]).tril().bool()
        patterns.append(scores.masked_fill(~seen, -torch.inf).softmax(-1))
        z = torch.einsum("bhqp,bphk->bqhk", patterns[-1], v)
        x = x + torch.einsum("bqhk,hkd->bqd", z, block["attn.W_O"]) + block.get("attn.b_O", torch.zeros(()))
        if "mlp.W_in" in block:
            y = normed(
                "ln2" if "ln2.w" in block or not parallel else "ln1", before if parallel else x, block, kind
            )
            hidden = y @ block["mlp.W_in"] + block.get("mlp.b_in", torch.zeros(()))
            if gated:
                hidden = functional.silu(y @ block["mlp.W_gate"]) * hidden
            else:
                hidden = functional.gelu(hidden, approximate="tanh")
            x = x + hidden @ block["mlp.W_out"] + block.get("mlp.b_out", torch.zeros(()))
    x = normed("ln_final", x, w, kind)
    return x @ w["unembed.W_U"] + w.get("unembed.b_U", torch.zeros(())), patterns[0]


def without(w: Mapping[str, Tensor], *words: str) -> dict[str, Tensor]:
    return {name: one for name, one in w.items() if not any(word in name for word in words)}


ANGLES = {f"blocks.{i}.attn.rotary_cos": torch.zeros(LENGTH, D_HEAD) for i in range(DEPTH)}
CASES: dict[str, tuple[dict[str, Tensor], dict[str, Any], dict[str, Any]]] = {
    "gpt2": (weights(), {}, {}),
    "gpt-neo": (weights(), {"scaled": False}, {"attention_scale": False}),
    "folded": (without(weights(), ".ln1", ".ln2", "ln_final"), {}, {"norm": "layer"}),
    "attention alone": (without(weights(), "mlp", "ln2"), {}, {}),
    "llama": (
        without(weights(kv_heads=1, gated=True), "pos_embed", ".b_", "._b_", ".b") | ANGLES,
        {"kind": "rms"},
        {"activation": "silu", "parallel_residual": False},
    ),
    "pythia": (without(weights(), "pos_embed") | ANGLES, {"parallel": True}, {"parallel_residual": True}),
    "one norm": (without(weights(), "pos_embed", "ln2") | ANGLES, {"parallel": True}, {}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_parity(tmp_path: Path, case: str) -> None:
    state_dict, how, answers = CASES[case]
    ours, report = imported(raw_of(tmp_path, state_dict), answers)
    expected, pattern = logits(state_dict, **how)
    trace = trace_of(ours, None, IDS)
    assert close(trace["logits"], expected)
    assert close(trace["decoder.layers.0.self_attn.weights"], pattern)
    assert (ours.config.n_heads, ours.config.d_head) == (HEADS, D_HEAD)
    assert report.family == "transformer_lens"


def test_what_is_not_computed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="shortformer"):
        plan_import(raw_of(tmp_path, weights()), {"positions_are_added_to": "queries"})
    state_dict = without(weights(), "pos_embed") | ANGLES
    with pytest.raises(CheckpointError, match="Open GPT-J"):
        plan_import(raw_of(tmp_path, state_dict), {"rotary_pairs": "adjacent"})
