"""Every stage's numbers are those of the run, and follow from its operands."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tests.pages.step_by_step.stages.recomputed import recomputed
from tests.pages.step_by_step.stages.ways import MODELS, SIDES, model_of, run_of, way_of
from transformer.model.trace import Stack
from viz.components.architecture import blocks_of
from viz.pages.checkpoint.drawing import stacks_of
from viz.pages.step_by_step.stages.walk import stages_of

COMPUTE_NOTHING = {
    *("text", "tokens", "ids", "segments", "positions", "target-tokens", "target-ids", "target-positions"),
    *("memory", "layers-before", "layers-after", "encoder-layers", "decoder-layers", "choice", "round"),
}
"""Stages of words, of lookups by position, and of many layers at once."""


@pytest.mark.parametrize("name, stack", SIDES)
def test_each_result_follows_from_its_operands(name: str, stack: Stack) -> None:
    for layer in (0, -1):
        way = way_of(name, stack, layer)
        stages = stages_of(way)
        for stage in stages:
            own = recomputed(stage, way)
            assert (own is None) == (stage.name in COMPUTE_NOTHING), stage.name
            if own is not None:
                np.testing.assert_allclose(
                    stage.result.values, own, atol=1e-5, rtol=1e-5, err_msg=f"{stage.name}, layer {way.layer}"
                )


@pytest.mark.parametrize("name, stack", SIDES)
def test_what_is_shown_is_the_part_of_the_recorded_tensor_that_is_named(name: str, stack: Stack) -> None:
    way = way_of(name, stack)
    stages = stages_of(way)
    for stage in stages:
        assert stage.result.values.dtype == np.float32, stage.name
        if stage.path:
            tensor = way.run.trace[stage.path]
            assert len(stage.shape) == tensor.ndim
        if stage.path and stage.part:
            np.testing.assert_array_equal(tensor[stage.part].numpy(), stage.result.values, stage.name)
    told = {stage.path for stage in stages}
    layer = f"{stack}.layers.{way.layer}."
    left_out = {path.removeprefix(layer) for path in way.run.trace if path.startswith(layer)} - {
        path.removeprefix(layer) for path in told
    }
    # Operands, the parts of a norm, and tensors recorded again under another name.
    norms = ("input", "mean", "scale", "normalized", "q_norm.result", "k_norm.result")
    operands = ("position_bias", "resid_pre", "resid_mid", "resid_mid_cross", "resid_post")
    # One expert is shown.
    others = tuple(f"feed_forward.experts.{i}." for i in range(way.config.n_experts))
    assert sum(any(f".{expert}" in path for path in told) for expert in others) == (way.config.n_experts > 0)
    left_out = {path for path in left_out if not path.startswith(others)}
    assert {path for path in left_out if not path.endswith((*norms, *operands))} == set()


@pytest.mark.parametrize("layer, step", [(0, 0), (1, 0), (1, 2)])
def test_a_title_names_the_expert_that_is_shown(layer: int, step: int) -> None:
    way = way_of("experts", "decoder", layer, step=step)
    routing = way.run.trace[f"decoder.layers.{layer}.feed_forward.routing"]
    shown = int(routing[0, way.position].argmax())
    titles = {stage.name: stage.title for stage in stages_of(way)}
    for name in ("ff-gate", "ff-hidden", "ff-out"):
        assert titles[name].endswith(f", in expert {shown}")


@pytest.mark.parametrize("name, stack", SIDES)
def test_what_goes_into_a_stage_was_there_before(name: str, stack: Stack) -> None:
    """The chain has no gap: an operand is a weight, an earlier result, or marked as computed on the spot."""
    stages = stages_of(way_of(name, stack))
    known: dict[str, list[np.ndarray]] = {}
    for stage in stages:
        for one in stage.operands:
            values = one.matrix.values
            if any(
                word in one.matrix.path for word in ("resid_", ".out", "_norm.result", ".weights", ".hidden")
            ):
                assert any(
                    np.array_equal(values, earlier) for earlier in known.get(one.matrix.path, [])
                ) or any(np.array_equal(values, earlier) for all_ in known.values() for earlier in all_), (
                    f"{stage.name}: {one.matrix.path}"
                )
        known.setdefault(stage.result.path, []).append(stage.result.values)


@pytest.mark.parametrize("name, stack", SIDES)
def test_each_stage_has_a_name_a_place_and_something_to_notice(name: str, stack: Stack) -> None:
    way = way_of(name, stack)
    stages = stages_of(way)
    names = [stage.name for stage in stages]
    assert len(names) == len(set(names))
    blocks = {block.path for column in stacks_of(way.config) for block in blocks_of(column)}
    for stage in stages:
        assert stage.block in blocks, stage.name
        assert stage.notice
        assert stage.code
        assert any(character.isdigit() for character in stage.notice), f"{stage.name} tells no number"
        for one in (stage.result, *(operand.matrix for operand in stage.operands)):
            assert one.values.shape == (len(one.rows.labels), len(one.columns.labels)), stage.name
    reached = {stage.block for stage in stages}
    other = {block for block in blocks if ".layers." in block and not block.startswith(stack)}
    assert blocks - other <= reached, "a block without a stage can't be jumped to"


@pytest.mark.parametrize("name", MODELS)
def test_source_and_target_differ_in_length(name: str) -> None:
    run = run_of(name)
    assert not run.encoder_input or len(run.encoder_input.ids) != len(run.target_ids)


@pytest.mark.parametrize(
    "name, stack, has, has_not",
    [
        ("toy-en-it", "decoder", {"scaled", "positions", "self-scale", "cross-q", "self-norm"}, {"ff-gate"}),
        ("rotary", "decoder", {"self-q-rotary", "self-k-norm", "self-groups"}, {"positions", "scaled"}),
        ("relative", "encoder", {"self-bias", "logits-scale", "ff-gate"}, {"self-scale", "positions"}),
        ("masked", "encoder", {"segments", "embedding-norm", "transform", "transform-norm"}, {"round"}),
        ("reader", "encoder", {"scaled", "self-norm"}, {"logits", "encoder-final-norm"}),
        ("stacks", "decoder", {"memory", "encoder-layers"}, {"positions", "logits", "sum"}),
        ("prompted", "decoder", {"decoder-final-norm", "round"}, {"cross-q", "scaled", "memory"}),
    ],
)  # fmt: skip
def test_a_model_has_the_stages_that_it_has(
    name: str, stack: Stack, has: set[str], has_not: set[str]
) -> None:
    names = {stage.name for stage in stages_of(way_of(name, stack))}
    assert has <= names
    assert not has_not & names


def test_norms_stand_before_or_after_their_sublayer() -> None:
    pre = [stage.name for stage in stages_of(way_of("toy-en-it", "decoder"))]
    post = [stage.name for stage in stages_of(way_of("masked", "encoder"))]
    assert ("self-norm", "self-q") in pairwise(pre)
    assert ("self-sum", "self-norm") in pairwise(post)


@pytest.mark.parametrize("name", ["toy-en-it", "prompted", "languages"])
def test_the_token_and_what_the_next_step_reads(name: str) -> None:
    """Each row's token is that of the run's step, and the next row reads it last."""
    run, loaded = run_of(name), model_of(name)
    for number, step in enumerate(run.steps):
        stages = {stage.name: stage for stage in stages_of(way_of(name, "decoder", step=number))}
        token = loaded.target.token(step.token_id)
        assert stages["choice"].result.words == (token,)
        read = stages["round"].operands[0].matrix.words
        following = stages["round"].result.words
        assert following == ((*read, token) if number + 1 < len(run.steps) else read)
        assert ("teacher forcing" in stages["choice"].notice) == (not run.generated)
