"""A corpus as ids on disk, memory-mapped so that it may be larger than memory.

A folder has, for each side, the concatenated ids of all sentences and the offset of each. Pairs can be read
in any order: an order is a list of indices, and a run resumes where it stopped by counting.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from transformer.data.batches import Batch, Example, batch_starts, make_batch
from transformer.files import write_text

_ID = np.dtype("<i4")
_OFFSET = np.dtype("<i8")
_SIDES = ("source", "target")
_DESCRIPTION = "corpus.json"


class EncodedCorpusError(ValueError):
    """A folder has no complete encoded corpus; the message says what to do."""


@dataclass(frozen=True)
class _Side:
    """Sentences of one side: sentence i is ids[offsets[i] : offsets[i + 1]]."""

    ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]

    def sentence(self, index: int) -> list[int]:
        ids: list[int] = self.ids[self.offsets[index] : self.offsets[index + 1]].tolist()
        return ids


class EncodedCorpus:
    """Sentence pairs as ids, without <bos> and <eos>.

    Args:
        folder: a folder written by `write_corpus`.

    Raises:
        EncodedCorpusError: for an incomplete folder.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self.description: dict[str, object] = json.loads(
                (folder / _DESCRIPTION).read_text(encoding="utf-8")
            )
            self._source, self._target = (_open_side(folder, side) for side in _SIDES)
        except (OSError, ValueError) as error:
            raise EncodedCorpusError(
                f"{folder} holds no whole encoded corpus ({error}): remove the folder and encode it again."
            ) from error

    def __len__(self) -> int:
        return len(self._source.offsets) - 1

    def pairs(self) -> Iterator[tuple[list[int], list[int]]]:
        """All pairs in order, as source and target ids."""
        return ((self._source.sentence(index), self._target.sentence(index)) for index in range(len(self)))

    def example(self, index: int) -> Example:
        """Read one pair."""
        return Example.framed(self._source.sentence(index), self._target.sentence(index))

    def batch(self, indices: Iterable[int]) -> Batch:
        """Read pairs as one padded batch."""
        return make_batch([self.example(int(index)) for index in indices])

    def targets(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """The concatenated ids of all targets, and the offset of each; the last offset is the end."""
        return self._target.ids, self._target.offsets

    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of positions of each pair, including <eos> or <bos>: (2, pairs), the source side first."""
        return np.stack([np.diff(side.offsets) + 1 for side in (self._source, self._target)])


def write_corpus(
    folder: Path,
    pairs: Iterable[tuple[Sequence[int], Sequence[int]]],
    describe: Callable[[], dict[str, object]] = dict,
) -> EncodedCorpus:
    """Write a stream of id pairs; only one pair is in memory at a time.

    Args:
        folder: created if missing; the description is written last, so a folder without it is incomplete.
        pairs: source and target ids, without <bos> and <eos>.
        describe: called after the last pair; returns the description as plain values.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _DESCRIPTION).unlink(missing_ok=True)
    with (
        (folder / "source.ids").open("wb") as source_ids,
        (folder / "source.offsets").open("wb") as source_offsets,
        (folder / "target.ids").open("wb") as target_ids,
        (folder / "target.offsets").open("wb") as target_offsets,
    ):
        sides = ((source_ids, source_offsets), (target_ids, target_offsets))
        ends = [0, 0]
        for _, offsets in sides:
            _write(offsets, [0], _OFFSET)
        for pair in pairs:
            for number, ((ids, offsets), sentence) in enumerate(zip(sides, pair, strict=True)):
                ends[number] += len(sentence)
                _write(ids, sentence, _ID)
                _write(offsets, [ends[number]], _OFFSET)
        for ids, offsets in sides:
            for file in (ids, offsets):
                file.flush()
                os.fsync(file.fileno())
    description = json.dumps(describe(), ensure_ascii=False, indent=1)
    write_text(folder / _DESCRIPTION, description)
    return EncodedCorpus(folder)


def epoch_batches(
    corpus: EncodedCorpus, *, tokens: int, seed: int, epoch: int
) -> list[npt.NDArray[np.int64]]:
    """Divide all pairs into batches of similar length, in an order specific to the epoch.

    The order depends only on seed and epoch. It takes about 50 bytes of memory per pair.

    Args:
        corpus: a corpus with at least one pair.
        tokens: most positions per batch on its longer side, including padding; a longer pair gets a batch of
            its own.
        seed: seed of the training run.
        epoch: number of the epoch, from 0.
    """
    rng = np.random.Generator(np.random.Philox(key=[seed, epoch]))
    source, target = corpus.lengths()
    longest = np.maximum(source, target)
    order = rng.permutation(len(corpus))
    order = order[np.lexsort((target[order], source[order], longest[order]))]
    groups = np.split(order, batch_starts(longest[order].tolist(), tokens)[1:])
    return [groups[number] for number in rng.permutation(len(groups))]


def _write(file: BinaryIO, numbers: Sequence[int], kind: npt.DTypeLike) -> None:
    file.write(np.asarray(numbers, dtype=kind).tobytes())


def _open_side(folder: Path, side: str) -> _Side:
    offsets = np.fromfile(folder / f"{side}.offsets", dtype=_OFFSET)
    path = folder / f"{side}.ids"
    if len(offsets) < 2:
        raise ValueError("there are no pairs in it")
    if path.stat().st_size != int(offsets[-1]) * _ID.itemsize:
        raise ValueError(f"{path.name} has not the length that {side}.offsets says")
    return _Side(np.memmap(path, dtype=_ID, mode="r"), offsets)
