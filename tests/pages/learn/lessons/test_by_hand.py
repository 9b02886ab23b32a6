"""The model written by hand computes what the shipped ones do."""

import pytest
import torch

from tests.pages.learn.lessons.by_hand import ByHand
from tests.pages.learn.lessons.subjects import SENTENCES, SHIPPED, subject


@pytest.mark.parametrize("model", SHIPPED)
def test_it_computes_what_the_run_has(model: str) -> None:
    of = subject(model, SENTENCES[2])
    assert of.run.encoder_input is not None
    hand = ByHand(of.loaded)
    logits = hand(of.run.encoder_input.ids, of.run.target_ids)
    torch.testing.assert_close(logits.float(), of.run.trace["logits"][0], atol=2e-4, rtol=2e-4)
    for path in ("encoder.layers.1.self_attn.weights", "decoder.layers.0.cross_attn.scores"):
        torch.testing.assert_close(hand.seen[path].float(), of.run.trace[path][0], atol=2e-4, rtol=2e-4)
