"""The path shows the run's own numbers of the followed token, and each step continues the one before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.pages.step_by_step.stages.ways import SIDES, way_of
from tests.support.models import tiny_model
from transformer.model.trace import Stack
from transformer.run import run_sentence
from transformer.text.coder import SpecialTokens
from transformer.text.ids import IdCoder
from viz.components.path import Part, Step, strongest_of_blocks
from viz.pages.step_by_step.path.sentences import phrase
from viz.pages.step_by_step.path.steps import steps_of
from viz.pages.step_by_step.stages.walk import stages_of
from viz.pages.step_by_step.stages.way import Way


def steps(name: str, stack: Stack) -> tuple[Way, list[Step]]:
    way = way_of(name, stack)
    return way, steps_of(stages_of(way), way)


def vectors(part: Part) -> list[bytes]:
    rows = part.values if part.form == "rows" else [part.values]
    return [np.ascontiguousarray(row).tobytes() for row in rows]


@pytest.mark.parametrize("name, stack", SIDES)
def test_each_step_of_a_layer_continues_an_earlier_one(name: str, stack: Stack) -> None:
    """What moves was there before; only the memory comes from the encoder's other rows."""
    _, path = steps(name, stack)
    known: set[bytes] = set()
    for step in path:
        moving = [part for part in step.parts if part.role == "in" and part.form in ("strip", "bars")]
        if step.chapter in ("Self-attention", "Cross-attention", "Feed-forward") and known:
            for part in moving:
                assert vectors(part)[0] in known, f"{step.name}: {part.name}"
        for part in step.parts:
            known.update(vectors(part))


@pytest.mark.parametrize("name, stack", SIDES)
def test_every_step_says_what_comes_of_it(name: str, stack: Stack) -> None:
    _, path = steps(name, stack)
    assert [step.name for step in path] == [stage.name for stage in stages_of(way_of(name, stack))]
    for step in path:
        assert step.parts[-1].role == "out"
        assert "out" in [role for role, _ in step.sentence], step.name
        for part in step.parts:
            if part.form == "rows":
                assert len(part.values) == len(part.labels), f"{step.name}: {part.name}"
            if part.form in ("rows", "bars", "words") and part.marked is not None:
                assert part.marked < len(part.labels)


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_the_numbers_are_those_of_the_followed_row(stack: Stack) -> None:
    way, path = steps("toy-en-it", stack)
    row = way.position if stack == "decoder" else way.source
    by_name = {step.name: step.parts[-1].values for step in path}
    attention = way.run.trace.attention(stack, way.layer, "self_attn")
    np.testing.assert_array_equal(by_name["self-q"], attention.q[0, way.head, row])
    np.testing.assert_array_equal(by_name["self-k"], attention.k[0, way.head])
    np.testing.assert_array_equal(by_name["self-weights"], attention.weights[0, way.head, row])
    np.testing.assert_array_equal(by_name["self-z"], attention.z[0, way.head, row])


def test_typed_ids_are_counted_as_ids() -> None:
    coder = IdCoder(rows=13, special_tokens=SpecialTokens(pad=0, bos=1, eos=2, unk=None))
    loaded = replace(tiny_model(), source=coder, target=coder)
    way = Way(loaded, run_sentence(loaded, "9 10 11", "7 8"), "encoder", 0, 0, 0)
    stages = stages_of(way)
    assert "".join(text for _, text in steps_of(stages, way)[0].sentence) == (
        "The ids as they were typed: 3 ids."
    )
    assert stages[0].notice.endswith("so the ids themselves are typed: `9 10 11`, 3 in all.")
    assert stages[1].notice.startswith("3 tokens of a vocabulary of 13. ")
    assert [stages[0].result.rows.title, stages[1].operands[0].matrix.rows.title] == ["id", "id"]


def test_what_is_compared_has_one_scale() -> None:
    _, path = steps("toy-en-it", "decoder")
    by_name = {step.name: step.parts for step in path}
    before, _, after = by_name["self-scale"]
    assert before.scale == after.scale
    query, keys, _ = by_name["self-scores"]
    assert query.scale == keys.scale == before.scale
    x, added, total = by_name["self-sum"]
    assert x.scale == added.scale == total.scale
    assert by_name["self-norm"][0].scale == x.scale, "a norm reads the sum"
    assert by_name["self-norm"][-1].scale != x.scale


def test_a_token_in_a_sentence_is_data() -> None:
    assert phrase("{x:in} and {y}.", x="{y:out}", y="{") == [
        ("in", "{y:out}"),
        ("", " and "),
        ("", "{"),
        ("", "."),
    ]


def test_a_reduced_matrix_keeps_each_block_s_largest_magnitude() -> None:
    values = np.array([[1, -3, 2, 0], [0, 2, -1, -5]], np.float32)
    np.testing.assert_array_equal(strongest_of_blocks(values, (1, 2)), [[-3, -5]])
    np.testing.assert_array_equal(strongest_of_blocks(values), values)
