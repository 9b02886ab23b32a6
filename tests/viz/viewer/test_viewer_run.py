"""A run in the viewer's form: each number and each token in its place, for every kind of model."""

from __future__ import annotations

import gc
from functools import cache
from itertools import product
from weakref import ref

import numpy as np
import pytest
import torch

from tests.support.models import tiny_model
from tests.support.renumbered import MASK
from tests.viz.viewer.runs import DECODERS, MODELS, vectors_of
from transformer.analysis.attention_maps import (
    ATTENTION_LABELS,
    MODULES,
    attention_record,
    words_of,
)
from transformer.analysis.edited import effect_of
from transformer.analysis.receipts.answering import answer
from transformer.analysis.receipts.receipt import Receipt
from transformer.loaded import LoadedModel
from transformer.run import Run, encode_sentence, run_sentence
from transformer.tracing import trace_batch
from viz.viewer.viewer_run import ViewerRun, view_run, view_sentence, view_weights

TEXT = "Yesterday I saw the dog."
TARGET = "the cat saw il cane ."
SELF = ("encoder", "decoder")


@cache
def viewed(kind: str, text: str = TEXT, target: str = "") -> tuple[LoadedModel, Run, ViewerRun]:
    loaded = MODELS[kind]()
    run = run_sentence(loaded, text, target)
    return loaded, run, view_run(run, loaded, typed=(text, target))


@pytest.mark.parametrize("kind", MODELS)
def test_it_has_every_attention_of_the_model_with_the_trace_s_numbers(kind: str) -> None:
    loaded, run, own = viewed(kind)
    config = loaded.model.config
    n_layers = {
        "encoder": config.n_encoder_layers,
        "decoder": config.n_decoder_layers,
        "cross": config.n_decoder_layers if config.n_encoder_layers else 0,
    }
    assert {name: view.n_layers for name, view in own.attentions.items()} == {
        name: count for name, count in n_layers.items() if count
    }
    for name, view in own.attentions.items():
        assert (view.name, view.queries) == (name, MODULES[name][0])
        assert view.keys == (name if name in SELF else "encoder")
        assert view.n_heads == config.n_heads
        assert view.kv_heads == (config.n_kv_heads or config.n_heads)
        assert view.label == (ATTENTION_LABELS[name] if len(own.attentions) > 1 else "Self-attention")
        assert view.has == ["scores", "vectors", "lengths", *["costs"] * config.has_generator]
        for layer in range(view.n_layers):
            assert view.path.format(layer=layer) == attention_record(run.trace, name, layer).path
            loaded.model.get_submodule(view.path.format(layer=layer))
            record = attention_record(run.trace, name, layer)
            assert view.scores is not None
            np.testing.assert_array_equal(view.weights(layer), record.weights[0].numpy())
            np.testing.assert_array_equal(view.scores(layer), record.scores[0].numpy())
            np.testing.assert_array_equal(view.allowed_in(layer), record.mask[0, 0].numpy())
            assert not view.weights(layer)[:, ~view.allowed_in(layer)].any()
            assert view.weights(layer).shape[1:] == (
                len(own.sides[view.queries].tokens),
                len(own.sides[view.keys].tokens),
            )


def test_a_head_costs_what_the_output_loses_without_it() -> None:
    loaded, run, own = viewed("relative")
    view = own.attentions["cross"]
    assert view.costs is not None

    def off(z: torch.Tensor) -> torch.Tensor:
        z[:, 2] = 0
        return z

    effect = effect_of(loaded, run, {"decoder.layers.1.cross_attn.z": off})
    probabilities = torch.tensor([step.probability for step in run.steps])
    expected = (probabilities.log() - effect.probabilities.log()).mean()
    assert view.costs(1)[2] == pytest.approx(float(expected), abs=1e-5)


@pytest.mark.parametrize("target", ["", TARGET])
def test_the_costs_of_all_heads_have_a_receipt(target: str) -> None:
    loaded, _, own = viewed("words", target=target)
    assert own.receipt is not None
    receipt = own.receipt()
    views = own.attentions.values()
    costs = [view.costs(layer) for view in views if view.costs for layer in range(view.n_layers)]
    assert np.concatenate(costs).tolist() == np.asarray(receipt.effects, np.float32).tolist()
    again = answer(loaded, Receipt.from_json(receipt.to_json()).inquiry)
    assert again.difference(receipt) < 1e-6


