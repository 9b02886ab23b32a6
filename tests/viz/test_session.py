"""What the server keeps: runs are shared by what they were computed from, bounded, and never mixed up."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
import torch

from tests.models import tiny_model
from transformer.model.trace import Recorder
from transformer.run import Run, run_sentence
from viz.run_cache import RunCache


def test_the_same_key_is_computed_once() -> None:
    cache = RunCache(10**9)
    computed: list[int] = []

    def compute() -> Run:
        computed.append(1)
        return run_sentence(tiny_model(), "the cat")

    assert cache.get("a", compute) is cache.get("a", compute)
    assert len(computed) == 1


def test_the_oldest_runs_go_when_there_are_too_many_bytes() -> None:
    run = run_sentence(tiny_model(), "the cat")
    size = sum(tensor.nbytes for tensor in run.trace.values())
    cache = RunCache(2 * size)
    for key in "abc":
        cache.get(key, lambda: run)
    computed: list[str] = []

    def compute(key: str) -> Run:
        computed.append(key)
        return run

    for key in "cba":
        cache.get(key, partial(compute, key))
    assert computed == ["a"]


def test_a_run_too_large_to_keep_is_still_returned() -> None:
    run = run_sentence(tiny_model(), "the cat")
    assert RunCache(1).get("a", lambda: run) is run


@pytest.mark.parametrize("attempt", range(3))
def test_many_people_at_once_each_get_their_own_sentence(attempt: int) -> None:
    loaded, cache = tiny_model(attempt), RunCache(10**9)
    words = ["cat", "dog", "i", "saw", "see", "the", "yesterday", "a"]
    texts = [" ".join(words[i % 8] for i in range(start, start + 1 + start % 7)) for start in range(40)]
    expected = {text: run_sentence(loaded, text) for text in set(texts)}

    def one_person(text: str) -> tuple[str, Run]:
        return text, cache.get(text, lambda: run_sentence(loaded, text))

    with ThreadPoolExecutor(8) as people:
        for text, run in people.map(one_person, texts):
            assert run.source.words == text.split()
            assert run.trace.src_tokens[0] == (*text.split(), "<eos>")
            assert all(torch.equal(run.trace[path], expected[text].trace[path]) for path in run.trace)


def test_one_persons_edit_never_reaches_another() -> None:
    model = tiny_model().model
    src, tgt = torch.tensor([[4, 5, 2]]), torch.tensor([[1, 7]])
    plain = model(src, tgt)
    path = "decoder.layers.0.cross_attn.weights"

    def run(edited: bool) -> torch.Tensor:
        recorder = Recorder(edits={path: torch.zeros_like} if edited else {})
        return model(src, tgt, tap=recorder)

    with ThreadPoolExecutor(8) as people:
        outputs = list(people.map(run, [bool(i % 2) for i in range(64)]))
    assert all(torch.equal(output, outputs[0]) for output in outputs[::2])
    assert all(torch.equal(output, outputs[1]) for output in outputs[1::2])
    assert not torch.equal(outputs[0], outputs[1])
    torch.testing.assert_close(outputs[0], plain, atol=1e-5, rtol=0)
