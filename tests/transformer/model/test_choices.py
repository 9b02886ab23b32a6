"""Properties of models with any choices, and single choices against independent computations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tests.transformer.model.core import (
    KINDS,
    PAD_ID,
    SRC_LENGTH,
    TGT_LENGTH,
    batch,
    deviation,
    one,
    pair_batch,
    random_ids,
    tiny_transformer,
    trace_of,
    with_pair,
)
from tests.transformer.model.forms import any_model
from transformer.decoding.greedy import greedy, greedy_batch
from transformer.decoding.request import DecodingRequest
from transformer.model.attention import MultiHeadAttention
from transformer.model.trace import NO_TAP, Editor, Recorder
from transformer.model.transformer import Transformer

TOLERANCE = 1e-12

UNTRANSPOSED: dict[str, object] = {"merge_heads": "untransposed"}


@any_model("encoder-decoder", "decoder-only")
@given(cuts=st.sets(st.integers(1, TGT_LENGTH - 1)))
@example(cuts={1, 2, 3, 4})
@example(cuts={3})
@settings(max_examples=6)
def test_cached_and_uncached_decoding_agree(changes: dict[str, object], cuts: set[int]) -> None:
    """Token by token, in chunks of any size, all at once; in a batch with padding."""
    model = tiny_transformer(**changes).double()
    src, tgt = batch(model.config)
    assert tgt is not None
    state = model.start(src, batch_size=len(tgt))
    chunks = [model.step(tgt[:, i:j], state) for i, j in pairwise([0, *sorted(cuts), TGT_LENGTH])]
    assert deviation(torch.cat(chunks, dim=1), model(src, tgt)) < TOLERANCE


@any_model("encoder-decoder")
def test_ended_sentences_leave_the_batch_without_a_trace(changes: dict[str, object]) -> None:
    model, src, _ = with_pair(tiny_transformer(**changes | {"has_generator": True}).double())

    def request(ends: Sequence[int]) -> DecodingRequest:
        return DecodingRequest(start_ids=[1], end_ids=ends, max_new_tokens=9, suppressed_ids=(PAD_ID,))

    def alone(row: Tensor, ends: Sequence[int]) -> list[int]:
        words = row if model.config.pad_id < 0 else row[row != PAD_ID]
        steps = greedy(model, words[None], request(ends))
        return [step.token_id for step in steps if step.token_id not in ends]

    ends = alone(src[0], ())[3:4]
    assert [list(one.ids) for one in greedy_batch(model, src, request(ends))] == [
        alone(row, ends) for row in src
    ]


@any_model(*KINDS)
def test_recording_changes_nothing_and_every_parameter_gets_a_gradient(changes: dict[str, object]) -> None:
    model = tiny_transformer(**changes).double()
    src, tgt = batch(model.config)
    outputs = []
    for tap in (NO_TAP, Recorder()):
        out = model(src, tgt, tap=tap)
        goal = torch.randn(out.shape, generator=torch.Generator().manual_seed(0)).double()
        model.zero_grad()
        (out - goal).square().sum().backward()
        outputs.append(out)
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            largest = parameter.grad.abs().max()
            is_rotated = "cross_attn" not in name and model.config.positions == "rotary"
            is_capped = model.config.attention_soft_cap > 0
            added_to_keys = "k_norm.beta" if model.config.query_key_norm else "w_k.bias"
            if name.endswith(added_to_keys) and not is_rotated and not is_capped:
                assert largest < 1e-10, "it adds the same to all scores of a query, which softmax ignores"
            else:
                assert largest > 1e-6, name
    assert deviation(*outputs) < TOLERANCE


@any_model(*KINDS)
@given(
    lengths=st.lists(st.tuples(st.integers(1, 7), st.integers(1, 7)), min_size=1, max_size=4),
    more=st.integers(0, 3),
)
@example(lengths=[(SRC_LENGTH, TGT_LENGTH), (4, 3)], more=0)
@settings(max_examples=6)
def test_padding_changes_nothing(
    changes: dict[str, object], lengths: list[tuple[int, int]], more: int
) -> None:
    model = tiny_transformer(**changes | {"pad_id": PAD_ID}).double()
    sizes = (model.config.src_vocab_size, model.config.tgt_vocab_size)
    sides = [sentences(size, own, more) for size, own in zip(sizes, zip(*lengths, strict=True), strict=True)]
    together = model(*sides)
    for i in range(len(lengths)):
        alone = model(*(ids if ids is None else one(ids, i) for ids in sides))
        assert deviation(together[i, : alone.shape[1]], alone[0]) < TOLERANCE


def sentences(vocab_size: int, lengths: Sequence[int], more: int) -> Tensor | None:
    """Random sentences with `more` columns of padding; None for a model without that side."""
    if not vocab_size:
        return None
    ids = random_ids(vocab_size, len(lengths), max(lengths) + more, seed=sum(lengths))
    for row, length in zip(ids, lengths, strict=True):
        row[length:] = PAD_ID
    return ids


def test_without_a_padding_id_every_token_is_looked_at() -> None:
    model = tiny_transformer(pad_id=-1)
    trace = trace_of(model, *batch(model.config))
    assert trace["encoder.layers.0.self_attn.mask"].all()


def test_a_target_may_begin_with_the_token_that_pads() -> None:
    """As in Marian and T5: the decoder attends to it."""
    model, src, tgt = with_pair(tiny_transformer())
    tgt[:, 0] = PAD_ID
    trace = trace_of(model, src, tgt)
    weights = trace.attention("decoder", 0, "self_attn").weights
    assert (weights[:, :, :3, 0] > 0).all()
    assert not weights[1, :, :, 3:].any(), "the padding after it is closed as ever"
    state = model.start(src)
    steps = [model.step(tgt[:, [i]], state) for i in range(TGT_LENGTH)]
    assert deviation(torch.cat(steps, dim=1), trace["logits"]) < 1e-5


@torch.no_grad()
def test_grouped_heads_are_full_heads_with_equal_keys_and_values() -> None:
    """Neighbouring query heads share keys and values."""
    grouped = tiny_transformer(n_heads=6, n_kv_heads=2).double()
    weights = dict(grouped.state_dict())
    for name, weight in weights.items():
        if ".w_k." in name or ".w_v." in name:
            weights[name] = weight.unflatten(0, (2, 1, 11)).expand(2, 3, 11, *weight.shape[1:]).flatten(0, 2)
    full = tiny_transformer(n_heads=6).double()
    full.load_state_dict(weights)
    src, tgt = pair_batch(grouped.config)
    assert deviation(grouped(src, tgt), full(src, tgt)) < TOLERANCE
    record = trace_of(grouped, src, tgt).attention("decoder", 1, "cross_attn")
    assert record.k.shape[1] == record.v.shape[1] == 2
    assert record.q.shape[1] == record.weights.shape[1] == record.z.shape[1] == 6


@torch.no_grad()
def test_a_head_of_any_width_is_written_out() -> None:
    """One layer's self-attention with 3 heads of width 14, by einsum."""
    model, src, tgt = with_pair(tiny_transformer(d_head=14).double())
    record = trace_of(model, src, tgt)
    attention = model.encoder.get_submodule("layers.0.self_attn")
    assert isinstance(attention, MultiHeadAttention)
    w_q, w_k, w_v, w_o = (attention.get_parameter(f"w_{name}.weight") for name in "qkvo")
    assert w_q.shape == w_k.shape == w_v.shape == (42, 66)
    assert w_o.shape == (66, 42)
    x = record["encoder.layers.0.resid_pre"]
    q, k, v = (
        torch.einsum("btd,hed->bhte", x, w.unflatten(0, (3, 14))) + bias.unflatten(0, (3, 1, 14))
        for w, bias in ((w_q, attention.w_q.bias), (w_k, attention.w_k.bias), (w_v, attention.w_v.bias))
    )
    scores = torch.einsum("bhqe,bhke->bhqk", q, k) / 14**0.5
    open_keys = (src != PAD_ID)[:, None, None, :]
    weights = scores.masked_fill(~open_keys, -torch.inf).softmax(dim=-1)
    out = torch.einsum("bhqk,bhke,dhe->bqd", weights, v, w_o.unflatten(1, (3, 14))) + attention.w_o.bias
    assert deviation(record["encoder.layers.0.self_attn.weights"], weights) < TOLERANCE
    assert deviation(record["encoder.layers.0.self_attn.out"], out) < TOLERANCE


