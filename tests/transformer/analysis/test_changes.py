"""Two runs of the same tokens are compared stage by stage; they diverge where one was changed."""

from __future__ import annotations

import torch

from tests.support.models import tiny_model
from transformer.analysis.changes import changes, distance, first_parted, head_changes
from transformer.model.trace import Edit, Editor, Recorder, Trace

SRC, TGT = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 5, 6]])
WEIGHTS = "encoder.layers.1.self_attn.weights"


def trace(edits: dict[str, Edit] | None = None) -> Trace:
    recorder = Recorder()
    with torch.inference_mode():
        tiny_model().model(SRC, TGT, Editor(edits or {}, recorder))
    return Trace(recorder.records, ["a b c d".split()], ["x y z".split()])


def flat(head: int) -> dict[str, Edit]:
    """Edits that make one head of the encoder's layer 1 uniform."""

    def edit(weights: torch.Tensor) -> torch.Tensor:
        weights[:, head] = 1 / weights.shape[-1]
        return weights

    return {WEIGHTS: edit}


def test_a_run_does_not_differ_from_itself() -> None:
    found = changes(trace(), trace())
    assert {change.size for change in found} == {0.0}
    assert first_parted(found) is None


def test_runs_part_where_one_was_changed_and_in_that_head_alone() -> None:
    found, heads = changes(trace(), trace(flat(2))), head_changes(trace(), trace(flat(2)))
    first = first_parted(found)
    assert first is not None
    assert first.path == WEIGHTS
    place = found.index(first)
    assert all(change.size == 0 for change in found[:place])
    after = {change.path for change in found[place:] if change.size > 0}
    assert {"encoder.layers.1.self_attn.out", "decoder.layers.0.cross_attn.out", "logits"} <= after
    in_layer = {change.head: change.size for change in heads if change.path == WEIGHTS}
    assert [head for head, size in in_layer.items() if size] == [2]


def test_the_distance_is_from_nothing_to_all() -> None:
    a = torch.tensor([3.0, 4.0])
    assert distance(a, a.clone()) == 0
    assert distance(a, -a) == 1
    assert distance(a, torch.zeros(2)) == 1
    assert distance(torch.zeros(2), torch.zeros(2)) == 0
    assert distance(a, torch.tensor([3.0, 0.0])) == 4 / 8


def test_what_is_not_a_number_is_as_far_as_can_be() -> None:
    assert distance(torch.ones(2), torch.tensor([1.0, torch.nan])) == 1
    assert distance(torch.ones(2), torch.tensor([1.0, torch.inf])) == 1


def test_a_stage_that_is_missing_or_has_another_shape_is_as_far_as_can_be() -> None:
    sound, lost = trace(), "encoder.layers.0.self_attn.out"
    records = {path: tensor for path, tensor in sound.items() if path != lost}
    other = Trace(records | {WEIGHTS: torch.zeros(1, 3, 2, 2)})
    parted = [change for change in changes(sound, other) if change.size]
    assert [(change.path, change.size, change.missing) for change in parted] == [
        (lost, 1.0, True),
        (WEIGHTS, 1.0, True),
    ]
    assert first_parted(changes(sound, other)) == parted[0]
    assert WEIGHTS not in {change.path for change in head_changes(sound, other)}
