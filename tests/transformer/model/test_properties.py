"""Properties of every Transformer, whatever its weights.

Most are checked to 1e-12 in float64, where rounding hides nothing; users see float32.
"""

from __future__ import annotations

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import cross_entropy

from tests.support.crosses import full
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
    relative_deviation,
    tiny_config,
    tiny_transformer,
    trace_of,
    with_pair,
)
from transformer.model.trace import Editor, Recorder
from transformer.model.transformer import SequenceTooLongError, Transformer

TOLERANCE = 1e-12
FLOAT32_TOLERANCE = 1e-6

FORMS: list[dict[str, object]] = [
    {},
    {"norm_position": "pre", "final_norm": True, "activation": "gelu", "positions": "learned"},
]
ANY_KIND = pytest.mark.parametrize("kind", KINDS)
ANY_FORM = pytest.mark.parametrize("form", FORMS, ids=["post", "pre"])


def run(model: Transformer, src: Tensor | None, tgt: Tensor | None, tapped: bool) -> Tensor:
    """The logits, with explicit attention (tapped) or the fused kernel."""
    logits: Tensor = model(src, tgt, tap=Recorder()) if tapped else model(src, tgt)
    return logits


@pytest.mark.parametrize("kind", ["encoder-decoder", "decoder-only"])
@pytest.mark.parametrize("tapped", [True, False], ids=["tapped", "untapped"])
@given(changed=st.integers(1, TGT_LENGTH - 1), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=6)
def test_a_later_token_changes_no_earlier_output(kind: str, tapped: bool, changed: int, seed: int) -> None:
    model = tiny_transformer(**KINDS[kind])
    src, _ = batch(model.config)
    tgt = random_ids(model.config.tgt_vocab_size, 2, TGT_LENGTH, seed=seed)
    other = tgt.clone()
    other[:, changed] = 1 + other[:, changed] % (model.config.tgt_vocab_size - 1)
    before, after = run(model, src, tgt, tapped), run(model, src, other, tapped)
    assert torch.equal(before[:, :changed], after[:, :changed])
    assert deviation(before[:, changed:], after[:, changed:]) > 1e-2, "but it changes its own"


def test_every_source_token_changes_every_output() -> None:
    """The encoder attends in both directions, and the decoder to all of the source."""
    model = tiny_transformer()
    src = random_ids(model.config.src_vocab_size, 1, SRC_LENGTH)
    tgt = random_ids(model.config.tgt_vocab_size, 1, TGT_LENGTH)
    before = model(src, tgt)
    for position in range(SRC_LENGTH):
        other = src.clone()
        other[:, position] = 1 + other[:, position] % (model.config.src_vocab_size - 1)
        difference = (model(other, tgt) - before).abs().amax(dim=-1)  # (1, T)
        assert difference.min() > 1e-4


@ANY_FORM
def test_in_float32_it_is_the_same_but_for_rounding(form: dict[str, object]) -> None:
    """Recorded or not, cached or not, padded or not; the tolerance is relative to the largest logit."""
    model, src, tgt = with_pair(tiny_transformer(**form))
    logits = model(src, tgt)
    state = model.start(src)
    cached = torch.cat([model.step(tgt[:, [i]], state) for i in range(TGT_LENGTH)], dim=1)
    assert relative_deviation(run(model, src, tgt, tapped=True), logits) < FLOAT32_TOLERANCE
    assert relative_deviation(cached, logits) < FLOAT32_TOLERANCE
    alone = model(one(src, 1), one(tgt, 1))
    assert relative_deviation(alone[0], logits[1, : alone.shape[1]]) < FLOAT32_TOLERANCE


@pytest.mark.parametrize("tapped", [True, False], ids=["tapped", "untapped"])
def test_sentences_of_padding_only(tapped: bool) -> None:
    """Fully masked rows in all three attentions: finite numbers everywhere, forward and backward."""
    model, src, tgt = with_pair(tiny_transformer().double())
    src[0], tgt[0] = PAD_ID, PAD_ID
    logits = run(model, src, tgt, tapped)
    logits.square().sum().backward()
    assert logits.isfinite().all()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    assert deviation(logits[1:], model(src[1:], tgt[1:])) < TOLERANCE, "the other sentence does not notice"


