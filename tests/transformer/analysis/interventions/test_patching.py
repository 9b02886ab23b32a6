"""Patching: each cell against a forward pass with hooks, the ends of the scale, and what is refused."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from copy import deepcopy
from functools import reduce
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.kinds import config_of
from tests.support.models import tiny_model
from tests.support.renumbered import MASK
from tests.support.runs import MODELS, ran
from transformer.analysis.interventions.edits import replace
from transformer.analysis.interventions.outcomes import Variant
from transformer.analysis.interventions.patch_places import Place, places
from transformer.analysis.interventions.patching import (
    DIRECTIONS,
    Direction,
    Pair,
    answer_of,
    pair_of,
    patch_grid,
    patch_of,
    patch_shares,
    run_pair,
    vectors_at,
)
from transformer.analysis.interventions.questions import against_next_best, word_questions
from transformer.decoding.greedy import next_token_probabilities
from transformer.errors import EditError, SentenceError
from transformer.loaded import LoadedModel
from transformer.model.trace import Stack
from transformer.model_input import padded
from transformer.run import force, run_again, run_sentence

TEXT, OTHER = "The dog saw a cat yesterday.", "The cat saw a cat yesterday."
ALL_OTHERS = "A cat see yesterday the dog."
WITH_GENERATOR = [kind for kind, make in MODELS.items() if config_of(make).has_generator]


def paired(kind: str) -> tuple[LoadedModel, Pair]:
    """A pair of a model of this kind, of its first word for which another sentence makes a difference."""
    loaded, run = ran(kind, TEXT, sharpness=3)
    for other, question in product((OTHER, ALL_OTHERS), word_questions(loaded, run)):
        try:
            return loaded, run_pair(loaded, run, other, question)
        except EditError:
            continue
    raise AssertionError("no word differs")


def in_float64(loaded: LoadedModel, pair: Pair) -> tuple[LoadedModel, Pair]:
    """The same pair, computed by a copy of the model."""
    exact = dataclasses.replace(loaded, model=deepcopy(loaded.model).double())
    clean, corrupt = (run_again(exact, run) for run in (pair.clean, pair.corrupt))
    return exact, pair_of(exact, clean, corrupt, pair.question)


@pytest.mark.parametrize("kind", WITH_GENERATOR)
def test_the_ends_of_the_scale(kind: str) -> None:
    """Nothing patched is exactly 0; all of the input, of cross-attention or of the last stream is 1."""
    loaded, pair = paired(kind)
    config = loaded.model.config
    stack: Stack = "encoder" if config.n_encoder_layers else "decoder"
    last: Stack = "decoder" if config.n_decoder_layers else "encoder"
    n_last = (config.n_decoder_layers or config.n_encoder_layers) - 1
    everything = [[f"{stack}.layers.0.resid_pre"], [f"{last}.layers.{n_last}.resid_post"], ["logits"]]
    if config.kind == "encoder-decoder":
        layers = range(config.n_decoder_layers)
        everything.append([f"decoder.layers.{layer}.cross_attn.{name}" for layer in layers for name in "kv"])
    (row,) = pair.question.rows
    for direction in DIRECTIONS:
        donor = pair.donor(direction)
        variants = [
            {path: edit for path in paths for edit in replace(donor).at(path, loaded).values()}
            for paths in everything
        ]
        shares = patch_shares(loaded, pair, [{}, *variants, {}], direction)
        assert shares[[0, -1]].tolist() == [0, 0]
        torch.testing.assert_close(shares[1:-1], torch.ones_like(shares[1:-1]), atol=1e-4, rtol=0)
        grid = patch_grid(loaded, pair, Place(last, None, "resid"), direction).shares
        only_there = torch.zeros(grid.shape[1], dtype=torch.float64)
        only_there[row] = 1
        torch.testing.assert_close(grid[-1], only_there, atol=1e-4, rtol=0)


@pytest.mark.parametrize("kind", ["words", "prompted", "masked"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_each_cell_is_a_forward_pass_in_which_a_hook_exchanges_it(kind: str, direction: Direction) -> None:
    loaded, pair = paired(kind)
    patched, donor = pair.patched(direction), pair.donor(direction)
    own, other = _answer(loaded, pair, direction, {}), _logit_difference(donor.trace["logits"], pair)
    config = loaded.model.config
    for place in [one for whole in places(config) for one in (whole, *whole.in_layers(config)[1:2])]:
        grid = patch_grid(loaded, pair, place, direction)
        assert len(grid.shares) == len(place.row_labels(config))
        for row, path in enumerate(place.paths(config)):
            for column in range(grid.shares.shape[1]):
                here = patched.trace[path].clone()
                index: tuple[Any, ...] = (..., column, slice(None))
                if place.tensor == "z":
                    index = (slice(None), column) if place.layer is None else (slice(None), row, column)
                here[index] = donor.trace[path][index]
                found = (_answer(loaded, pair, direction, {path: here}) - own) / (other - own)
                assert float(grid.shares[row, column]) == pytest.approx(found, abs=1e-4), (place, row, column)


@pytest.mark.parametrize("kind", ["words", "prompted", "masked", "untransposed"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_cells_of_a_layer_together_are_its_heads_and_its_positions(
    kind: str, direction: Direction
) -> None:
    """A row of heads x positions is that head at all positions; a column is all of z at a position.

    In float64: the cells are of batches of several sizes, whose float32 each processor rounds in its own way.
    """
    loaded, pair = in_float64(*paired(kind))
    config, donor = loaded.model.config, pair.donor(direction)
    for place in (place for place in places(config) if place.by_head):
        heads = patch_grid(loaded, pair, place, direction).shares
        for layer, one in enumerate(place.in_layers(config)):
            path = place.paths(config)[layer]
            grid = patch_grid(loaded, pair, one, direction).shares
            rows, columns = map(range, grid.shape)
            assert grid.shape == pair.clean.trace[path].shape[1:3]

            def cell(row: int, column: int, one: Place = one) -> Variant:
                return patch_of(loaded, pair, one, direction, row, column)

            by_head = [together(path, [cell(row, column) for column in columns]) for row in rows]
            by_position = [together(path, [cell(row, column) for row in rows]) for column in columns]
            whole = [replace(donor, positions=[column]).at(path, loaded) for column in columns]
            shares = patch_shares(loaded, pair, [*by_head, *by_position, *whole], direction)
            found, at_positions, expected = shares.split([len(rows), len(columns), len(columns)])
            torch.testing.assert_close(found, heads[layer], atol=1e-5, rtol=0)
            torch.testing.assert_close(at_positions, expected, atol=1e-5, rtol=0)
            assert grid.any() == heads[layer].any()


def together(path: str, variants: Sequence[Variant]) -> Variant:
    """One variant that makes the edits of several."""

    def edit(tensor: Tensor) -> Tensor:
        return reduce(lambda given, variant: variant[path](given), variants, tensor)

    return {path: edit}


def _logit_difference(logits: Tensor, pair: Pair) -> float:
    (row,), (index,) = pair.question.rows, pair.question.ids
    return float(logits[0, row, index] - logits[0, row, pair.question.rival_id])


def _answer(loaded: LoadedModel, pair: Pair, direction: Direction, tensors: dict[str, Tensor]) -> float:
    """The answer with some tensors given, without the tap: by hooks on the modules around them."""
    patched, model = pair.patched(direction), loaded.model
    handles = []
    for path, tensor in tensors.items():
        module, _, name = path.rpartition(".")
        target = {"z": f"{module}.w_o", "k": f"{module}.w_k", "v": f"{module}.w_v"}.get(name, module)
        merged = tensor.transpose(1, 2).flatten(-2) if tensor.dim() == 4 else tensor
        submodule = model.get_submodule(target)
        if name in ("z", "resid_pre"):
            handles.append(
                submodule.register_forward_pre_hook(lambda _, given, new=merged: (new, *given[1:]))
            )
        else:
            handles.append(submodule.register_forward_hook(_giving(merged)))
    try:
        src, tgt = (
            None if read is None else padded(loaded, [read.ids])
            for read in (patched.encoder_input, patched.decoder_input)
        )
        return _logit_difference(model(src, tgt), pair)
    finally:
        for handle in handles:
            handle.remove()


def _giving(new: Tensor) -> Any:
    return lambda module, given, out: new


def test_both_runs_have_the_target_up_to_the_question() -> None:
    loaded, run = ran("words")
    for question in word_questions(loaded, run)[:5]:
        try:
            pair = run_pair(loaded, run, OTHER, against_next_best(loaded, run, question))
        except EditError:
            continue
        assert pair.clean.target_ids == pair.corrupt.target_ids == run.target_ids[: question.rows[0] + 1]
        assert pair.exchanged == [1]
        own = pair.clean.trace["logits"][0, question.rows[0]]
        torch.testing.assert_close(own, run.trace["logits"][0, question.rows[0]])


def test_a_word_is_compared_with_the_one_that_the_other_run_prefers() -> None:
    loaded, run = ran("untransposed", sharpness=3)
    question = word_questions(loaded, run)[1]
    pair = run_pair(loaded, run, ALL_OTHERS, question)
    prefix = loaded.target.describe_ids(run.target.ids[: question.rows[0]])
    other = force(loaded, loaded.source.encode(ALL_OTHERS), prefix, ends=False)
    suppressed = loaded.target.special_tokens.suppressed
    probabilities = next_token_probabilities(other.trace["logits"][0, -1], suppressed)
    assert probabilities.argmax() == pair.question.rival_id
    assert pair.clean_value > 0 > pair.corrupt_value


def test_a_mask_is_a_question_too() -> None:
    loaded, run = ran("masked", f"The dog saw {MASK} cat.")
    (question,) = word_questions(loaded, run)
    pair = run_pair(loaded, run, f"The cat saw {MASK} cat.", question)
    grid = patch_grid(loaded, pair, Place("encoder", None, "resid"))
    assert grid.shares.shape == (4, len(run.trace.src_tokens[0]))
    assert float(grid.shares[0, pair.exchanged[0]]) == pytest.approx(1, abs=1e-4)


def test_what_can_not_be_patched_is_refused_with_the_numbers() -> None:
    loaded, run = ran("words")
    question = word_questions(loaded, run)[0]
    with pytest.raises(SentenceError, match=r"has 7 tokens and the other one 4 \(the \| dog"):
        run_pair(loaded, run, "The dog saw a", question)
    with pytest.raises(SentenceError, match="Both sentences are the same"):
        run_pair(loaded, run, TEXT.lower(), question)
    with pytest.raises(SentenceError):
        run_pair(loaded, run, "  ", question)
    weak = tiny_model()
    with torch.no_grad():
        weak.model.generator.weight.mul_(1e-3)
    with pytest.raises(EditError, match=r"difference of -?0\.00 in the sentence .* at least 0\.1"):
        run_pair(weak, run_sentence(weak, TEXT), OTHER, question)


def test_a_cell_tells_what_each_run_writes_and_has_there() -> None:
    loaded, pair = paired("words")
    (row,) = pair.question.rows
    for run, value in ((pair.clean, pair.clean_value), (pair.corrupt, pair.corrupt_value)):
        found = answer_of(loaded, run, pair.question)
        logits = run.trace["logits"][0, row]
        assert found.difference == pytest.approx(value)
        assert math.log(found.probability / found.rival_probability) == pytest.approx(value, abs=1e-4)
        logits = logits.clone()
        logits[list(loaded.target.special_tokens.suppressed)] = -torch.inf
        assert found.best == loaded.target.token(int(logits.argmax()))
        assert found.best_probability == pytest.approx(float(logits.softmax(dim=-1).max()))
    for place, here in (
        (Place("decoder", "cross_attn", "v"), (slice(None), 2)),
        (Place("encoder", "self_attn", "z"), (2, slice(None))),
        (Place("encoder", "self_attn", "z", 0), (1, 2)),
    ):
        path = place.paths(loaded.model.config)[1]
        own, other = (run.trace[path][0][here].flatten() for run in (pair.clean, pair.corrupt))
        expected = (own.norm(), other.norm(), torch.cosine_similarity(own, other, dim=0))
        assert vectors_at(loaded, pair, place, 1, 2) == pytest.approx([*map(float, expected)], abs=1e-5)


def test_progress_counts_up_and_can_end_it() -> None:
    loaded, pair = paired("long")
    place = Place("encoder", None, "resid")
    counts: list[tuple[int, int]] = []
    patch_grid(loaded, pair, place, on_progress=lambda done, of: counts.append((done, of)))
    assert [done for done, _ in counts] == sorted({done for done, _ in counts})
    assert counts[-1][0] == counts[-1][1]

    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        patch_grid(loaded, pair, place, on_progress=stop)
