"""The mapping file written for published names: its guesses are right, and the model opens with it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from tests.transformer.checkpoints.importing.families.foreign import imported, raw_of
from tests.transformer.checkpoints.importing.families.own_layout.published_names import (
    D_FF,
    LENGTH,
    NOT_COMPUTED,
    PUBLISHED,
    TGT,
    D,
    Named,
    linear,
    stack,
    state_dict,
)
from transformer.checkpoints.importing.families.own_layout.template import template
from transformer.checkpoints.importing.recognition import with_mapping

TOLD_BY_ORDER = {"JoeyNMT": ("x_layer_norm", "dec_layer_norm")}
"""Norms whose sublayers only the order of definition tells."""
PARTS = {"weight": ("weight", "gamma"), "bias": ("bias", "beta")}


def written(folder: Path, named: Named) -> tuple[Any, str]:
    raw = raw_of(folder, state_dict(named, torch.Generator().manual_seed(1)))
    return raw, template(raw)


def guessed(text: str) -> dict[str, tuple[str, ...]]:
    """Each pattern's weights, modules with their parameters."""
    found: dict[str, tuple[str, ...]] = {}
    for theirs, target in (yaml.safe_load(text)["names"] or {}).items():
        to = target["to"] if isinstance(target, dict) else target
        ours = tuple(to) if isinstance(to, list) else (to,)
        if re.search(r"\.(weight|bias|gamma|beta)$", ours[0]):
            found[theirs] = ours
        else:
            is_norm = ours[0].endswith("norm")
            for part, names in PARTS.items():
                found[f"{theirs}.{part}"] = tuple(f"{one}.{names[is_norm]}" for one in ours)
    return found


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("name", PUBLISHED)
def test_guesses_about_published_names_are_right_and_nearly_all_are_made(
    tmp_path: Path, name: str, in_order: bool
) -> None:
    named = PUBLISHED[name] if in_order else dict(sorted(PUBLISHED[name].items()))
    found = guessed(written(tmp_path, named)[1])
    untold = () if in_order else TOLD_BY_ORDER.get(name, ())
    n_right = 0
    for theirs, (_, ours) in named.items():
        layer = re.search(r"\.(\d+)\.", theirs)
        pattern = theirs if layer is None else theirs.replace(layer[0], ".{}.", 1)
        guess = found.get(pattern, found.get(theirs))
        if guess is None:
            assert not ours or any(part in theirs for part in untold), theirs
        else:
            assert tuple(one.replace("{}", layer[1] if layer else "") for one in guess) == ours, theirs
            n_right += 1
    assert n_right > 10


@pytest.mark.parametrize("name", [name for name in PUBLISHED if name not in NOT_COMPUTED])
def test_the_file_for_published_names_opens_without_the_rest(tmp_path: Path, name: str) -> None:
    raw, text = written(tmp_path, PUBLISHED[name])
    rest = "".join(
        f"  {theirs}: not needed\n" for theirs in re.findall(r"^  # (.*):  # ", text, re.MULTILINE)
    )
    start = "" if "ignored:\n" in text else "ignored:\n"
    text = text.replace("config:\n", f"{start}{rest}config:\n  pad_id: -1\n  n_heads: 3\n")
    config = imported(with_mapping(raw, text), {})[1].config
    layers = {one.split(".")[0] for _, ours in PUBLISHED[name].values() for one in ours if ".layers." in one}
    assert (config.n_encoder_layers > 0) == ("encoder" in layers)
    assert (config.n_decoder_layers > 0) == ("decoder" in layers)


@pytest.mark.parametrize("in_order", [True, False])
def test_matrices_stored_in_by_out_are_seen_by_their_shapes_and_biases(
    tmp_path: Path, in_order: bool
) -> None:
    named = PUBLISHED["like GPT-2"] if in_order else dict(sorted(PUBLISHED["like GPT-2"].items()))
    targets = yaml.safe_load(written(tmp_path, named)[1])["names"]
    by = {theirs: target["by"] for theirs, target in targets.items() if isinstance(target, dict)}
    assert by == {
        "layers.{}.attention.c_attn": ["transposed", "blocks"],
        "layers.{}.attention.c_proj": "transposed",  # square, as the others
        "layers.{}.mlp.c_fc": "transposed",
        "layers.{}.mlp.c_proj": "transposed",
    }