@ANY_KIND
def test_weights_are_probabilities_of_unmasked_keys(kind: str) -> None:
    """Masked are the keys' padding and, in the decoder's self-attention, the future."""
    model = tiny_transformer(**KINDS[kind])
    src, tgt = batch(model.config)
    trace = trace_of(model, src, tgt)
    paths = [path.removesuffix(".weights") for path in trace if path.endswith(".weights")]
    assert paths
    for path in paths:
        weights, mask = trace[f"{path}.weights"], trace[f"{path}.mask"]
        assert deviation(weights.sum(dim=-1), torch.ones(weights.shape[:-1])) < FLOAT32_TOLERANCE
        assert torch.equal(weights > 0, mask.expand_as(weights)), "exactly 0 where masked, else above 0"
        keys = src if path.startswith("encoder") or "cross_attn" in path else tgt
        assert keys is not None
        expected = (keys != PAD_ID)[:, None, None].expand(2, 1, weights.shape[-2], -1)
        if path.startswith("decoder") and "self_attn" in path:
            expected = expected.tril()
        assert torch.equal(mask.expand_as(expected), expected)


def test_shared_matrices_are_one() -> None:
    joined: dict[str, object] = {"src_vocab_size": 31, "share_embeddings": True}
    model = tiny_transformer(**joined)
    assert model.src_embedding.weight is model.tgt_embedding.weight
    assert model.generator.weight is model.tgt_embedding.weight
    untied = tiny_transformer(**joined, tie_generator=False)
    assert untied.generator.weight is not untied.tgt_embedding.weight
    assert tiny_transformer().src_embedding.weight is not tiny_transformer().tgt_embedding.weight
    only = tiny_transformer(**KINDS["encoder-only"])
    assert only.generator.weight is only.src_embedding.weight


