"""Each mistake computes what its wrong line, repeated here, gives for the recorded numbers."""

from __future__ import annotations

import math
from functools import cache

import pytest
import torch
from torch import Tensor

from tests.pages.lab.mistakes.cases import SENTENCES, case
from transformer.model.attention import MultiHeadAttention
from transformer.model.trace import Trace
from viz.pages.lab.mistakes import MISTAKES, Broken

KIND, TEXT = "toy-en-it", SENTENCES[2]
ATTENTIONS = [
    *(f"encoder.layers.{layer}.self_attn" for layer in range(2)),
    *(f"decoder.layers.{layer}.{name}" for layer in range(2) for name in ("self_attn", "cross_attn")),
]


@cache
def broken(name: str) -> Broken:
    """A mistake made on the sentence."""
    return MISTAKES[name].broken(case(KIND, TEXT))


def trace(name: str) -> Trace:
    """The trace of a mistake's broken run."""
    return broken(name).run.trace


def closed_by(path: str) -> Tensor:
    """The sound mask of an attention."""
    return case(KIND, TEXT).run.trace[f"{path}.mask"]


def same(one: Tensor, other: Tensor) -> bool:
    """Equal up to rounding."""
    return torch.allclose(one, other, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("path", ATTENTIONS)
def test_softmax_over_the_queries(path: str) -> None:
    record = trace("softmax-over-queries")
    scores = record[f"{path}.scores"].masked_fill(~closed_by(path), -math.inf)
    assert same(record[f"{path}.weights"], scores.softmax(dim=-2))


@pytest.mark.parametrize("path", ATTENTIONS)
def test_scores_are_not_divided_or_by_too_much(path: str) -> None:
    """d_head is 32 and d_model 128."""
    for name, divisor in (("scores-unscaled", 1.0), ("scaled-by-d-model", math.sqrt(128))):
        record = trace(name)
        products = record[f"{path}.q"] @ record[f"{path}.k"].transpose(-2, -1)
        assert same(record[f"{path}.scores"], products / divisor)
        assert same(record[f"{path}.weights"].sum(dim=-1), torch.ones(1))


@pytest.mark.parametrize("path", ATTENTIONS)
def test_heads_are_only_reshaped(path: str) -> None:
    record = trace("heads-untransposed")
    z, w_o = record[f"{path}.z"], case(KIND, TEXT).loaded.model.get_submodule(f"{path}.w_o")
    assert same(record[f"{path}.out"], w_o(z.reshape(1, z.shape[2], -1)))


@pytest.mark.parametrize("path", ATTENTIONS)
def test_masks_that_let_through(path: str) -> None:
    closed = ~closed_by(path)
    inverted, added, finite = (trace(f"mask-{name}") for name in ("inverted", "added", "finite"))
    wrong = inverted[f"{path}.scores"].masked_fill(~closed, -1e9).softmax(dim=-1)
    assert same(inverted[f"{path}.weights"], wrong)
    wrong = (added[f"{path}.scores"] + (~closed).float()).softmax(dim=-1)
    assert same(added[f"{path}.weights"], wrong)
    wrong = finite[f"{path}.scores"].masked_fill(closed, 0.0).softmax(dim=-1)
    assert same(finite[f"{path}.weights"], wrong)


def test_what_is_recorded_as_open_has_all_the_weight() -> None:
    """Pictures leave closed cells empty, which would hide what these mistakes let through."""
    for name in ("inverted", "added", "finite"):
        record = trace(f"mask-{name}")
        for path in ATTENTIONS:
            weights, mask = record[f"{path}.weights"], record[f"{path}.mask"]
            assert not weights.masked_select(~mask.expand(weights.shape)).any()


def test_a_row_without_keys_makes_all_rows_nan() -> None:
    record = trace("fully-masked-row")
    first = record["decoder.layers.0.self_attn.weights"][0]
    assert first[:, 0].isnan().all()
    assert first[:, 1:].isfinite().all()
    assert not first[:, 1:].diagonal(1, -2, -1).any(), "no token looks at itself"
    assert record["decoder.layers.1.self_attn.weights"].isnan().all()
    assert record["encoder.layers.1.resid_post"].isfinite().all()


def test_nothing_hides_the_future() -> None:
    record = trace("no-causal-mask")
    for layer in range(2):
        assert (record[f"decoder.layers.{layer}.self_attn.weights"] > 0).all()
        assert record[f"decoder.layers.{layer}.self_attn.mask"].all()
    for layer in range(2):
        path = f"encoder.layers.{layer}.self_attn.weights"
        assert torch.equal(record[path], case(KIND, TEXT).run.trace[path])


def test_padding_is_read_like_words() -> None:
    """Without the mistake, words get the same numbers in the padded run as without padding."""
    sound, wrong = broken("padding-unmasked").sound, broken("padding-unmasked").run
    assert sound.encoder_input is not None
    n_words = len(case(KIND, TEXT).run.trace.src_tokens[0])
    assert len(sound.encoder_input.ids) == n_words + 4
    assert set(sound.encoder_input.ids[n_words:]) == {0}
    assert same(sound.trace["logits"], case(KIND, TEXT).run.trace["logits"])
    assert (wrong.trace["encoder.layers.0.self_attn.weights"][..., n_words:] > 0).all()
    assert (wrong.trace["decoder.layers.0.cross_attn.weights"][..., n_words:] > 0).all()


def test_embeddings_are_not_scaled_or_divided() -> None:
    run, model = case(KIND, TEXT).run, case(KIND, TEXT).loaded.model
    assert run.encoder_input is not None
    rows = model.src_embedding.weight[list(run.encoder_input.ids)]
    assert same(trace("embeddings-unscaled")["src_embedding.tokens"][0], rows)
    assert same(trace("embeddings-divided")["src_embedding.tokens"][0], rows / math.sqrt(128))


def test_all_tokens_get_the_position_of_their_sentence() -> None:
    for side in ("src_embedding", "tgt_embedding"):
        positions = trace("positions-along-batch")[f"{side}.positions"][0]
        assert (positions == positions[:1]).all()
        assert torch.equal(positions[0], case(KIND, TEXT).run.trace[f"{side}.positions"][0, 0])


def test_the_wavelengths_are_those_of_the_wrong_line() -> None:
    for i in range(0, 128, 2):
        angles = {"exponent-doubled": 3 / 10_000 ** (2 * i / 128), "base-1000": 3 / 1_000 ** (i / 128)}
        for name, angle in angles.items():
            positions = trace(name)["src_embedding.positions"][0, 3]
            assert positions[i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert positions[i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)
            sound = case(KIND, TEXT).run.trace["src_embedding.positions"][0, 3]
            assert i == 0 or positions[i] != sound[i]


def test_the_final_norm_is_left_out_or_taken_twice() -> None:
    norm = case(KIND, TEXT).loaded.model.decoder.final_norm
    assert norm is not None
    generator = case(KIND, TEXT).loaded.model.generator
    stream = trace("final-norm-missing")["decoder.layers.1.resid_post"]
    assert same(trace("final-norm-missing")["logits"], generator(stream))
    stream = trace("final-norm-doubled")["decoder.layers.1.resid_post"]
    assert same(trace("final-norm-doubled")["logits"], generator(norm(norm(stream))))


def test_a_norm_over_tokens_is_torchs_over_two_axes() -> None:
    record = trace("norm-over-tokens").norm("encoder.layers.0.self_attn_norm")
    expected = torch.nn.functional.layer_norm(record.input, record.input.shape[1:])
    assert same(record.normalized, expected)


def test_the_unbiased_deviation_is_the_annotated_transformers() -> None:
    record = trace("unbiased-deviation").norm("encoder.layers.0.self_attn_norm")
    assert same(record.scale, record.input.std(dim=-1, keepdim=True) + 1e-5)
    assert record.mean is not None
    assert same(record.normalized, (record.input - record.mean) / record.scale)


def test_dropout_zeroes_what_enters_the_first_layer() -> None:
    """One number in ten, the others scaled up, with its own generator: the same draws each time."""
    state = torch.get_rng_state()
    first = MISTAKES["dropout-on"].broken(case(KIND, TEXT)).run.trace
    assert torch.equal(torch.get_rng_state(), state)
    dropped = first["encoder.layers.0.resid_pre"] == 0
    assert 0.05 < dropped.float().mean() < 0.15
    assert same(first["encoder.layers.0.resid_pre"][~dropped] * 0.9, first["src_embedding.out"][~dropped])
    again = trace("dropout-on")
    assert all(torch.equal(first[path], again[path]) for path in first)


def test_without_the_shift_the_decoder_reads_what_it_must_predict() -> None:
    run, fed = case(KIND, TEXT).run, broken("no-shift").run
    assert fed.decoder_input is not None
    assert list(fed.decoder_input.ids) == [step.token_id for step in run.steps]
    assert fed.trace.tgt_tokens[0] == fed.decoder_input.tokens
    model = case(KIND, TEXT).loaded.model
    assert run.encoder_input is not None
    logits = model(torch.tensor([run.encoder_input.ids]), torch.tensor([fed.decoder_input.ids]))
    assert same(fed.trace["logits"], logits)
    assert [step.token_id for step in fed.steps] == [step.token_id for step in run.steps]


def test_cross_attention_the_wrong_way_round() -> None:
    """Queries are taken from the source's first tokens, keys from the target's."""
    record, model = trace("queries-from-memory"), case(KIND, TEXT).loaded.model
    attention = model.decoder.layers[0].get_submodule("cross_attn")
    assert isinstance(attention, MultiHeadAttention)
    n_queries, n_keys = record["decoder.layers.0.cross_attn.weights"].shape[-2:]
    assert n_queries > n_keys, "the source is the shorter: what is missing is filled up with zeros"
    memory = torch.nn.functional.pad(record["encoder.final_norm.result"], (0, 0, 0, n_queries - n_keys))
    queries = attention.split_heads(attention.w_q(memory))
    assert same(record["decoder.layers.0.cross_attn.q"], queries)
    target = record["decoder.layers.0.cross_attn_norm.result"][:, :n_keys]
    assert same(record["decoder.layers.0.cross_attn.v"], attention.split_heads(attention.w_v(target)))


def test_keys_stand_where_values_should() -> None:
    record, model = trace("keys-and-values-swapped"), case(KIND, TEXT).loaded.model
    attention = model.decoder.layers[1].get_submodule("cross_attn")
    assert isinstance(attention, MultiHeadAttention)
    memory = record["encoder.final_norm.result"]
    assert same(record["decoder.layers.1.cross_attn.k"], attention.split_heads(attention.w_v(memory)))
    assert same(record["decoder.layers.1.cross_attn.v"], attention.split_heads(attention.w_k(memory)))


def divergence(heads: Tensor) -> float:
    """Kullback-Leibler divergence in bits of heads (H, Q, K) from their average: mean of heads and rows."""
    ratio = torch.where(heads > 0, heads / heads.mean(dim=0), 1.0)
    return float((heads * ratio.log2()).sum(dim=-1).mean())


def test_the_average_is_that_of_the_heads_that_differ_most() -> None:
    reading = broken("heads-averaged").reading
    assert reading is not None
    heads, mean = reading.sound.weights, reading.broken.weights
    assert heads.shape[0] == 4
    assert torch.equal(mean, heads.mean(dim=0, keepdim=True))
    run = case(KIND, TEXT).run
    most = max((run.trace[f"{path}.weights"][0] for path in ATTENTIONS), key=divergence)
    assert torch.equal(heads, most)
    symptom = MISTAKES["heads-averaged"].symptom(case(KIND, TEXT), broken("heads-averaged"))
    assert symptom.broken == pytest.approx(divergence(most), abs=1e-4)
    assert (len(reading.sound.rows), len(reading.sound.columns)) == tuple(heads.shape[1:])


def test_a_row_is_labelled_with_the_token_that_it_reads() -> None:
    reading, run = broken("row-off-by-one").reading, case(KIND, TEXT).run
    assert reading is not None
    assert torch.equal(reading.sound.weights, reading.broken.weights)
    assert reading.broken.rows == run.trace.tgt_tokens[0]
    assert reading.sound.rows[:-1] == reading.broken.rows[1:]
    assert reading.sound.rows[-1] == case(KIND, TEXT).loaded.target.token(run.steps[-1].token_id)


def test_without_the_shift_the_text_is_that_of_the_best_tokens() -> None:
    """With the given target instead, nothing would seem to have changed."""
    loaded, fed = case(KIND, TEXT).loaded, broken("no-shift").run
    best = [step.top_ids[0] for step in fed.steps]
    assert fed.translation == loaded.target.decode([index for index in best if index != loaded.end_ids[0]])
    assert fed.translation != case(KIND, TEXT).run.translation
