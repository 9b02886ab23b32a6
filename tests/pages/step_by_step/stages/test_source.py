"""The source lines next to a stage are the file's current ones, and record the stage's tensors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages.step_by_step.stages.ways import SIDES, way_of
from transformer.model.attention import masked_softmax, scaled_dot_product_attention
from transformer.model.layers import EncoderLayer
from transformer.model.trace import Stack
from viz.pages.step_by_step.stages import source
from viz.pages.step_by_step.stages.walk import stages_of

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize("name, stack", SIDES)
def test_the_lines_hand_the_tap_what_the_stage_shows(name: str, stack: Stack) -> None:
    for stage in stages_of(way_of(name, stack)):
        for lines in stage.code:
            file = (ROOT / lines.file).read_text(encoding="utf-8").splitlines()
            assert "\n".join(file[lines.first - 1 : lines.last]) == lines.text, lines.place
            assert "\n".join(file[lines.around[0] - 1 : lines.around[1]]) == lines.source
            assert lines.around[0] <= lines.first <= lines.last <= lines.around[1]
        if stage.path and not stage.is_summary:
            tensor = stage.path.rpartition(".")[2]
            # The tap of a norm calls its tensors input and result.
            names = {tensor, "result"} if "norm" in stage.name else {tensor}
            if tensor != "input":
                assert any(f'tap("{one}"' in lines.text for one in names for lines in stage.code), stage.name


def test_the_statement_is_the_innermost_one() -> None:
    scores = source.tapping(scaled_dot_product_attention, "scores")
    assert scores.text.strip() == 'scores = tap("scores", scores)'
    assert scores.first == scores.last
    bias = source.tapping(scaled_dot_product_attention, "position_bias")
    assert bias.text.strip() == 'scores = scores + tap("position_bias", bias)', "not the if around it"


def test_a_statement_of_several_lines_is_whole() -> None:
    made = source.calling(EncoderLayer.__init__, "super")
    assert made.text.strip().startswith("super()")
    whole = source.whole(masked_softmax)
    assert whole.text == whole.source
    assert whole.text.startswith("def masked_softmax")


def test_the_other_ways_to_name_a_statement() -> None:
    assert source.assigning(masked_softmax, "empty").text.strip().startswith("empty = ")
    assert source.calling(masked_softmax, "softmax").text.strip() == "return scores.softmax(dim=-1)"
    returned = source.returning(EncoderLayer.residual, "norm").text.strip()
    assert returned == "return norm(x + self.scaled(sublayer(x)), norm_tap)"


def test_what_is_not_there_is_not_shown_as_something_else() -> None:
    with pytest.raises(LookupError, match=r"masked_softmax has no statement with tap\('weights'\)"):
        source.tapping(masked_softmax, "weights")