def test_kernels_are_stored_in_by_out_and_other_orders_of_axes_are_left_blank(tmp_path: Path) -> None:
    """As Keras and Flax name and store them: queries of shape (d_model, heads, d_head)."""
    outside = {name: one for name, one in PUBLISHED["like GPT-2"].items() if "layers." not in name}
    layer: Named = {f"att.{part}.kernel": ((D, 3, 4), ()) for part in ("query", "key", "value")}
    layer |= {"first.kernel": ((D, 19), ()), "second.kernel": ((19, D), ())}
    text = written(tmp_path, outside | stack("layers", "decoder", layer, 2))[1]
    inside = {theirs: to for theirs, to in yaml.safe_load(text)["names"].items() if "layers" in theirs}
    assert inside == {
        "layers.{}.first.kernel": {"by": "transposed", "to": "decoder.layers.{}.feed_forward.w_1.weight"},
        "layers.{}.second.kernel": {"by": "transposed", "to": "decoder.layers.{}.feed_forward.w_2.weight"},
    }


def test_what_two_tensors_could_be_is_left_blank(tmp_path: Path) -> None:
    """Two layers of an output net, and two tables of words on one side."""
    named = {name: one for name, one in PUBLISHED["minGPT"].items() if not name.startswith("head")}
    named |= linear("out.0", "") | linear("out.3", "", TGT) | linear("out.5", "", TGT)
    named |= {"tok_emb2.weight": ((TGT, D), ())}
    _, text = written(tmp_path, named)
    assert not {"generator.weight", "tgt_embedding.weight"} & {ours[0] for ours in guessed(text).values()}
    assert f"  # tok_emb2.weight:  # {TGT} × {D}" in text


@pytest.mark.parametrize("rows", [(D, D, D), (D, 4, 3), (D, 5, 5)])
def test_shapes_that_make_no_attention_are_left_blank(tmp_path: Path, rows: tuple[int, int, int]) -> None:
    named = dict(PUBLISHED["like Llama"])
    for i in range(2):
        for part, n in zip("qkv", rows, strict=True):
            named[f"net.layers.{i}.attention.{part}_proj.weight"] = ((n, D), ())
    found = guessed(written(tmp_path, named)[1])
    assert any("self_attn.w_" in ours[0] for ours in found.values()) == (rows == (D, D, D))


def test_the_way_that_shapes_do_not_tell_is_left_to_the_user(tmp_path: Path) -> None:
    """qkv_proj is published in blocks and by head."""
    named = {name.replace("c_attn", "qkv_proj"): one for name, one in PUBLISHED["like GPT-2"].items()}
    raw, text = written(tmp_path, named)
    assert not any("w_q" in ours[0] for ours in guessed(text).values())
    opened = text.replace("  # layers.{}.attention.qkv_proj:", "  layers.{}.attention.qkv_proj:")
    opened = re.sub(r"^  # (  (by|to):|    - )", r"  \1", opened, flags=re.MULTILINE)
    opened = opened.replace("config:\n", "config:\n  pad_id: -1\n  n_heads: 3\n")
    assert imported(with_mapping(raw, opened), {})[1].config.n_decoder_layers == 2


