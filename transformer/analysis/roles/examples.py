"""The sentences in which a head plays a role most."""

from __future__ import annotations

from collections.abc import Sequence

from transformer.analysis.attention_maps import MODULES, Attention
from transformer.analysis.roles.definitions import EXAMPLES_FROM, INDEX, Role
from transformer.analysis.roles.report import N_EXAMPLES, Example
from transformer.analysis.roles.scoring import best_offset
from transformer.analysis.roles.sentences import Sentence
from transformer.analysis.roles.sums import Sums
from transformer.analysis.roles.targets import WINDOW, distances
from transformer.loaded import LoadedModel


class Examples:
    """Chooses examples, and collects their texts.

    Attributes:
        texts: source and target of every sentence chosen so far.
    """

    def __init__(self, loaded: LoadedModel, sentences: Sequence[Sentence]) -> None:
        self._loaded = loaded
        self._sentences = sentences
        self._numbers: dict[int, int] = {}
        self.texts: list[tuple[str, str]] = []

    def of(self, sums: Sums, attention: Attention, role: Role, head: int, detail: int) -> tuple[Example, ...]:
        """A head's strongest sentences in a role, the strongest first; longer ones first among equals."""
        if role in ("offset", "position"):
            offset = int(best_offset(sums, attention)[head])
            place = offset + WINDOW + 1
            over, rows = sums.profile[:, head, place], sums.open[:, place]
        else:
            name = EXAMPLES_FROM.get(role, role)
            if role == "alignment":
                name = "reading" if detail else "writing"
            over, rows = sums.given[:, INDEX[name], head], sums.rows[:, INDEX[name]]
        have = rows.nonzero().flatten()
        means = over[have] / rows[have]
        order = sorted(range(len(have)), key=lambda i: (-round(float(means[i]), 4), -float(rows[have[i]])))
        found: list[Example] = []
        sources: set[str] = set()
        for i in order:
            number = int(have[i])
            if self._sentences[number].source in sources:
                continue
            sources.add(self._sentences[number].source)
            if role in ("offset", "position"):
                query, key = self._middle(attention, number, offset)
            else:
                query, key = sums.strongest[number, INDEX[name], head].tolist()
            writes = role == "alignment" and not detail
            found.append(self._example(attention, number, query, key, float(means[i]), writes=writes))
            if len(found) == N_EXAMPLES:
                break
        return tuple(found)

    def _middle(self, attention: Attention, number: int, offset: int) -> tuple[int, int]:
        """The cell in the middle of those at this distance."""
        stack, name = MODULES[attention]
        queries, keys = self._sentences[number].sides(stack, name)
        cells = (distances(len(queries.ids), len(keys.ids)) == offset).nonzero()
        query, key = cells[len(cells) // 2].tolist()
        return query, key

    def _example(
        self, attention: Attention, number: int, query: int, key: int, score: float, *, writes: bool
    ) -> Example:
        """An example, named by the token that the query's position reads, or by the one that it writes."""
        stack, name = MODULES[attention]
        queries, keys = self._sentences[number].sides(stack, name)
        if number not in self._numbers:
            self._numbers[number] = len(self.texts)
            self.texts.append((self._sentences[number].source, self._sentences[number].target))
        named = queries.tokens[query + 1 if writes else query]
        return Example(self._numbers[number], query, key, named, keys.tokens[key], round(score, 4))
