"""Copy, reverse, sort: tasks whose right attention is known, so that one can watch a model learn it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from random import Random
from string import ascii_lowercase, digits

from transformer.data.tasks.pairs import SentencePair, Task
from transformer.text.words import clean

SYMBOLS = digits + ascii_lowercase
"""The words of these tasks."""

SHORTEST, LONGEST = 2, 12
"""Smallest and largest number of symbols in a sequence."""


class SymbolTask(Task):
    """A task with random digits and letters as input and the same in another order as output.

    Args:
        name: the name by which users choose it.
        order: returns the input positions in the order of the answer.
    """

    source_language = target_language = "en"
    limits = "- Rows of more than {longest} symbols it has never seen; its positions reach to {max_len}."

    def __init__(self, name: str, order: Callable[[Sequence[str]], list[int]]) -> None:
        self.name = name
        self.about = f"A small Transformer for the task {name}: digits and letters in, the same ones out."
        self._order = order

    def solve(self, symbols: Sequence[str]) -> SentencePair:
        """Pair symbols with the right answer, aligning each symbol with its original."""
        order = self._order(symbols)
        return SentencePair(
            source=tuple(symbols),
            target=tuple(symbols[i] for i in order),
            alignment=frozenset((i, j) for j, i in enumerate(order)),
            replaceable=frozenset(),
        )

    def pairs(self, seed: int, *, held_out: bool) -> Iterator[SentencePair]:
        """Draw random pairs endlessly, either all held out from training or none."""
        rng = Random(seed)
        while True:
            symbols = rng.choices(SYMBOLS, k=rng.randint(SHORTEST, LONGEST))
            if _is_held_out(symbols) == held_out:
                yield self.solve(symbols)

    def spell(self, text: str) -> str:
        """Put spaces between typed symbols, and convert capitals to lower case."""
        return " ".join(map(_small, clean(text).replace(" ", "")))


def _is_held_out(symbols: Sequence[str]) -> bool:
    """True for about one sequence in forty, the same ones in every task."""
    return blake2b(" ".join(symbols).encode(), digest_size=4).digest()[0] < 256 // 40


def _small(character: str) -> str:
    small = character.lower()
    return small if small in SYMBOLS else character


COPY = SymbolTask("copy", lambda symbols: list(range(len(symbols))))
REVERSE = SymbolTask("reverse", lambda symbols: list(reversed(range(len(symbols)))))
SORT = SymbolTask("sort", lambda symbols: sorted(range(len(symbols)), key=symbols.__getitem__))
