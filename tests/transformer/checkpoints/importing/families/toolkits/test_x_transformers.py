"""x-transformers: decoders, encoders and both, with its norms, rotations and gates."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

from tests.transformer.checkpoints.importing.families.foreign import raw_of
from tests.transformer.checkpoints.importing.families.reference import (
    Program,
    Reference,
    Rules,
    Sample,
    Weights,
    compared,
    drawn,
    drawn_as,
    fused,
    published,
)
from transformer.checkpoints.importing.recognition import plan_import
from transformer.errors import CheckpointError

D_MODEL, HEADS, D_HEAD, MAX_LEN, VOCAB, PAD = 20, 3, 14, 17, 31, 0
ROTATED = 6
"""Numbers of each head that are rotated, of 14."""
GAMMAS = {"layer": "gamma", "older": "gamma", "rms": "g", "torch": "weight"}
"""Names of each kind of norm's gamma."""


def sample(
    *,
    depths: tuple[int, int] = (0, 2),
    wrapper: str = "",
    norm: str = "layer",
    place: str = "pre",
    gated: bool = False,
    rotary: str = "",
    kv_heads: int = HEADS,
    tied: str = "",
) -> Sample:
    """A decoder, an encoder or both.

    Args:
        depths: of encoder and decoder.
        wrapper: prefix of all names.
        norm: "layer" (gamma - 1 is stored, there is no beta), "older" (zeros as beta), "rms" or "torch".
        place: of the norms: "pre", "post" or "both".
        gated: whether the feed-forward has a gate.
        rotary: "pairs" or "halves" for rotated queries and keys in place of positions.
        kv_heads: heads of keys and values.
        tied: "embeddings" for one embedding for both sides, "generator" for one that is the generator too.
    """
    weights = drawn(
        d_model=D_MODEL,
        d_ff=4 * D_MODEL,
        widths=(HEADS * D_HEAD, kv_heads * D_HEAD),
        vocabularies=(VOCAB if tied else VOCAB - 2, VOCAB),
        depths=depths,
        final_norm=place != "post",
        gated=gated,
        without=("*attn.w_?.bias", "generator.bias", *(() if norm == "torch" else ("*.beta",))),
    )
    if place == "both":
        after = [
            name.replace("_norm", "_post_norm") for name in weights if re.search(r"layers.*_norm\.", name)
        ]
        weights |= drawn_as(dict.fromkeys(after, (D_MODEL,)), seed=1)
    if tied == "embeddings":
        weights["src_embedding.weight"] = weights["tgt_embedding.weight"]
    elif tied:
        weights["generator.weight"] = weights["tgt_embedding.weight"]
    stored = fused(weights, "proj", "31", within="feed_forward") if gated else dict(weights)
    sides = {"src": MAX_LEN + 4, "tgt": MAX_LEN}  # an encoder's table may be longer than its decoder's
    for side, length in sides.items():
        if f"{side}_embedding.weight" in weights and not rotary:
            table = drawn_as({side: (length, D_MODEL)}, seed=2)[side]
            stored[f"{side}_positions"], weights[f"{side}_positions"] = table, table * D_MODEL**-0.5
    offset = 1.0 if norm in ("layer", "rms") else 0.0
    stored = {name: part - offset if name.endswith("gamma") else part for name, part in stored.items()}
    if norm == "older":
        gammas = [name for name in stored if name.endswith("gamma")]
        stored |= {name.replace("gamma", "beta"): torch.zeros(D_MODEL) for name in gammas}
    if rotary:
        stored["decoder.rotary_pos_emb.inv_freq"] = 10_000 ** (-torch.arange(0, ROTATED, 2) / ROTATED)
    program = Program(
        norm_first=place != "post",
        norm="rms" if norm == "rms" else "layer",
        eps=1e-12 if norm == "rms" else 1e-5,
        logits_scale=D_MODEL**-0.5 if tied == "generator" else 1.0,
        activation=functional.silu if gated else functional.gelu,
        rotary=rotary,
        rotated=ROTATED,
        pad_id=PAD if depths[0] else -1,
    )
    without = ("generator*",) if tied == "generator" else ()
    state_dict = published(stored, rules(depths, wrapper, norm, place), without=without)
    return Sample("x_transformers", Reference(weights, program), state_dict, {"n_heads": HEADS})