@pytest.mark.parametrize(
    "kind, form",
    [
        ("encoder-decoder", FORMS[0]),
        ("decoder-only", FORMS[1]),
        pytest.param("encoder-only", FORMS[0], marks=pytest.mark.full),
    ],
)
def test_a_small_model_overfits_one_batch(kind: str, form: dict[str, object]) -> None:
    model = tiny_transformer(**KINDS[kind], **form)
    src, tgt = batch(model.config)
    n_tokens = SRC_LENGTH if tgt is None else TGT_LENGTH
    labels = random_ids(model.generator.out_features, 2, n_tokens, seed=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    loss = torch.tensor(torch.inf)
    for _ in range(120):
        loss = cross_entropy(model(src, tgt).flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.05
    assert torch.equal(model(src, tgt).argmax(dim=-1), labels)


@pytest.mark.parametrize(
    "path, head",
    [
        ("encoder.layers.1.self_attn", 0),
        ("decoder.layers.0.self_attn", 2),
        ("decoder.layers.2.cross_attn", 1),
    ],
)
def test_ablating_a_head_is_zeroing_its_columns_of_w_o(path: str, head: int) -> None:
    model, src, tgt = with_pair(tiny_transformer().double())

    def ablate(z: Tensor) -> Tensor:
        z[:, head] = 0.0
        return z

    ablated = model(src, tgt, tap=Editor({f"{path}.z": ablate}))
    without = copy.deepcopy(model)
    columns = slice(head * model.config.d_head, (head + 1) * model.config.d_head)
    with torch.no_grad():
        without.get_parameter(f"{path}.w_o.weight")[:, columns] = 0.0
    assert deviation(ablated, without(src, tgt)) < TOLERANCE
    assert deviation(ablated, model(src, tgt)) > 1e-3


@pytest.mark.parametrize("tapped", [True, False], ids=["tapped", "untapped"])
def test_dropout_is_for_training_only(tapped: bool) -> None:
    model, src, tgt = with_pair(tiny_transformer(dropout=0.5))
    assert torch.equal(run(model, src, tgt, tapped), run(model, src, tgt, tapped))
    model.train()
    assert not torch.equal(run(model, src, tgt, tapped), run(model, src, tgt, tapped))


@pytest.mark.parametrize(
    "changes",
    [
        {"norm_position": "both", "n_encoder_layers": 1, "n_decoder_layers": 1},
        *full(*KINDS.values()),
    ],
)
def test_compiles_as_one_graph(changes: dict[str, object]) -> None:
    """NO_TAP leaves no trace of the tap: the whole forward is one graph."""
    torch.compiler.reset()
    model = tiny_transformer(**changes).double()
    src, tgt = batch(model.config)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    assert deviation(compiled(src, tgt), model(src, tgt)) < TOLERANCE


def test_initial_weights() -> None:
    """Drawn from the generator; embeddings times sqrt(d_model) have scale 1, projections preserve scale."""
    models = [Transformer(tiny_config(), torch.Generator().manual_seed(seed)) for seed in (5, 5, 6)]
    first, same, other = (torch.cat([p.flatten() for p in model.parameters()]) for model in models)
    assert torch.equal(first, same)
    assert not torch.equal(first, other)
    model = Transformer(tiny_config(src_vocab_size=1009), torch.Generator().manual_seed(0))
    assert model.src_embedding.weight.std().item() * 66**0.5 == pytest.approx(1, abs=0.02)
    layer = model.encoder.layers[0]
    assert layer.get_parameter("self_attn.w_q.weight").std().item() * 66**0.5 == pytest.approx(1, abs=0.05)
    assert torch.equal(layer.get_parameter("self_attn_norm.gamma"), torch.ones(66))
    assert not layer.get_parameter("self_attn.w_q.bias").any()


@ANY_KIND
def test_missing_and_useless_inputs_are_refused(kind: str) -> None:
    model = tiny_transformer(**KINDS[kind])
    src, tgt = pair_batch(tiny_config())
    if kind != "decoder-only":
        with pytest.raises(ValueError, match=f"This {kind} model needs src"):
            model(None, None if kind == "encoder-only" else tgt)
    if kind != "encoder-only":
        with pytest.raises(ValueError, match=f"This {kind} model needs tgt"):
            model(None if kind == "decoder-only" else src, None)
    if kind != "encoder-decoder":
        with pytest.raises(ValueError, match=f"This {kind} model has no use for"):
            model(src, tgt)


def test_unequal_batches_and_sentences_that_are_too_long_are_refused() -> None:
    model, src, tgt = with_pair(tiny_transformer())
    with pytest.raises(ValueError, match="src has 1 sentences and tgt 2"):
        model(src[:1], tgt)
    longest, too_long = torch.ones(2, 13, dtype=torch.long), torch.ones(2, 14, dtype=torch.long)
    assert model(longest, longest).shape == (2, 13, 31)
    for inputs in ((too_long, tgt), (src, too_long)):
        with pytest.raises(SequenceTooLongError, match="14 tokens are more than this model's 13 positions"):
            model(*inputs)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("tapped", [True, False], ids=["tapped", "untapped"])
def test_half_precision_is_close(dtype: torch.dtype, tapped: bool) -> None:
    model, src, tgt = with_pair(tiny_transformer())
    expected = model(src, tgt)
    logits = run(copy.deepcopy(model).to(dtype), src, tgt, tapped)
    assert logits.dtype == dtype
    assert deviation(logits.float(), expected) < 0.15


def test_one_token_and_one_word() -> None:
    """Every size is the smallest possible."""
    model = tiny_transformer(src_vocab_size=2, tgt_vocab_size=2, d_model=2, n_heads=1, d_ff=1, max_len=1)
    logits = model(torch.tensor([[1]]), torch.tensor([[1]]))
    assert logits.shape == (1, 1, 2)
    assert logits.isfinite().all()