def test_a_relative_bias_is_recorded_in_each_layer_and_is_a_part_of_the_scores() -> None:
    model, src, tgt = with_pair(tiny_transformer(positions="relative").double())
    trace = trace_of(model, src, tgt)
    for path, n in (("encoder.layers.1.self_attn", 7), ("decoder.layers.2.self_attn", 5)):
        q, k, bias = (trace[f"{path}.{name}"] for name in ("q", "k", "position_bias"))
        assert bias.shape == (1, 3, n, n)
        assert deviation(trace[f"{path}.scores"], q @ k.mT / 22**0.5 + bias) < TOLERANCE
    assert "decoder.layers.0.cross_attn.position_bias" not in trace
    assert model.encoder.relative_bias is not model.decoder.relative_bias
    zeroed = Editor({f"encoder.layers.{i}.self_attn.position_bias": torch.zeros_like for i in range(2)})
    assert deviation(model(src, tgt, tap=zeroed), model(src, tgt)) > 1e-3


@pytest.mark.parametrize(
    "positions, knows", [("none", False), ("sinusoidal", True), ("relative", True), ("rotary", True)]
)
def test_an_encoder_knows_the_order_by_its_positions_alone(positions: str, knows: bool) -> None:
    model = tiny_transformer(**KINDS["encoder-only"], positions=positions).double()
    src = random_ids(29, 2, 7)
    order = torch.tensor([3, 0, 6, 2, 5, 1, 4])
    difference = deviation(model(src[:, order]), model(src)[:, order])
    assert difference > 1e-3 if knows else difference < TOLERANCE


