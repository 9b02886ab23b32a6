"""Examples for a model without a tokenizer: ids that it has and that stand for text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.models import tiny_model
from transformer.loaded import LoadedModel
from transformer.text.coder import SpecialTokens
from transformer.text.ids import IdCoder
from viz.text_session import example_ids


def wordless(rows: int, *, pad: int | None, ends: tuple[int, ...] = (2,)) -> LoadedModel:
    special_tokens = SpecialTokens(pad=pad, bos=1, eos=2, unk=None, suppressed=(5,))
    coder = IdCoder(rows=rows, special_tokens=special_tokens)
    model = tiny_model(src_vocab_size=rows, tgt_vocab_size=rows)
    return replace(model, source=coder, target=coder, start_ids=(1,), end_ids=ends)


@pytest.mark.parametrize("rows", [7, 9, 12, 23, 7919, 50_257])
@pytest.mark.parametrize("pad", [None, 0, 6])
def test_examples_are_ordinary_ids(rows: int, pad: int | None) -> None:
    ends = (2, rows - 1) if rows > 7 else (2,)
    ids = [int(word) for word in example_ids(wordless(rows, pad=pad, ends=ends), 9).split()]
    assert len(ids) == 9
    assert all(0 <= index < rows for index in ids)
    assert not {pad, 1, 5, *ends} & set(ids)


def test_they_differ_where_there_are_enough() -> None:
    ids = example_ids(wordless(100, pad=0), 9).split()
    assert len(set(ids)) == 9


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_vocabulary_of_special_tokens_has_examples_too(rows: int) -> None:
    ids = [int(word) for word in example_ids(wordless(rows, pad=0), 5).split()]
    assert all(0 <= index < rows for index in ids)
