"""A model's own generation settings give the same targets as transformers' `generate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BartForConditionalGeneration

from tests.transformer.checkpoints.importing.families.hugging_face.small_models import tiny
from transformer.checkpoints.opening import open_checkpoint
from transformer.decoding.beam import beam_search
from transformer.decoding.greedy import greedy, greedy_batch
from transformer.decoding.request import DecodingRequest
from transformer.loaded import GenerationSettings
from transformer.model_input import decoding_request

START, BOS, EOS, PAD, VOCAB, LIMIT = 2, 0, 2, 1, 13, 9
SIZES: dict[str, Any] = {
    "vocab_size": VOCAB,
    "d_model": 22,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 31,
    "decoder_ffn_dim": 31,
    "max_position_embeddings": 40,
    "init_std": 1.0,
    "pad_token_id": PAD,
    "bos_token_id": BOS,
    "eos_token_id": EOS,
    "decoder_start_token_id": START,
}
SOURCES = torch.tensor([[5, 9, 4, 7, 11, 3], [8, 3, 12, 6, 4, 10], [4, 4, 9, 12, 7, 5]])


@pytest.fixture(scope="module")
def bart() -> Any:
    return tiny(BartForConditionalGeneration, SIZES)


def saved(theirs: Any, folder: Path, settings: dict[str, Any]) -> Path:
    """Save with `save_pretrained` and these generation settings."""
    forced = {"forced_bos_token_id": BOS, "forced_eos_token_id": EOS}
    theirs.generation_config.update(**forced, **settings)
    theirs.save_pretrained(folder)
    return folder


def assert_same(ours: Sequence[Sequence[int]], theirs: Sequence[list[int]]) -> None:
    """Compare targets; theirs include start, end and padding."""
    for ids, filled in zip(ours, theirs, strict=True):
        whole = [START, BOS, *ids, EOS]
        assert filled == whole + [PAD] * (len(filled) - len(whole))


@pytest.mark.parametrize("ngram, length_penalty", [(0, 0.6), (2, 1.4), (3, 0.6)])
def test_a_beam_search_by_a_models_own_settings(
    tmp_path: Path, bart: Any, ngram: int, length_penalty: float
) -> None:
    own = {"num_beams": 3, "no_repeat_ngram_size": ngram, "length_penalty": length_penalty}
    loaded = open_checkpoint(saved(bart, tmp_path, own)).loaded
    assert loaded is not None
    settings = loaded.settings
    assert settings == GenerationSettings(
        beam_size=3, length_penalty=length_penalty, no_repeat_ngram_size=ngram, forced_end_id=EOS
    )
    assert loaded.start_ids == (START, BOS)
    request = decoding_request(loaded, loaded.start_ids, LIMIT, settings=settings)
    found = beam_search(loaded.model, SOURCES, request, beam_size=3, alpha=length_penalty, n_best=3)
    expected = bart.generate(SOURCES, max_length=2 + LIMIT, do_sample=False).tolist()
    assert all(best.end_id == EOS for best, *_ in found)
    assert_same([best.ids for best, *_ in found], expected)


@pytest.mark.parametrize("ngram", [1, 2])
def test_greedy_by_a_models_own_settings(tmp_path: Path, bart: Any, ngram: int) -> None:
    own = {"num_beams": 1, "length_penalty": 1.0, "no_repeat_ngram_size": ngram}
    loaded = open_checkpoint(saved(bart, tmp_path, own)).loaded
    assert loaded is not None
    request = decoding_request(loaded, loaded.start_ids, LIMIT, settings=loaded.settings)
    expected = bart.generate(SOURCES, max_length=2 + LIMIT, do_sample=False).tolist()
    ours = [target.ids for target in greedy_batch(loaded.model, SOURCES, request)]
    assert_same(ours, expected)
    steps = list(greedy(loaded.model, SOURCES[:1], request))
    assert [step.token_id for step in steps] == [*ours[0], EOS]
    plain = decoding_request(loaded, loaded.start_ids, LIMIT, no_repeat=0)
    assert ours != [target.ids for target in greedy_batch(loaded.model, SOURCES, plain)], "the rules matter"


def test_which_tokens_would_repeat_an_n_gram() -> None:
    def repeating(n: int, *target: int) -> set[int]:
        asked = DecodingRequest(start_ids=(7,), end_ids=(2,), max_new_tokens=9, no_repeat_ngram_size=n)
        return asked.repeating(target)

    assert repeating(0, 5, 5, 5) == set()
    assert repeating(1, 5, 6) == {7, 5, 6}
    assert repeating(2, 5, 6, 5, 8, 5) == {6, 8}
    assert repeating(2, 5, 7) == {5}, "the start counts"
    assert repeating(3, 5, 6, 8, 5, 6) == {8}
    assert repeating(3, 5) == set()


def test_which_tokens_would_make_a_loop() -> None:
    def looping(*target: int, n: int = 6) -> set[int]:
        asked = DecodingRequest(
            start_ids=(7,), end_ids=(2,), max_new_tokens=9, no_repeat_ngram_size=n, no_loops=True
        )
        return asked.repeating(target)

    assert looping(5, 5) == {5}, "a third time"
    assert looping(5) == looping(7) == set()
    assert looping(9, 5, 6, 5, 6, 5) == {6}
    assert looping(5, 6, 5, 6, 9) == set(), "it is over"
    assert looping(9, 3, 4, 5, 6, 3, 4, 5) == {6}, "four at once again"
    assert looping(9, 3, 4, 5, 3, 4) == set(), "three may come twice"
    assert looping(5, 5, n=0) == set()


def test_in_words() -> None:
    assert str(GenerationSettings()) == "greedy"
    settings = GenerationSettings(
        beam_size=4, length_penalty=0.6, no_repeat_ngram_size=3, forced_end_id=2, not_applied=("top_k 10",)
    )
    assert str(settings) == (
        "4 beams, log-probability / length^0.6, no 3 tokens in a row twice, an end forced at the limit"
    )
