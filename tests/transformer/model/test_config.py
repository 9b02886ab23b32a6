"""Configurations: impossible ones are refused with a message that says what to change."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

import transformer
from tests.transformer.model.core import KINDS, SIZES, tiny_config
from transformer.model.config import PER_LAYER, PRESETS, ConfigError, TransformerConfig, preset
from transformer.model.transformer import Transformer

REFUSED: list[tuple[Mapping[str, object], str]] = [
    ({"d_model": 0}, "d_model is 0: it must be at least 1."),
    ({"n_heads": -3}, "n_heads is -3: it must be at least 1."),
    ({"d_ff": 0}, "d_ff is 0: it must be at least 1."),
    ({"max_len": 0}, "max_len is 0: it must be at least 1."),
    *(
        ({name: -1}, f"{name} is -1: it can't be negative.")
        for name in ("n_encoder_layers", "n_decoder_layers", "n_kv_heads", "d_head", "n_segments")
    ),
    ({"position_offset": -1}, "position_offset is -1: it can't be negative."),
    (
        {"n_encoder_layers": 0, "n_decoder_layers": 0},
        "There are no layers: give the encoder, the decoder or both at least one.",
    ),
    ({"n_heads": 4}, "d_model 66 can't be split into 4 equal heads: choose n_heads that divides it."),
    (
        {"n_kv_heads": 2},
        "3 heads can't share 2 heads of keys and values equally: choose n_kv_heads that divides n_heads.",
    ),
    *(
        ({"dropout": value}, f"dropout is {value}: it is a probability from 0 to below 1.")
        for value in (1.0, -0.1, math.nan)
    ),
    *(
        ({"norm_eps": value}, f"norm_eps is {value}: it must be above 0 and small, such as 1e-5.")
        for value in (0.0, 2.0)
    ),
    *(
        (
            {"position_base": value},
            f"position_base is {value}: it must be above 1 and finite; the paper's is 10000.",
        )
        for value in (1.0, math.inf)
    ),
    *(
        ({name: value}, f"{name} is {value}: a factor must be above 0 and finite.")
        for name, value in (
            ("attention_scale", 0.0),
            ("embedding_scale", math.inf),
            ("logits_scale", math.nan),
            ("residual_scale", -1.0),
        )
    ),
    *(
        ({name: value}, f"{name} is {value}: it must be finite and above 0, or 0 for none.")
        for name, value in (("attention_soft_cap", -1.0), ("logits_soft_cap", math.nan))
    ),
    *(
        ({name: "other"}, f"{name} is 'other': choose one of {allowed}.")
        for name, allowed in (
            ("activation", "relu, gelu, gelu_tanh, silu, relu_squared"),
            ("norm", "layer, rms, layer_unbiased"),
            ("norm_position", "pre, post, both, output, none"),
            ("positions", "sinusoidal, learned, relative, alibi, rotary, none"),
            ("sinusoid_layout", "interleaved, halves, halves_to_base"),
            ("merge_heads", "transposed, untransposed"),
        )
    ),
    ({"final_norm": "stem"}, "final_norm is 'stem': choose True, False, 'encoder' or 'decoder'."),
    (
        {"query_key_norm": "head"},
        "query_key_norm is 'head': choose True, False, 'each_head' or 'across_heads'.",
    ),
    (
        {"relative_bias_per_layer": True, "positions": "alibi"},
        "relative_bias_per_layer is True but positions are 'alibi': it applies to relative positions only, "
        "set it to False.",
    ),
    (
        {"rotary_stretch": 0.5},
        "rotary_stretch is 0.5: it must be finite and at least 1 (1 is no stretch).",
    ),
    *(
        (
            {"stretch_start": start, "stretch_full": 4.0},
            f"stretch_start is {start} and stretch_full 4.0: they must be wavelengths of at least 1 "
            "position, start no longer than full, or both 0 to stretch all.",
        )
        for start in (8.0, 1e-320, 0.0)
    ),
    *(
        (
            {"positions": "relative", "n_position_buckets": value},
            f"n_position_buckets is {value}: it must be even and at least 4.",
        )
        for value in (2, 7)
    ),
    (
        {"positions": "relative", "max_position_distance": 16},
        "max_position_distance is 16: it must be above half of the 32 buckets.",
    ),
    (
        {"d_model": 33},
        "d_model 33 is odd: sinusoidal positions pair sines with cosines, make it even.",
    ),
    (
        {"d_embedding": 7, "tie_generator": False},
        "d_embedding 7 is odd: sinusoidal positions pair sines with cosines, make it even.",
    ),
    (
        {"positions": "rotary", "d_head": 11},
        "d_head 11 is odd: rotary positions rotate pairs, make it even.",
    ),
    (
        {"positions": "rotary", "rotary_dims": 7},
        "rotary_dims 7 is odd: rotary positions rotate pairs, make it even.",
    ),
    (
        {"positions": "rotary", "rotary_dims": 24},
        "rotary_dims is 24: a head has only 22 dimensions.",
    ),
    *(
        (
            {name: value},
            f"{name} is {value} but positions are 'sinusoidal': it applies to rotary positions only, "
            "leave it out.",
        )
        for name, value in (("rotary_dims", 4), ("position_bases", (10.0, 0.0, 10.0, 0.0, 10.0)))
    ),
    (
        {"position_offset": 2, "positions": "learned"},
        "position_offset is 2 but positions are 'learned': it applies to sinusoidal positions only, set it "
        "to 0.",
    ),
    (
        {"positions": "rotary", "position_bases": [10.0, 0.0]},
        "position_bases has 2 values: give one per layer, 5.",
    ),
    ({"attention_windows": [4, 0, 4]}, "attention_windows has 3 values: give one per layer, 5."),
    *(
        (
            {"attention_windows": [4, value, 4, 0, 7]},
            f"attention_windows has {value}: a window is a number of positions, or 0 for a layer that sees "
            "all.",
        )
        for value in (-1, 2.0, True)
    ),
    ({"n_experts": 1}, "n_experts is 1: give at least 2, or 0 for one feed-forward."),
    *(
        (
            {"n_experts": n_experts, "n_active_experts": n},
            f"n_active_experts is {n}: it must be from {fewest} to n_experts, {n_experts}.",
        )
        for n_experts, n, fewest in ((4, 0, 1), (4, 5, 1), (0, 2, 0))
    ),
    *(
        (
            {"first_norm": False, **changes},
            "first_norm is False, which needs norm_position 'pre' and no shared_layers: set it to True.",
        )
        for changes in ({}, {"norm_position": "pre", "shared_layers": True})
    ),
    ({"attention_windows": [0] * 5}, "attention_windows has no window above 0: leave it out."),
    *(
        (
            {"positions": "rotary", "position_bases": [10.0, value, 0, 10.0, 0]},
            f"position_bases has {value}: a base is finite and above 1, or 0 for no rotation.",
        )
        for value in (0.5, True)
    ),
    (
        {"positions": "rotary", "position_bases": [0, 0, 0.0, 0, 0]},
        "position_bases has no base above 0: set positions to 'none' and leave it out.",
    ),
    *(
        ({name: 0}, f"{name} is 0: a stack with layers needs at least one word.")
        for name in ("src_vocab_size", "tgt_vocab_size")
    ),
    ({"n_encoder_layers": 0}, "src_vocab_size is 29 but that side has no layers: set it to 0."),
    ({"n_decoder_layers": 0}, "tgt_vocab_size is 31 but that side has no layers: set it to 0."),
    *(
        ({"pad_id": value}, f"pad_id {value} is not in the vocabulary: src_vocab_size is 29.")
        for value in (29, -2)
    ),
    (
        {"share_embeddings": True},
        "share_embeddings needs one vocabulary for both sides, not 29 source and 31 target words: "
        "set it to False or join the vocabularies.",
    ),
    (
        {"generator_transform": True, "has_generator": False},
        "generator_transform needs a generator after it: set has_generator to True.",
    ),
    (
        {"logits_soft_cap": 3.0, "has_generator": False},
        "logits_soft_cap needs a generator's logits: set has_generator to True.",
    ),
    (
        {"d_embedding": 14},
        "A generator tied to embeddings of width 14 can't read states of width 66: set generator_transform "
        "to True or tie_generator to False.",
    ),
    *(
        (
            changes | {"parallel_residual": True},
            "parallel_residual needs a model without an encoder and norm_position 'pre': set it to False.",
        )
        for changes in ({"norm_position": "pre"}, KINDS["decoder-only"] | {"norm_position": "both"})
    ),
    *(
        ({name: value}, f"{name} is {value!r}: it must be of type {kind}.")
        for name, value, kind in (
            ("d_model", 66.0, "int"),
            ("n_heads", "3", "int"),
            ("n_heads", True, "int"),
            ("bias", 1, "bool"),
            ("attention_bias", 0, "bool | None"),
            ("dropout", None, "float"),
            ("embedding_scale", "8", "bool | float"),
            ("position_bases", 10.0, "tuple[float, ...]"),
            ("attention_windows", 4, "tuple[int, ...]"),
        )
    ),
    ({"heads": 3, "depth": 2}, "The configuration has unknown fields: depth, heads. Remove them."),
]


@pytest.mark.parametrize("changes, sentence", REFUSED, ids=lambda value: str(value)[:40])
def test_an_impossible_model_is_refused_with_a_sentence(changes: Mapping[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        tiny_config(**changes)
    assert str(caught.value) == sentence


def test_a_missing_field_is_named() -> None:
    with pytest.raises(ConfigError, match=r"incomplete: .*'d_ff'.* Add what is missing"):
        TransformerConfig.from_dict({name: value for name, value in SIZES.items() if name != "d_ff"})


def test_derived_values() -> None:
    for kind, changes in KINDS.items():
        assert tiny_config(**changes).kind == kind
    plain, own = tiny_config(), tiny_config(n_heads=4, d_head=17, n_kv_heads=2)
    assert (plain.d_head, plain.n_kv_heads) == (22, 3)
    assert (own.d_head, own.n_kv_heads) == (17, 2)
    assert tiny_config(d_model=33, positions="learned").d_head == 11, "odd widths need no sinusoids"
    assert tiny_config(d_embedding=66) == tiny_config(), "as wide as the stream"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm_position": "pre", "norm_eps": 1e-6, "pad_id": 3, "bias": False, "attention_bias": True},
        {"positions": "rotary", "d_head": 14, "n_kv_heads": 1, "norm": "rms", "pad_id": -1},
        {
            "positions": "rotary",
            "position_bases": (100.0, 0, 1e6, 0, 7.0),
            "attention_windows": (3, 0, 0, 2, 9),
            "attention_scale": 0.25,
            "logits_scale": 1.0,
        },
    ],
)
def test_to_dict_and_back_through_json(changes: dict[str, object]) -> None:
    config = tiny_config(**changes)
    assert TransformerConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_a_configuration_from_before_a_choice_was_there_opens_without_it() -> None:
    older = tiny_config().to_dict()
    for name in ("parallel_residual", "d_embedding", "memory_padding_mask", *PER_LAYER):
        del older[name]
    assert TransformerConfig.from_dict(older) == tiny_config()


def test_a_factor_of_one_is_no_factor() -> None:
    """1.0 == True in Python, but configurations of different models must not be equal."""
    for name in ("attention_scale", "embedding_scale", "logits_scale"):
        for one in (1, 1.0):
            config = tiny_config(**{name: one})
            assert getattr(config, name) is False
            assert config == tiny_config(**{name: False}) != tiny_config(**{name: True})
            assert len({config, tiny_config(**{name: False}), tiny_config(**{name: True})}) == 2


def test_every_field_is_read_by_the_model_and_set_outside_it() -> None:
    """Set by a layout, a mapping file or a plan: no field is unused."""
    package = Path(transformer.__file__).parent
    model, layouts = (
        "\n".join(path.read_text(encoding="utf-8") for path in paths)
        for paths in (
            [
                path
                for path in (package / "model").glob("*.py")
                if path.stem not in ("choices", "config_checks")
            ],
            [
                path
                for folder in ("checkpoints", "training")
                for path in (package / folder).rglob("*.*")
                if path.suffix in (".py", ".yaml")
            ],
        )
    )
    for field in dataclasses.fields(TransformerConfig):
        assert re.search(rf"\.{field.name}\b", model), field.name
        assert re.search(rf"\b{field.name}\b", layouts), field.name


def test_a_config_is_frozen() -> None:
    config: Any = tiny_config()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.d_model = 512


def test_presets_make_models() -> None:
    for name in PRESETS:
        config = preset(name, src_vocab_size=11, tgt_vocab_size=13, norm_position="pre")
        assert (config.src_vocab_size, config.tgt_vocab_size, config.norm_position) == (11, 13, "pre")
    with pytest.raises(ConfigError, match="no preset 'huge': choose one of toy, small, base"):
        preset("huge", src_vocab_size=11, tgt_vocab_size=13)


def test_base_is_the_papers() -> None:
    """See section 3 and the first row of table 3."""
    base = preset("base", src_vocab_size=37_000, tgt_vocab_size=37_000)
    assert (base.n_encoder_layers, base.n_decoder_layers) == (6, 6)
    assert (base.d_model, base.d_ff, base.n_heads, base.d_head) == (512, 2048, 8, 64)
    assert (base.dropout, base.activation, base.norm_position) == (0.1, "relu", "post")
    assert (base.positions, base.position_base, base.tie_generator) == ("sinusoidal", 10_000.0, True)


def n_parameters(**changes: object) -> float:
    """Parameters of the base model in millions, with the paper's 37,000 sub-words; allocates no memory."""
    config = preset("base", src_vocab_size=37_000, tgt_vocab_size=37_000, share_embeddings=True, **changes)
    with torch.device("meta"):
        return sum(p.numel() for p in Transformer(config).parameters()) / 1e6


