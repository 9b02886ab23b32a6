"""An edit is the weight change that it claims, changes nothing else, and says why where it can't be made."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

import pytest
import torch
from torch import Tensor

from tests.support.kinds import KINDS
from tests.support.models import tiny_model
from tests.support.runs import MODELS, TEXT
from transformer.analysis.interventions.edited_model import edited_model, edited_run, rewritten
from transformer.analysis.interventions.edits import (
    AnyEdit,
    bound,
    mean,
    replace,
    resample,
    row,
    uniform,
    zero,
)
from transformer.analysis.interventions.outcomes import forward, outcomes
from transformer.analysis.interventions.questions import Question, suppressed_ids, word_questions
from transformer.errors import EditError
from transformer.loaded import LoadedModel
from transformer.model.attention import MultiHeadAttention
from transformer.run import Run, run_again, run_sentence

OTHER = "The cat saw the dog."
every_kind = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def attentions(loaded: LoadedModel) -> Mapping[MultiHeadAttention, list[str]]:
    """Each attention with its paths: several where layers share weights."""
    found: dict[MultiHeadAttention, list[str]] = {}
    for path, module in loaded.model.named_modules(remove_duplicate=False):
        if isinstance(module, MultiHeadAttention):
            found.setdefault(module, []).append(path)
    return found


def off(loaded: LoadedModel, module: MultiHeadAttention, head: int) -> None:
    """Zero the columns of W_O that read a head.

    Where heads are merged untransposed, those columns read other heads too: the head's values are zeroed.
    """
    own = slice(head * module.d_head, (head + 1) * module.d_head)
    with torch.no_grad():
        if module.transposed:
            module.w_o.weight[:, own] = 0
        else:
            module.w_v.weight[own] = 0
            module.w_v.bias[own] = 0


def assert_same(one: Run, other: Run, atol: float) -> None:
    """The last tensors of two runs, their text and their steps."""
    last = [*one.trace][-1]
    torch.testing.assert_close(one.trace[last], other.trace[last], atol=atol, rtol=0)
    assert one.target_ids == other.target_ids
    assert one.translation == other.translation
    assert [step.token_id for step in one.steps] == [step.token_id for step in other.steps]
    probabilities = [step.probability for step in one.steps]
    assert probabilities == pytest.approx([step.probability for step in other.steps], abs=1e-5)


@every_kind
def test_a_head_set_to_zero_is_a_head_whose_columns_of_w_o_are_zero(make: Callable[[], LoadedModel]) -> None:
    """For every attention of every kind: the target is read again, and for one head it is generated again."""
    loaded = make()
    run = run_sentence(loaded, TEXT)
    for place, (module, paths) in enumerate(attentions(loaded).items()):
        head = place % module.n_heads
        edits: dict[str, AnyEdit] = {f"{path}.z": zero(head=head) for path in paths}
        functions = bound(edits, loaded)
        changed = make()
        off(changed, list(attentions(changed))[place], head)
        expected = run_again(changed, run)
        assert_same(run_again(edited_model(loaded, functions), run), expected, 1e-6)
        # Attention without edits is computed by another kernel here.
        batched = forward(loaded, run, [{}, functions])[1]
        torch.testing.assert_close(batched, expected.trace[[*run.trace][-1]][0], atol=1e-5, rtol=1e-5)
        if place == 0:
            assert_same(edited_run(loaded, TEXT, edits), run_sentence(changed, TEXT), 1e-6)
            assert_same(rewritten(loaded, run, edits), run_sentence(changed, TEXT), 1e-6)


@every_kind
def test_nothing_edited_gives_the_same_bits(make: Callable[[], LoadedModel]) -> None:
    loaded = make()
    run = run_sentence(loaded, TEXT)
    again = edited_run(loaded, TEXT, {})
    assert list(again.trace) == list(run.trace)
    assert all(torch.equal(again.trace[path], run.trace[path]) for path in run.trace)
    assert_same(again, run, 0)
    itself: dict[str, AnyEdit] = {f"{paths[0]}.z": replace(run) for paths in attentions(loaded).values()}
    replaced = rewritten(loaded, run, itself)
    assert all(torch.equal(replaced.trace[path], run.trace[path]) for path in run.trace)


def test_a_sublayer_and_a_position_are_switched_off_alone() -> None:
    loaded, changed = tiny_model(), tiny_model()
    run = run_sentence(loaded, TEXT)
    path = "decoder.layers.1.feed_forward"
    with torch.no_grad():
        for parameter in changed.model.get_submodule(f"{path}.w_2").parameters():
            parameter.zero_()
    assert_same(edited_run(loaded, TEXT, {f"{path}.out": zero()}), run_sentence(changed, TEXT), 1e-6)
    path = "encoder.layers.0.self_attn.z"
    z = edited_run(loaded, TEXT, {path: zero(head=1, positions=[0, 3])}, "il cane").trace[path]
    expected = run.trace[path].clone()
    expected[:, 1, [0, 3]] = 0
    torch.testing.assert_close(z, expected)


def test_an_average_is_that_of_all_positions_of_the_sentences() -> None:
    loaded = tiny_model()
    path = "encoder.layers.1.self_attn.z"
    runs = [run_sentence(loaded, text) for text in (TEXT, OTHER)]
    vectors = torch.cat([run.trace[path][0, 2] for run in runs])  # (all positions, d_head)
    for edit in (mean([TEXT, OTHER], head=2), mean(runs, head=2)):
        found = edited_run(loaded, TEXT, {path: edit}).trace[path]
        torch.testing.assert_close(found[0, 2], vectors.mean(dim=0).expand_as(found[0, 2]))
        torch.testing.assert_close(found[0, :2], runs[0].trace[path][0, :2])


def test_resampled_vectors_are_another_run_s_and_the_same_for_a_seed() -> None:
    loaded = tiny_model()
    path, other = "decoder.layers.0.self_attn.z", run_sentence(loaded, OTHER)
    known = {tuple(vector.tolist()) for vector in other.trace[path][0, 1]}
    found = [edited_run(loaded, TEXT, {path: resample(other, head=1, seed=seed)}) for seed in (0, 0, 1)]
    drawn = [[tuple(vector.tolist()) for vector in run.trace[path][0, 1]] for run in found]
    assert set(drawn[0]) <= known
    assert len(set(drawn[0])) > 1
    assert drawn[0] == drawn[1] != drawn[2]
    # A target that is read at once is edited as it was when it grew.
    functions = bound({path: resample(other, head=1)}, loaded)
    again = run_again(edited_model(loaded, functions), found[0])
    torch.testing.assert_close(again.trace["logits"], found[0].trace["logits"], atol=1e-6, rtol=0)


@pytest.mark.parametrize("kind", ["words", "capped", "relative"])
def test_uniform_attention_is_one_over_the_open_keys(kind: str) -> None:
    loaded = MODELS[kind]()
    path = "decoder.layers.0.self_attn.weights"
    run = edited_run(loaded, TEXT, {path: uniform(head=1)})
    weights = run.trace[path][0]
    n = weights.shape[-1]
    is_open = torch.ones(n, n).tril()
    if kind == "capped":
        is_open = is_open.triu(-2)  # a window of 3
    expected = is_open / is_open.sum(dim=1, keepdim=True)
    torch.testing.assert_close(weights[1], expected)
    assert not torch.allclose(weights[0], expected, atol=1e-4)


def test_a_row_of_attention_set_by_hand_moves_those_values() -> None:
    loaded = tiny_model()
    path = "decoder.layers.2.cross_attn"
    run = edited_run(loaded, TEXT, {f"{path}.weights": row(2, [0.25, 0, 0.75], head=1)}, "il cane vedo")
    record = run.trace.attention("decoder", 2, "cross_attn")
    torch.testing.assert_close(record.weights[0, 1, 2, :4], torch.tensor([0.25, 0, 0.75, 0]))
    v = record.v[0, 1]
    torch.testing.assert_close(record.z[0, 1, 2], 0.25 * v[0] + 0.75 * v[2])
    own = run_sentence(loaded, TEXT, "il cane vedo").trace.attention("decoder", 2, "cross_attn")
    assert torch.equal(record.weights[0, 0], own.weights[0, 0])
    assert torch.equal(record.weights[0, 1, :2], own.weights[0, 1, :2])


def test_another_run_s_stream_continues_as_in_that_run() -> None:
    loaded = tiny_model()
    other = run_sentence(loaded, "The cat saw a dog yesterday.", "il cane")
    path = "encoder.layers.1.resid_post"
    found = edited_run(loaded, TEXT, {path: replace(other)}, "il cane")
    torch.testing.assert_close(found.trace["logits"], other.trace["logits"], atol=1e-6, rtol=0)
    one = edited_run(loaded, TEXT, {path: replace(other, positions=[1])}, "il cane").trace[path]
    own = run_sentence(loaded, TEXT, "il cane").trace[path]
    assert torch.equal(one[:, 1], other.trace[path][:, 1])
    assert torch.equal(one[:, 2:], own[:, 2:])


def test_positions_are_replaced_from_a_run_of_another_length() -> None:
    """Only they have to exist in both runs: in the source, and in a target while it grows past the other."""
    loaded = tiny_model()
    own = run_sentence(loaded, TEXT, "il cane vedo ho")
    for text, target in (("The dog.", "il"), (f"{TEXT} {OTHER}", "ho visto un gatto nero il cane")):
        other = run_sentence(loaded, text, target)
        for path in ("encoder.layers.0.resid_post", f"{ATTENTION}.k", f"{ATTENTION}.z", "logits"):
            found = edited_run(loaded, TEXT, {path: replace(other, positions=[1, 0])}, "il cane vedo ho")
            after = found.trace[path]
            assert after.shape == own.trace[path].shape
            assert torch.equal(after[..., :2, :], other.trace[path][..., :2, :])
            assert torch.equal(after[..., 2:, :], own.trace[path][..., 2:, :])
        weights = "decoder.layers.0.self_attn.weights"
        edits = {weights: replace(other, positions=[1], head=2)}
        after = edited_run(loaded, TEXT, edits, "il cane vedo ho").trace[weights]
        torch.testing.assert_close(after[0, 2, 1, :2], other.trace[weights][0, 2, 1, :2])
        assert not after[0, 2, 1, 2:].any()
        written = rewritten(loaded, own, {f"{ATTENTION}.z": replace(other, positions=[1])})
        assert len(written.target_ids) > 3
        assert torch.equal(
            written.trace[f"{ATTENTION}.z"][..., 1, :], other.trace[f"{ATTENTION}.z"][..., 1, :]
        )


ATTENTION = "decoder.layers.1.cross_attn"
STREAM = "encoder.layers.0.resid_post"
REFUSED: dict[str, tuple[str, Callable[[LoadedModel], AnyEdit], str]] = {
    "no such tensor": (
        "decoder.layers.9.cross_attn.z",
        lambda _: zero(),
        "The model has no tensor decoder.layers.9.cross_attn.z, so the edit changed nothing. Did you mean "
        "decoder.layers.",
    ),
    "no such head": (f"{ATTENTION}.z", lambda _: zero(head=3), f"{ATTENTION}.z has heads 0 to 2, not 3."),
    "no heads": (STREAM, lambda _: zero(head=0), f"{STREAM} is not divided into heads"),
    "no such position": (STREAM, lambda _: zero(positions=[1, 99]), "has positions 0 to 7, not 99."),
    "a negative position": (STREAM, lambda _: zero(positions=[-1]), "has positions 0 to 7, not -1."),
    "no such query": (f"{ATTENTION}.weights", lambda _: row(99, [1]), "has positions 0 to 2, not 99."),
    "another length": (
        STREAM,
        lambda loaded: replace(run_sentence(loaded, "The dog.")),
        f"{STREAM} is (1, 8, 30) here and (1, 4, 30) in the other run: both texts need the same number of",
    ),
    "another length of the source that the decoder reads": (
        f"{ATTENTION}.v",
        lambda loaded: replace(run_sentence(loaded, f"{TEXT} {OTHER}", "il cane")),
        f"{ATTENTION}.v is (1, 3, 8, 10) here and (1, 3, 14, 10) in the other run: both texts need the same",
    ),
    "a position that the other run lacks": (
        STREAM,
        lambda loaded: replace(run_sentence(loaded, "The dog."), positions=[1, 5]),
        f"{STREAM} has 8 positions here and 4 in the other run, which has no position 5: give positions that",
    ),
    "a query of another source": (
        f"{ATTENTION}.weights",
        lambda loaded: replace(run_sentence(loaded, "The dog.", "il cane"), positions=[1]),
        "(1, 3, 3, 4) in the other run: both texts need the same number of tokens.",
    ),
    "too many weights": (
        f"{ATTENTION}.weights",
        lambda _: row(0, [0] * 8 + [1]),
        f"There are 9 weights for {ATTENTION}.weights, which has 8 keys there.",
    ),
    "not finite": (f"{ATTENTION}.weights", lambda _: row(0, [float("nan")]), "are not all finite."),
    "a row of other tensors": (
        f"{ATTENTION}.z",
        lambda _: row(0, [1]),
        "row() changes attention weights: give it for a path that ends with .weights.",
    ),
    "uniform values": (f"{ATTENTION}.v", lambda _: uniform(), "uniform() changes attention weights"),
    "a mean of scores": (f"{ATTENTION}.scores", lambda _: mean([OTHER]), "has one number per key"),
    "a mean of nothing": (f"{ATTENTION}.z", lambda _: mean([]), "A mean needs at least one sentence."),
    "a run without it": (
        f"{ATTENTION}.z",
        lambda _: resample(run_sentence(KINDS["masked"](), OTHER)),
        f"The other run has no {ATTENTION}.z.",
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_an_edit_that_makes_no_sense_says_why(why: str) -> None:
    loaded = tiny_model()
    path, make, message = REFUSED[why]
    with pytest.raises(EditError, match=re.escape(message)):
        edited_run(loaded, TEXT, {path: make(loaded)}, "il cane")


def test_two_edits_of_one_tensor_and_another_shape_are_refused() -> None:
    loaded = tiny_model()
    path = "encoder.layers.0.self_attn"
    edits: dict[str, AnyEdit] = {f"{path}.weights": uniform(), f"{path}.scores": torch.zeros_like}
    with pytest.raises(EditError, match=f"Two edits change {path}.scores: make them one."):
        edited_run(loaded, TEXT, edits)
    with pytest.raises(ValueError, match="changed its shape"):
        edited_run(loaded, TEXT, {f"{path}.z": lambda z: z[:, :1]})
    run = run_sentence(loaded, TEXT)
    with pytest.raises(ValueError, match="changed its shape"):
        outcomes(loaded, run, [{}, {f"{path}.z": lambda z: z[:, :1]}], word_questions(loaded, run)[:1])


@pytest.mark.parametrize("kind", ["words", "relative", "prompted", "shared", "masked", "shifted"])
def test_variants_in_one_batch_are_the_runs_that_they_are_alone(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of tensors that the whole batch shares, such as positions, and in batches of three."""
    loaded = MODELS[kind]()
    run = run_sentence(loaded, TEXT)
    half = partial(torch.mul, 0.5)
    ends = (".positions", ".z", ".position_bias", ".mask", ".k")
    paths = [path for path in run.trace if path.endswith(ends)]
    variants = [{}, *({path: (_closed if path.endswith("mask") else half)} for path in paths)]
    questions = word_questions(loaded, run)[:3]
    monkeypatch.setattr("transformer.analysis.interventions.outcomes.MOST_ROWS", 3)
    counts: list[tuple[int, int]] = []
    found = outcomes(loaded, run, variants, questions, lambda done, of: counts.append((done, of)))
    assert counts[-1] == (len(variants), len(variants))
    for variant, values in zip(variants, found, strict=True):
        alone = _alone(loaded, run, variant, questions)
        torch.testing.assert_close(values, alone, atol=1e-5, rtol=1e-5)