def test_heads_of_a_run_that_can_t_be_computed_again_have_no_costs() -> None:
    loaded, run, _ = viewed("words")
    own = view_run(run, loaded)
    assert own.receipt is None
    assert all("costs" not in view.has for view in own.attentions.values())


@pytest.mark.parametrize("kind", MODELS)
def test_the_scores_can_be_calculated_again_from_what_is_held(kind: str) -> None:
    loaded, _, own = viewed(kind)
    config = loaded.model.config
    for name, view in own.attentions.items():
        assert (view.scale != 1) == bool(config.attention_scale)
        assert ("√d_head" in view.formula) == (config.attention_scale is True)
        assert ("tanh" in view.formula) == (view.soft_cap > 0) == (kind == "capped")
        for layer, head in product(range(view.n_layers), range(view.n_heads)):
            vectors = vectors_of(view, layer, head)
            scores = vectors["q"] @ vectors["k"].T / view.scale + vectors.get("bias", 0)
            if cap := view.soft_cap:
                scores = cap * np.tanh(scores / cap)
            assert (
                ("bias" in vectors)
                == ("+ b" in view.formula)
                == (config.has_position_bias and name != "cross")
            )
            is_turned = config.rotary_base(view.queries, layer) > 0
            assert ("q_unrotated" in vectors) == ("k_unrotated" in vectors) == is_turned
            is_normed = config.query_key_norm in (True, "each_head")
            assert ("q_unnormed" in vectors) == ("k_unnormed" in vectors) == is_normed
            assert view.scores is not None
            np.testing.assert_allclose(view.scores(layer)[head], scores, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("kind", MODELS)
def test_what_the_heads_move_is_what_the_sublayer_gives(kind: str) -> None:
    """z is the weighted sum of v; what all heads move adds up to the output of W_O without its bias."""
    loaded, run, own = viewed(kind)
    for name, view in own.attentions.items():
        for layer in range(view.n_layers):
            weights = view.weights(layer)
            vectors = [vectors_of(view, layer, head) for head in range(view.n_heads)]
            for own_weights, for_head in zip(weights, vectors, strict=True):
                np.testing.assert_allclose(own_weights @ for_head["v"], for_head["z"], atol=1e-5)
            record = attention_record(run.trace, name, layer)
            heads = record.z[0].transpose(0, 1).reshape(weights.shape[1], -1)  # (Q, H * d_head)
            w_o = loaded.model.get_parameter(f"{record.path}.w_o.weight")
            moved = sum(w @ for_head["moved"] for w, for_head in zip(weights, vectors, strict=True))
            np.testing.assert_allclose(moved, (heads @ w_o.T).numpy(), atol=1e-4)
            expected = [np.linalg.norm(for_head["moved"], axis=-1) for for_head in vectors]
            lengths = view.lengths and view.lengths(layer)
            assert lengths is not None
            np.testing.assert_allclose(lengths, expected, rtol=1e-4, atol=1e-6)


def test_heads_that_share_keys_and_values_each_have_them() -> None:
    view = viewed("rotary")[2].attentions["decoder"]
    assert (view.n_heads, view.kv_heads) == (6, 2)
    shared = [vectors_of(view, 1, head) for head in range(6)]
    for first, same, other in ((0, 2, 3), (3, 5, 2)):
        for name in ("k", "v", "k_unrotated"):
            np.testing.assert_array_equal(shared[first][name], shared[same][name])
            assert not np.array_equal(shared[first][name], shared[other][name])


def test_where_heads_are_merged_by_mistake_nothing_is_said_of_what_one_moves() -> None:
    loaded = tiny_model(merge_heads="untransposed")
    for view in view_run(run_sentence(loaded, TEXT), loaded).attentions.values():
        assert view.has == ["scores", "vectors"]
        assert "moved" not in vectors_of(view, 0, 1)


# Tokens


@pytest.mark.parametrize("kind", MODELS)
def test_tokens_and_words_are_those_that_were_read(kind: str) -> None:
    _, run, own = viewed(kind)
    for stack, side in own.sides.items():
        assert side.tokens == run.trace.tokens(stack)[0]
        assert side.words is not None
        expected = words_of(run, stack)
        assert side.words.labels == expected.labels
        assert side.words.word_of.tolist() == expected.word_of.tolist()
        assert {side.words.labels[side.words.word_of[at]] for at in side.special} <= set(side.tokens)


@pytest.mark.parametrize(
    "kind, special",
    [
        ("prompted", {"decoder": []}),
        ("rotary", {"decoder": [0]}),
        ("masked", {"encoder": [0, -1]}),
        ("reader", {"encoder": [-1]}),
        ("relative", {"encoder": [-1], "decoder": [0]}),
        ("languages", {"encoder": [-2, -1], "decoder": [0, 1]}),
        ("words", {"encoder": [-1], "decoder": [0]}),
    ],
)
def test_special_tokens_are_those_around_the_sentence(kind: str, special: dict[str, list[int]]) -> None:
    _, _, own = viewed(kind)
    assert set(own.sides) == set(special)
    for stack, side in own.sides.items():
        assert [side.tokens[at] for at in side.special] == [side.tokens[at] for at in special[stack]]
        assert sorted(at % len(side.tokens) for at in special[stack]) == list(side.special)


def test_punctuation_is_told_from_words_and_special_tokens() -> None:
    text = 'Don\'t "see" the dog, ... <eos> 🦝!'
    side = viewed("sub-words", text)[2].sides["encoder"]
    assert side.words is not None
    of = ["".join(side.tokens[i] for i in side.words.tokens(word)) for word in range(len(side.words.labels))]
    marks = {side.words.labels[side.words.word_of[at]] for at in side.punctuation}
    assert {",", "!"} <= marks, of
    assert not {"see", "the", "dog", "🦝"} & marks
    assert not set(side.special) & set(side.punctuation)


@pytest.mark.parametrize(
    "kind, target", [*((kind, "") for kind in DECODERS), ("words", TARGET), ("languages", TARGET)]
)
def test_what_is_written_at_a_position_is_the_token_that_follows_it(kind: str, target: str) -> None:
    loaded, run, own = viewed(kind, target=target)
    side = own.sides["decoder"]
    n_before = len(run.target_ids) - len(run.target.ids) - 1
    if not run.steps:
        assert side.written == (), "without a generator nothing is written"
        return
    assert len(side.written) == len(side.tokens)
    assert side.written[:n_before] == (None,) * n_before, "what a target begins with is not the model's"
    assert side.written[n_before:-1] == side.tokens[n_before + 1 :], "unknown words as they were typed, too"
    ids = [step.token_id for step in run.steps]
    last = loaded.target.token(ids[-1]) if len(ids) > len(run.target.ids) else None
    assert side.written[-1] == last
    assert all(other.written == () for stack, other in own.sides.items() if stack != "decoder")


@pytest.mark.parametrize("kind", DECODERS)
@pytest.mark.parametrize("target", ["", TARGET])
def test_the_texts_of_the_tokens_written_make_the_output(kind: str, target: str) -> None:
    loaded, run, own = viewed(kind, target=target)
    side = own.sides["decoder"]
    before = "" if run.encoder_input else loaded.target.decode(run.source.ids)
    if "\ufffd" not in run.translation:  # bytes that spell nothing are named one by one
        assert before + "".join(side.spelled) == run.translation or not side.written
    steps = [step for step in side.predicted if step is not None]
    assert [step.probability for step in steps] == [step.probability for step in run.steps][: len(steps)]


def test_masks_are_filled_in_place_so_nothing_is_written_after_a_token() -> None:
    assert viewed("masked", f"I {MASK} the dog.")[2].sides["encoder"].written == ()


def test_the_unit_is_the_model_s() -> None:
    assert viewed("words")[2].unit == "word"
    assert viewed("sub-words")[2].unit == "sub-word"


# A sentence of a batch


@pytest.mark.parametrize("sentence", [0, 1])
def test_a_sentence_of_a_batch_has_its_own_numbers_and_its_padding(sentence: int) -> None:
    loaded = tiny_model(2)
    texts = ("the dog saw a cat .", "a cat")
    trace = trace_batch(loaded, [encode_sentence(loaded, "source", text, "sentence") for text in texts])
    own = view_sentence(trace, loaded, sentence)
    for name, view in own.attentions.items():
        for layer in range(view.n_layers):
            record = attention_record(trace, name, layer)
            assert view.scores is not None
            np.testing.assert_array_equal(view.weights(layer), record.weights[sentence].numpy())
            np.testing.assert_array_equal(view.scores(layer), record.scores[sentence].numpy())
            np.testing.assert_array_equal(view.allowed, record.mask[sentence, 0].numpy())
            for head in range(view.n_heads):
                for vector in "qkvz":
                    expected = getattr(record, vector)[sentence, head].numpy()
                    np.testing.assert_array_equal(vectors_of(view, layer, head)[vector], expected)
    for stack, side in own.sides.items():
        assert side.tokens == trace.tokens(stack)[sentence]
        named = {at for at, token in enumerate(side.tokens) if token in ("<bos>", "<eos>", "<pad>", "<unk>")}
        assert set(side.special) == named
    padding = [at for at, token in enumerate(own.sides["encoder"].tokens) if token == "<pad>"]
    assert len(padding) == (0, 4)[sentence]
    assert not own.attentions["encoder"].allowed[:, padding].any()


# Weights alone


def random_weights(*shape: int, allowed: np.ndarray | None = None) -> np.ndarray:
    weights = np.random.default_rng(3).random(shape, dtype=np.float32) + np.float32(0.1)
    weights *= 1 if allowed is None else allowed
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True), np.float32)