# Table 3, column "params": all rows that change only sizes.
TABLE_3: list[tuple[dict[str, object], int]] = [
    ({}, 65),
    ({"n_encoder_layers": 2, "n_decoder_layers": 2}, 36),
    ({"n_encoder_layers": 4, "n_decoder_layers": 4}, 50),
    ({"n_encoder_layers": 8, "n_decoder_layers": 8}, 80),
    ({"d_model": 256}, 28),
    ({"d_model": 1024}, 168),
    ({"d_ff": 1024}, 53),
    ({"d_ff": 4096}, 90),
    ({"d_model": 1024, "d_ff": 4096, "n_heads": 16}, 213),
]


@pytest.mark.parametrize("changes, millions", TABLE_3, ids=str)
def test_as_many_parameters_as_in_table_3(changes: dict[str, object], millions: int) -> None:
    """Within 7 percent, since "about 37,000" sub-words (section 5.1) is not exact.

    The vocabulary cancels in differences from base; the tolerance is twice the table's rounding.
    """
    assert n_parameters(**changes) == pytest.approx(millions, rel=0.07)
    if "d_model" not in changes:
        assert n_parameters(**changes) - n_parameters() == pytest.approx(millions - 65, abs=1)


def test_base_counted_by_hand() -> None:
    attention, feed_forward, norm = 4 * (512 * 512 + 512), 2 * 512 * 2048 + 2048 + 512, 2 * 512
    encoder = 6 * (attention + feed_forward + 2 * norm)
    decoder = 6 * (2 * attention + feed_forward + 3 * norm)
    embedding, generator_bias = 37_000 * 512, 37_000
    assert n_parameters() * 1e6 == pytest.approx(encoder + decoder + embedding + generator_bias, abs=0.5)