def rules(depths: tuple[int, int], wrapper: str, norm: str, place: str) -> Rules:
    """Its lists count sublayers, and hold three norms for each: before it, after it, and after the sum."""
    decoders = ("self_attn", "cross_attn", "feed_forward") if all(depths) else ("self_attn", "feed_forward")

    def numbered(found: re.Match[str]) -> str:
        order = decoders if found[1] == "decoder" else ("self_attn", "feed_forward")
        return f"{found[1]}.layers.{int(found[2]) * len(order) + order.index(found[3])}."

    return {
        r"(encoder|decoder)\.layers\.(\d+)\.(self_attn|cross_attn|feed_forward)": numbered,
        r"\._post_norm": ".0.1",
        r"\._norm": ".0.2" if place == "post" else ".0.0",
        r"\.\.w_([qkv])": r".1.to_\1",
        r"\.\.w_o": ".1.to_out",
        r"\.\.w_1": ".1.ff.0.0",
        r"\.\.proj": ".1.ff.0.proj",
        r"\.\.w_2": ".1.ff.2",
        "gamma$": GAMMAS[norm],
        "beta$": "bias" if norm == "torch" else "beta",
        r"^(encoder|decoder)\.": r"\1.attn_layers.",
        "^(src|tgt)_embedding": r"\1.token_emb.emb",
        "^(src|tgt)_positions": r"\1.pos_emb.emb.weight",
        "^generator": "decoder.to_logits" if depths[1] else "encoder.to_logits",
        "^src": "encoder",
        "^tgt": "decoder",
        **({"^decoder": "decoder.net"} if all(depths) else {r"^(en|de)coder\.": wrapper}),
    }


SAMPLES = {
    "x_transformers": lambda: sample(depths=(2, 3)),
    "x_transformers, a decoder": lambda: sample(wrapper="net."),
}
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "older": {"norm": "older"},
    "torch's norm": {"norm": "torch"},
    "rms": {"norm": "rms"},
    "post": {"place": "post"},
    "both": {"place": "both"},
    "gated": {"gated": True},
    "rotary": {"rotary": "pairs"},
    "older rotary": {"rotary": "halves", "norm": "older"},
    "shared": {"kv_heads": 1},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_decoder(tmp_path: Path, variant: str) -> None:
    theirs = sample(wrapper="net.", **VARIANTS[variant])
    theirs.answers["activation"] = "silu" if variant == "gated" else "gelu"
    asked = compared(tmp_path, theirs, kind="decoder-only", pad_id=-1).asked
    assert ("gamma_offset" in asked) == (variant != "torch's norm")
    assert ("rotary_pairs" in asked) == ("rotary" in variant)


def test_encoder(tmp_path: Path) -> None:
    theirs = sample(depths=(2, 0))
    answers = theirs.answers | {"causal": False, "pad_id": PAD}
    compared(tmp_path, theirs._replace(answers=answers), kind="encoder-only")


@pytest.mark.parametrize("tied", ["", "embeddings"])
def test_both_stacks(tmp_path: Path, tied: str) -> None:
    theirs = sample(depths=(2, 3), tied=tied)
    answers = theirs.answers | {"pad_id": PAD}
    found = compared(tmp_path, theirs._replace(answers=answers), share_embeddings=bool(tied))
    assert "causal" not in found.asked


def test_a_tied_generator_is_scaled_in_newer_versions(tmp_path: Path) -> None:
    assert compared(tmp_path, sample(tied="generator")).asked["logits_scale"] is True


def with_zeros(name: str, *shape: int) -> Callable[[], Weights]:
    return lambda: sample().state_dict | {name: torch.zeros(shape)}


def swapped() -> Weights:
    """The feed-forward of the first layer before its attention."""
    places = {r"layers\.1\.": "layers.9.", r"layers\.0\.": "layers.1.", r"layers\.9\.": "layers.0."}
    return published(sample().state_dict, places)


def without_rows() -> Weights:
    empty = {f"attn_layers.layers.0.1.to_{matrix}.weight": torch.zeros(0, D_MODEL) for matrix in "qk"}
    return sample().state_dict | empty


REFUSED: dict[str, tuple[Callable[[], Weights], dict[str, Any]]] = {
    "bias of the scores by distance": (
        with_zeros("attn_layers.rel_pos.relative_attention_bias.weight", 3, 4),
        {},
    ),
    "attn_num_mem_kv": (with_zeros("attn_layers.layers.0.1.mem_k", 3, 4), {}),
    "an option of x-transformers": (with_zeros("attn_layers.layers.1.1.some_new_thing", 3, 4), {}),
    "num_memory_tokens": (with_zeros("memory_tokens", 3, 4), {}),
    "emb_dim": (with_zeros("project_emb.weight", 3, 4), {}),
    "another order": (swapped, {}),
    "turns the values": (lambda: sample(norm="torch", rotary="halves").state_dict, {"n_heads": HEADS}),
    "heads": (without_rows, {}),
    "0 heads are impossible": (lambda: sample().state_dict, {"n_heads": 0}),
    "4 heads are impossible": (lambda: sample().state_dict, {"n_heads": 4}),
}


@pytest.mark.parametrize("said", REFUSED)
def test_refused(tmp_path: Path, said: str) -> None:
    weights, answers = REFUSED[said]
    with pytest.raises(CheckpointError, match=said):
        plan_import(raw_of(tmp_path, weights()), answers)