CAUSAL = np.tri(5, dtype=bool)


def test_of_weights_alone_tokens_and_weights_are_known_and_nothing_else() -> None:
    tokens = ["[CLS]", "the", "<s>", "<", "[", "<|endoftext|>", "."]
    layers = {"encoder": [random_weights(3, 7, 7)] * 2, "cross": [random_weights(2, 5, 7)] * 4}
    own = view_weights(
        {"encoder": layers["encoder"], "cross": layers["cross"]}, {"encoder": tokens, "decoder": "abcde"}
    )
    assert {n: (f.n_layers, f.n_heads) for n, f in own.attentions.items()} == {
        "encoder": (2, 3),
        "cross": (4, 2),
    }
    for name, view in own.attentions.items():
        assert view.has == []
        assert view.allowed.all()
        assert view.allowed.shape == layers[name][0].shape[1:]
        for layer, weights in enumerate(layers[name]):
            np.testing.assert_array_equal(view.weights(layer), weights)
    assert (own.attentions["cross"].queries, own.attentions["cross"].keys) == ("decoder", "encoder")
    assert own.sides["encoder"].tokens == tuple(tokens)
    assert own.sides["encoder"].special == (0, 2, 5)
    assert own.sides["encoder"].punctuation == (4, 6)


def test_a_map_in_which_no_head_looks_ahead_is_causal() -> None:
    causal = [random_weights(3, 5, 5, allowed=CAUSAL) for _ in range(2)]

    def allowed(*layers: np.ndarray) -> np.ndarray:
        return view_weights({"decoder": layers}, {"decoder": "abcde"}).attentions["decoder"].allowed

    np.testing.assert_array_equal(allowed(*causal), CAUSAL)
    one_looks_ahead = causal[1].copy()
    one_looks_ahead[2, 0, 1] = 1e-6
    assert allowed(causal[0], one_looks_ahead).all()
    assert allowed(random_weights(3, 5, 5)).all()


def test_a_map_of_one_token_or_of_unequal_sides_is_not_taken_for_causal() -> None:
    for shape in ((2, 1, 1), (2, 3, 5), (2, 5, 3)):
        only_first = np.zeros(shape, np.float32)
        only_first[..., 0] = 1
        own = view_weights({"cross": [only_first]}, {"decoder": "a" * shape[1], "encoder": "b" * shape[2]})
        assert own.attentions["cross"].allowed.all()


def test_a_run_prepared_again_remembers_what_was_computed_and_is_forgotten_with_its_numbers() -> None:
    loaded = tiny_model(5)
    run = run_sentence(loaded, TEXT)
    view_run(run, loaded).once("count", lambda: [1])
    again = view_run(run, loaded)
    assert again.once("count", lambda: [2]) == [1]
    assert again.sides is view_run(run, loaded).sides
    assert view_run(run_sentence(loaded, TEXT), loaded).once("count", lambda: [3]) == [3]
    trace = ref(run.trace)
    del run, again
    gc.collect()
    assert trace() is None, "nothing that is remembered holds the run's tensors"