def _closed(mask: Tensor) -> Tensor:
    mask[..., -1] = False
    return mask


def _alone(
    loaded: LoadedModel, run: Run, variant: Mapping[str, Callable[[Tensor], Tensor]], asked: list[Question]
) -> Tensor:
    logits = run_again(edited_model(loaded, variant), run).trace["logits"]
    suppressed = suppressed_ids(loaded, run)
    return torch.stack([question.value(logits, suppressed)[0] for question in asked])


def test_the_model_and_the_run_stay_as_they_were() -> None:
    loaded = tiny_model()
    run = run_sentence(loaded, TEXT)
    before = {path: tensor.clone() for path, tensor in run.trace.items()}
    weights = {name: tensor.clone() for name, tensor in loaded.model.state_dict().items()}
    edits: dict[str, AnyEdit] = {path: zero() for path in ("src_embedding.positions", f"{ATTENTION}.z")}
    assert edited_run(loaded, TEXT, edits).trace["logits"] is not run.trace["logits"]
    rewritten(loaded, run, {STREAM: replace(run_sentence(loaded, "A dog see the cat yesterday."))})
    assert all(torch.equal(before[path], run.trace[path]) for path in run.trace)
    assert all(torch.equal(weights[name], tensor) for name, tensor in loaded.model.state_dict().items())
