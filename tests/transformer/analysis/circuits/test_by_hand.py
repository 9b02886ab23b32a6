"""Copy and reverse through cross-attention, by hand: one head does it, and is found with its place."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from torch import Tensor

from tests.support.planting import plant, random_model
from tests.transformer.analysis.circuits.compiled import attention_paths
from tests.transformer.analysis.circuits.test_circuits import assert_found
from transformer.analysis.interventions.edits import resample, zero
from transformer.analysis.interventions.outcomes import outcomes
from transformer.analysis.interventions.patch_places import Place
from transformer.analysis.interventions.patching import DIRECTIONS, Direction, pair_of, patch_grid
from transformer.analysis.interventions.questions import Question
from transformer.loaded import LoadedModel, freeze
from transformer.run import Run, force
from transformer.text.coder import SpecialTokens
from transformer.text.ids import IdCoder

N_WORDS, LENGTH, N_UNREAD = 7, 5, 3
BOS = 0
WIDTH = 2 * N_WORDS + LENGTH + N_UNREAD
# Dimensions of the stream: words that are read, their places, words to write, and some that nothing reads.
READ = slice(0, N_WORDS)
PLACES = slice(N_WORDS, N_WORDS + LENGTH)
WRITTEN = slice(N_WORDS + LENGTH, WIDTH - N_UNREAD)
UNREAD = slice(WIDTH - N_UNREAD, WIDTH)
LAYER, HEAD, N_HEADS = 1, 2, 3
SHARP = 40.0
"""Score of the right key; the others have 0."""


def by_hand(task: str) -> LoadedModel:
    """An encoder-decoder whose layer 1, head 2 of cross-attention copies or reverses five words.

    All other sublayers are random and write into dimensions that nothing reads.
    """
    model = random_model(
        src_vocab_size=N_WORDS,
        tgt_vocab_size=N_WORDS,
        d_model=WIDTH,
        n_heads=N_HEADS,
        d_head=N_WORDS,
        n_encoder_layers=2,
        n_decoder_layers=3,
        d_ff=11,
        max_len=LENGTH,
        attention_scale=False,
        tie_generator=False,
        pad_id=-1,
    )
    stream = torch.eye(WIDTH)
    words, places = stream[READ], stream[PLACES]
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith((".w_o.weight", ".w_2.weight")):
                weight[: UNREAD.start] = 0
        for embedding in (model.src_embedding, model.tgt_embedding):
            embedding.weight[:, : UNREAD.start] = 0
            positions = embedding.get_parameter("positions.weight")
            positions[:, : UNREAD.start] = 0
            positions.add_(places)
        model.src_embedding.weight.add_(words)
        model.generator.weight.copy_(stream[WRITTEN])
    attention = model.get_submodule(f"decoder.layers.{LAYER}.cross_attn")
    looked_at = places if task == "copy" else places.flip(0)
    plant(attention, HEAD, SHARP * places, looked_at, words, stream[WRITTEN])
    coder = IdCoder(rows=N_WORDS, special_tokens=SpecialTokens(None, BOS, None, None))
    return LoadedModel(task, freeze(model), coder, coder, start_ids=(BOS,), end_ids=())


def run_of(loaded: LoadedModel, words: list[int]) -> Run:
    """A run whose rows write the whole target."""
    target = [1] * (LENGTH - 1)
    return force(loaded, loaded.source.describe_ids(words), loaded.target.describe_ids(target), ends=False)


CLEAN, CORRUPT = [1, 2, 3, 4, 5], [3, 6, 4, 5, 2]


@pytest.mark.parametrize("task", ["copy", "reverse"])
def test_the_head_that_does_it_is_found_with_its_place(task: str) -> None:
    loaded = by_hand(task)
    clean, corrupt = run_of(loaded, CLEAN), run_of(loaded, CORRUPT)
    order = list(range(LENGTH)) if task == "copy" else list(reversed(range(LENGTH)))
    for run, words in ((clean, CLEAN), (corrupt, CORRUPT)):
        assert run.trace["logits"][0].argmax(dim=-1).tolist() == [words[place] for place in order]
    questions = [
        Question(str(row), (row,), (CLEAN[place],), CORRUPT[place], str(CORRUPT[place]))
        for row, place in enumerate(order)
    ]
    _knock_out(loaded, clean, corrupt, questions)
    for (row, question), direction in product(enumerate(questions), DIRECTIONS):
        _patch(loaded, clean, corrupt, question, order[row], direction)


def _knock_out(loaded: LoadedModel, clean: Run, corrupt: Run, questions: list[Question]) -> None:
    paths = attention_paths(loaded)
    circuit = {(paths.index(f"decoder.layers.{LAYER}.cross_attn"), HEAD)}
    cells = [(path, head) for path in paths for head in range(N_HEADS)]
    for zeroed in (True, False):
        variants = [
            (zero(head=head) if zeroed else resample(corrupt, head=head)).at(f"{path}.z", loaded)
            for path, head in cells
        ]
        own, *others = outcomes(loaded, clean, [{}, *variants], questions)
        effects = (torch.stack(others) - own).abs().mean(dim=1).unflatten(0, (-1, N_HEADS))
        assert_found(effects, circuit, set())


def _patch(
    loaded: LoadedModel, clean: Run, corrupt: Run, question: Question, source: int, direction: Direction
) -> None:
    pair = pair_of(loaded, clean, corrupt, question)
    assert (pair.clean_value, pair.corrupt_value) == pytest.approx((1, -1), abs=1e-4)

    def shares(place: Place) -> Tensor:
        return patch_grid(loaded, pair, place, direction).shares

    heads = shares(Place("decoder", "cross_attn", "z"))
    assert_found(heads.abs(), {(LAYER, HEAD)}, set())
    assert float(heads[LAYER, HEAD]) == pytest.approx(1, abs=1e-4)
    by_position = [shares(Place("decoder", "cross_attn", "z", layer)) for layer in range(3)]
    expected = torch.zeros(3, N_HEADS, LENGTH, dtype=torch.float64)
    expected[LAYER, HEAD, question.rows[0]] = 1
    torch.testing.assert_close(torch.stack(by_position), expected, atol=1e-4, rtol=0)
    for place in (Place("encoder", "self_attn", "z"), Place("decoder", "self_attn", "z")):
        assert float(shares(place).abs().max()) <= 1e-4
    keys = shares(Place("decoder", "cross_attn", "k"))
    assert float(keys.abs().max()) <= 1e-4, "its keys are places, not words"
    expected = torch.zeros(3, LENGTH, dtype=torch.float64)
    expected[LAYER, source] = 1
    values = shares(Place("decoder", "cross_attn", "v"))
    torch.testing.assert_close(values, expected, atol=1e-4, rtol=0)
    (row,) = question.rows
    stream = shares(Place("encoder", None, "resid"))
    torch.testing.assert_close(stream, expected[LAYER].expand(3, -1), atol=1e-4, rtol=0)
    expected = torch.zeros(4, LENGTH, dtype=torch.float64)
    expected[LAYER + 1 :, row] = 1  # after the layer that has read it; the input is row 0
    torch.testing.assert_close(shares(Place("decoder", None, "resid")), expected, atol=1e-4, rtol=0)
