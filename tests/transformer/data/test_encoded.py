import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from transformer.data.encoded import EncodedCorpus, EncodedCorpusError, epoch_batches, write_corpus
from transformer.text.vocabulary import BOS_ID, EOS_ID

PAIRS = [(list(range(4, 4 + i % 11)), list(range(5, 5 + (i * 7) % 13))) for i in range(200)]


@pytest.fixture
def corpus(tmp_path: Path) -> EncodedCorpus:
    return write_corpus(tmp_path / "corpus", iter(PAIRS), lambda: {"name": "è"})


def test_what_was_written_is_read_in_any_order(corpus: EncodedCorpus, tmp_path: Path) -> None:
    again = EncodedCorpus(tmp_path / "corpus")
    assert again.description == {"name": "è"}
    assert len(again) == 200
    for index in (199, 0, 57):
        source, target = PAIRS[index]
        example = again.example(index)
        assert example.src == (*source, EOS_ID)
        assert example.tgt == (BOS_ID, *target, EOS_ID)
    assert again.lengths().tolist() == [[len(s) + 1 for s, _ in PAIRS], [len(t) + 1 for _, t in PAIRS]]


def test_ids_stay_on_disk(corpus: EncodedCorpus) -> None:
    """Only the sentences asked for are read into memory."""
    assert isinstance(corpus._source.ids, np.memmap)


def test_a_batch_is_padded(corpus: EncodedCorpus) -> None:
    batch = corpus.batch([3, 10])
    assert batch.src.tolist() == [[4, 5, 6, EOS_ID, *[0] * 7], [*range(4, 14), EOS_ID]]


@pytest.mark.parametrize("tokens", [1, 12, 100, 10_000])
def test_an_epoch_has_every_pair_once_in_batches_of_the_size(corpus: EncodedCorpus, tokens: int) -> None:
    groups = epoch_batches(corpus, tokens=tokens, seed=1, epoch=0)
    assert sorted(index for group in groups for index in group.tolist()) == list(range(200))
    longest = corpus.lengths().max(axis=0)
    for group in groups:
        assert len(group) == 1 or longest[group].max() * len(group) <= tokens


def test_batches_hold_pairs_of_similar_length(corpus: EncodedCorpus) -> None:
    """This saves padding."""
    longest = corpus.lengths().max(axis=0)
    groups = epoch_batches(corpus, tokens=100, seed=1, epoch=0)
    padding = sum(int(longest[group].max() * len(group) - longest[group].sum()) for group in groups)
    assert padding < 0.05 * longest.sum()


def test_an_order_is_a_function_of_seed_and_epoch(corpus: EncodedCorpus) -> None:
    def order(seed: int, epoch: int) -> list[list[int]]:
        return [group.tolist() for group in epoch_batches(corpus, tokens=50, seed=seed, epoch=epoch)]

    assert order(1, 3) == order(1, 3)
    assert order(1, 3) != order(1, 4)
    assert order(1, 3) != order(2, 3)
    assert sorted(map(sorted, order(1, 3))) != sorted(map(sorted, order(1, 4))), "other company too"


def test_an_unfinished_or_damaged_folder_is_refused(corpus: EncodedCorpus, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    ids = folder / "target.ids"
    ids.write_bytes(ids.read_bytes()[:-4])
    with pytest.raises(EncodedCorpusError, match=r"target\.ids"):
        EncodedCorpus(folder)
    (folder / "corpus.json").unlink()
    with pytest.raises(EncodedCorpusError, match="remove the folder"):
        EncodedCorpus(folder)


def test_a_break_while_writing_leaves_no_whole_corpus(corpus: EncodedCorpus, tmp_path: Path) -> None:
    """Not even if there was one before."""

    def broken() -> Iterator[tuple[list[int], list[int]]]:
        yield from PAIRS[:5]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_corpus(tmp_path / "corpus", broken())
    with pytest.raises(EncodedCorpusError):
        EncodedCorpus(tmp_path / "corpus")


def test_no_pairs_are_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(EncodedCorpusError, match="no pairs"):
        write_corpus(tmp_path / "corpus", [])
    assert json.loads((tmp_path / "corpus" / "corpus.json").read_text()) == {}