def test_norms_of_outputs_are_known_by_their_names(tmp_path: Path) -> None:
    def places(norms: tuple[str, ...]) -> list[str]:
        named = {name: one for name, one in PUBLISHED["like Llama"].items() if "_norm" not in name}
        for i in range(2):
            named |= {f"net.layers.{i}.{one}.weight": ((D,), ()) for one in norms}
        found = guessed(written(tmp_path, named)[1])
        return [found[f"net.layers.{{}}.{one}.weight"][0].split(".")[-2] for one in norms]

    after = ("post_attention_norm", "post_feedforward_norm")
    assert places(after) == ["self_attn_post_norm", "feed_forward_post_norm"]
    assert places(("input_norm", after[0], "pre_feedforward_norm", after[1])) == [
        "self_attn_norm",
        "self_attn_post_norm",
        "feed_forward_norm",
        "feed_forward_post_norm",
    ]


def test_a_remark_stands_where_a_choice_is_the_user_s(tmp_path: Path) -> None:
    """Rotary pairs where no table of positions is stored, and which side the only stack is."""
    without, both, table = (
        written(tmp_path, PUBLISHED[name])[1] for name in ("like Llama", "tunz", "minGPT")
    )
    assert without.count("pairs_apart") == 2
    assert "rotated_pairs" not in table + both
    assert "taken for a decoder" in table
    assert "taken for" not in both


def test_a_gate_fused_with_its_matrix_is_split_in_an_order_that_the_user_checks(tmp_path: Path) -> None:
    for is_turned in (False, True):
        named = {name: one for name, one in PUBLISHED["like Llama"].items() if ".mlp." not in name}
        for i in range(2):
            for theirs, shape in (("dense_in", (2 * D_FF, D)), ("dense_out", (D, D_FF))):
                named[f"net.layers.{i}.mlp.{theirs}.weight"] = (shape[::-1] if is_turned else shape, ())
        raw, text = written(tmp_path, named)
        assert yaml.safe_load(text)["names"]["net.layers.{}.mlp.dense_in"] == {
            "by": ["transposed", "blocks"] if is_turned else "blocks",
            "to": ["decoder.layers.{}.feed_forward.w_1", "decoder.layers.{}.feed_forward.w_3"],
        }
        assert "# shapes don't tell the order: w_1 is the half that is activated" in text
        text = text.replace("config:\n", "config:\n  pad_id: -1\n")
        config = imported(with_mapping(raw, text), {})[1].config
        assert (config.gated, config.d_ff) == (True, D_FF)


def test_masks_by_their_numbers_and_embeddings_stored_twice_are_left_out(tmp_path: Path) -> None:
    state = state_dict(PUBLISHED["dreamgonfly"], torch.Generator().manual_seed(1))
    table = "encoder.embedding.embbedding.weight"
    far = torch.full((LENGTH, LENGTH), -torch.inf)
    state |= {"seen": torch.ones(LENGTH, dtype=torch.bool), "later": far.triu(1), "nearly": far.triu(2)}
    state |= {"emb_again.weight": state[table].clone(), "emb_other.weight": state[table] + 1}
    text = template(raw_of(tmp_path, state))
    assert yaml.safe_load(text)["ignored"] == {
        "seen": "a mask, which Headlight makes itself",
        "later": "a mask, which Headlight makes itself",
        "emb_again.weight": f"the same numbers as {table}",
    }
    assert f"  # nearly:  # {LENGTH} × {LENGTH}" in text


def test_the_number_of_heads_and_the_places_of_norms_are_those_that_are_possible(tmp_path: Path) -> None:
    without = {name: one for name, one in PUBLISHED["like Llama"].items() if "norm" not in name}
    names = ("input_norm", "post_attention_norm", "pre_feedforward_norm", "post_feedforward_norm")
    both: Named = {f"{name}.weight": ((D,), ()) for name in names}
    apart, one, two, none = (
        written(tmp_path, named)[1]
        for named in (
            PUBLISHED["TransformerLens"],
            PUBLISHED["tunz"],
            without | stack("net.layers", "decoder", both, 2),
            without,
        )
    )
    assert "# n_heads: 3  " in apart
    assert "# n_heads: 8\n" in one
    places = [re.findall(r"# norm_position: (\w+) ", text) for text in (one, two, none)]
    assert places == [["pre"], ["both"], ["none"]]
