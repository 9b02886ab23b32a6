"""Finds the embeddings, tables of positions and generator outside the layers of a stranger's model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from transformer.checkpoints.importing.families.own_layout.name_words import (
    bias_of,
    is_embedding,
    is_linear,
    is_positions,
    side_of,
)
from transformer.checkpoints.importing.layout.questions import sinusoid_layout
from transformer.checkpoints.reading.raw import StoredTensor

_MOST_OPTIONS = 16
_NONE = "none"
_NAMES = "Neither the names nor anything else in the files says which."

Ask = Callable[[str, str, str, Mapping[Any, str]], Any]
"""Answers a question, as `ConfigDraft.ask` does: name, text, why, labels."""


def likeliest(name: str, text: str, why: str, labels: Mapping[Any, str]) -> Any:
    """The likeliest answer, used before the user is asked."""
    return next(iter(labels))


def only_answer(name: str, text: str, why: str, labels: Mapping[Any, str]) -> Any:
    """The only tensor that is an answer; none if there are several and nobody is asked."""
    names = [one for one in labels if one != _NONE]
    return names[0] if len(names) == 1 else _NONE


def find_outside(
    tensors: Mapping[str, StoredTensor], d_model: int, ask: Ask, *, has_sides: bool
) -> dict[str, str]:
    """Find parts by names and shapes, and ask where several readings remain.

    Args:
        tensors: those outside the layers, by name.
        d_model: width of the model.
        ask: answers questions.
        has_sides: whether there are both an encoder and a decoder.

    Returns:
        Place -> name of the tensor. Places are "generator.weight", "generator.bias", "src_embedding",
        "src_positions" and the same of tgt, which are equal if there is only one.
    """
    finder = _Finder(tensors, d_model, ask, has_sides)
    fitting = {name: stored.shape for name, stored in tensors.items() if d_model in stored.shape}
    tables = [
        name
        for name, shape in fitting.items()
        if is_positions(name) and shape[-1] == d_model and _is_table(shape)
    ]
    matrices = [name for name, shape in fitting.items() if len(shape) == 2 and name not in tables]
    generator = finder.generator(matrices)
    src, tgt = finder.embeddings([name for name in matrices if name != generator], generator)
    src_positions, tgt_positions = finder.positions(tables)
    places = {
        "generator.weight": generator,
        "generator.bias": generator and bias_of(generator, tensors),
        "src_embedding": src,
        "tgt_embedding": tgt,
        "src_positions": src_positions,
        "tgt_positions": tgt_positions,
    }
    return {place: name for place, name in places.items() if name and name != _NONE}


def _is_table(shape: tuple[int, ...]) -> bool:
    """True for (length, D), or with a batch axis of 1: (length, 1, D) or (1, length, D)."""
    return len(shape) == 2 or (len(shape) == 3 and 1 in shape[:2])


@dataclass(frozen=True)
class _Finder:
    """Identifies the matrices; attributes are as in `find_outside`."""

    tensors: Mapping[str, StoredTensor]
    d_model: int
    ask: Ask
    has_sides: bool

    def generator(self, matrices: list[str]) -> str | None:
        """The layer from hidden states to words, with as many rows as the target embedding."""
        others = [name for name in matrices if not self._is_linear(name)]
        linear = self._distinct(name for name in matrices if self._is_linear(name))
        targets = [name for name in others if side_of(name) == "decoder" and is_embedding(name)]
        words = {self._rows(name) for name in (targets if len(targets) == 1 else others)}
        fitting = [name for name in linear if not words or self._rows(name) in words]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            return self._generator_among([*reversed(fitting), _NONE])
        rows = Counter(map(self._rows, others))
        doubtful = [
            name for name in reversed(others) if not _is_surely_embedding(name) and rows[self._rows(name)] > 1
        ]
        if not doubtful:
            return None
        sure = len(others) - len(doubtful)
        is_left_over = len(others) > 1 + self.has_sides or sure == 1
        return self._generator_among([*doubtful, _NONE] if is_left_over else [_NONE, *doubtful])

    def _generator_among(self, names: list[str]) -> str | None:
        labels = _offered(names) | ({_NONE: "none of them"} if _NONE in names[:_MOST_OPTIONS] else {})
        answer = self.ask(
            "generator",
            "Which matrix turns hidden states into words?",
            f"{_NAMES} An embedding and this layer have the same shape.",
            labels,
        )
        return None if answer == _NONE else str(answer)

    def embeddings(self, matrices: list[str], generator: str | None) -> tuple[str | None, str | None]:
        """The source and target embeddings, the same if there is only one or a single stack."""
        names = [name for name in matrices if not self._is_linear(name)]
        names = names or [name for name in matrices if not self._has_bias(name)]
        sure = [name for name in names if _is_surely_embedding(name)]
        if len(sure) > self.has_sides:
            names = sure
        if not self.has_sides:
            return self._only("embedding", "Which is the embedding of the words?", names)
        rows = None if generator is None else self._rows(generator)
        fitting = [name for name in names if self._rows(name) == rows]
        return self._sides("embedding", names, fitting)

    def positions(self, tables: list[str]) -> tuple[str | None, str | None]:
        """The source and target position tables, the same if there is only one."""
        if len(tables) > 1 and all(sinusoid_layout(self.tensors[name]) for name in tables):
            return tables[0], tables[-1]
        if not self.has_sides:
            return self._only("position_table", "Which is the table of positions?", tables)
        return self._sides("positions", tables, [])

    def _only(self, name: str, text: str, names: list[str]) -> tuple[str | None, str | None]:
        names = sorted(self._distinct(names), key=lambda name: -self._rows(name))
        if len(names) < 2:
            only = names[0] if names else None
        else:
            only = str(self.ask(name, text, _NAMES, _offered(names)))
        return only, only

    def _sides(self, what: str, names: list[str], of_target: list[str]) -> tuple[str | None, str | None]:
        """Which name belongs to the source, and which to the target.

        Args:
            what: "embedding" or "positions".
            names: the candidates.
            of_target: those whose shape fits the target.
        """
        if len(self._distinct(names)) < 2:
            return (names[0], names[-1]) if names else (None, None)
        src = [name for name in names if side_of(name) == "encoder"]
        tgt = [name for name in names if side_of(name) == "decoder"]
        if len(names) == 2 and not (src or tgt):
            tgt = of_target
        if len(names) == 2 and 1 in (len(src), len(tgt)) and 2 not in (len(src), len(tgt)):
            source = src[0] if src else next(name for name in names if name not in tgt)
            return source, next(name for name in names if name != source)
        if len(src) == len(tgt) == 1:
            return src[0], tgt[0]
        source = self._ask_side(f"src_{what}", f"Which is the source's {what}?", names, src, tgt)
        rest = [name for name in names if name != source]
        if len(rest) == 1:
            return source, rest[0]
        return source, self._ask_side(f"tgt_{what}", f"Which is the target's {what}?", rest, tgt, src)

    def _ask_side(self, name: str, text: str, names: list[str], told: list[str], other: list[str]) -> str:
        told_by_name, of_other = set(told), set(other)
        likely = sorted(names, key=lambda name: (name not in told_by_name, name in of_other))
        return str(self.ask(name, text, _NAMES, _offered(likely)))

    def _is_linear(self, name: str) -> bool:
        """True for a linear layer's matrix: its module has a bias, or its shape or name is that of one."""
        if self._has_bias(name) or self.tensors[name].shape[-1] != self.d_model:
            return True
        return not is_embedding(name) and (is_linear(name) or (_is_decoder(name) and not self.has_sides))

    def _has_bias(self, name: str) -> bool:
        bias = self.tensors.get(bias_of(name, self.tensors))
        return bias is not None and bias.shape == (self._rows(name),)

    def _rows(self, name: str) -> int:
        """The words that a matrix is for, or the positions."""
        shape = self.tensors[name].shape
        return max(shape[:-1]) if shape[-1] == self.d_model else shape[-1]

    def _distinct(self, names: Iterable[str]) -> list[str]:
        """The names without aliases of the same stored numbers."""
        first: dict[tuple[str, int], str] = {}
        for name in names:
            first.setdefault((str(self.tensors[name].path), self.tensors[name].offset), name)
        return list(first.values())


def _is_decoder(name: str) -> bool:
    """True if the module itself is called decoder: an embedding, or the linear layer of a single stack."""
    return name.removesuffix(".weight").rpartition(".")[2] in ("decoder", "dec")


def _is_surely_embedding(name: str) -> bool:
    if is_linear(name) or _is_decoder(name):
        return False
    return is_embedding(name) or side_of(name) != ""


def _offered(names: list[str]) -> dict[str, str]:
    return {name: name for name in names[:_MOST_OPTIONS]}