@torch.no_grad()
def test_what_stands_before_the_generator() -> None:
    src = random_ids(29, 2, 7)
    plain = tiny_transformer(**KINDS["encoder-only"], logits_scale=True).double()
    trace = trace_of(plain, src, None)
    hidden = trace["encoder.layers.1.resid_post"]
    expected = nn.functional.linear(hidden / 66**0.5, plain.generator.weight, plain.generator.bias)
    assert deviation(trace["logits"], expected) < TOLERANCE

    model = tiny_transformer(**KINDS["encoder-only"], generator_transform=True, activation="gelu").double()
    trace = trace_of(model, src, None)
    head = model.generator_transform
    hidden = nn.functional.gelu(head.dense(trace["encoder.layers.1.resid_post"]))
    weights = dict(head.norm.named_parameters())
    hidden = nn.functional.layer_norm(hidden, (66,), weights["gamma"], weights["beta"], 1e-5)
    assert deviation(trace["logits"], model.generator(hidden)) < TOLERANCE
    assert deviation(trace["generator_transform.norm.result"], hidden) < TOLERANCE


def test_without_a_generator_hidden_states_come_out() -> None:
    model = tiny_transformer(**KINDS["encoder-only"], has_generator=False, final_norm=True)
    src = random_ids(29, 2, 7)
    trace = trace_of(model, src, None)
    assert torch.equal(model(src, tap=Recorder()), trace["encoder.final_norm.result"])
    assert "logits" not in trace
    assert not any("generator" in name for name in model.state_dict())


@pytest.mark.parametrize(
    "choices, biased",
    [
        ({"bias": True}, {"attention", "feed_forward", "generator"}),
        ({"bias": True, "attention_bias": False, "generator_bias": False}, {"feed_forward"}),
        ({"bias": False, "attention_bias": True}, {"attention"}),
        ({"bias": False, "generator_bias": True}, {"generator"}),
        ({"bias": False}, set()),
    ],
)
def test_which_layers_have_biases(choices: dict[str, object], biased: set[str]) -> None:
    names = {name for name in tiny_transformer(**choices).state_dict() if name.endswith(".bias")}
    kinds = {"attention": "_attn.w_", "feed_forward": "feed_forward.w_", "generator": "generator."}
    assert {kind for kind, part in kinds.items() if any(part in name for name in names)} == biased


@torch.no_grad()
def test_untransposed_merging_deals_the_rows_of_heads_out() -> None:
    """values.reshape(batch, length, d_model) of (batch, heads, length, d_head), as in the published code."""
    model, src, tgt = with_pair(tiny_transformer(**UNTRANSPOSED).double())
    trace = trace_of(model, src, tgt)
    for path, n in (("encoder.layers.0.self_attn", 7), ("decoder.layers.2.cross_attn", 5)):
        merged = trace[f"{path}.z"].contiguous().reshape(2, n, 66)
        w_o = model.get_submodule(path).get_submodule("w_o")
        assert deviation(trace[f"{path}.out"], w_o(merged)) < TOLERANCE
    assert deviation(model(src, tgt), trace["logits"]) < TOLERANCE


def test_untransposed_merging_is_decoded_from_the_whole_target_at_each_step() -> None:
    model, src, tgt = with_pair(tiny_transformer(**UNTRANSPOSED).double())
    state = model.start(src)
    for i in range(TGT_LENGTH):
        last = model.step(tgt[:, [i]], state)[:, -1]
        assert deviation(last, model(src, tgt[:, : i + 1])[:, -1]) < TOLERANCE
    state.select(torch.tensor([1]), torch.tensor([1, 1, 1]))
    three = model.step(tgt[1:, :1].expand(3, 1), state)
    longer = torch.cat((tgt[1:], tgt[1:, :1]), dim=1)
    assert deviation(three[:, -1], model(src[1:], longer)[:, -1].expand(3, -1)) < TOLERANCE


def test_a_skeleton_without_memory_for_weights_has_its_tables() -> None:
    """Sinusoids and buckets are not in files: they must exist before the weights are loaded."""
    for positions in ("sinusoidal", "relative", "rotary"):
        with torch.device("meta"):
            skeleton = Transformer(tiny_transformer(positions=positions).config)
        assert all(parameter.is_meta for parameter in skeleton.parameters())
        assert not any(buffer.is_meta for buffer in skeleton.buffers())
        filled = tiny_transformer(positions=positions)
        skeleton.load_state_dict(filled.state_dict(), assign=True)
        src, tgt = pair_batch(filled.config)
        assert torch.equal(skeleton.eval()(src, tgt), filled(src, tgt))
