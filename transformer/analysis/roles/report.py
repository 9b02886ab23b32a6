"""The result of an analysis: written as JSON, and read back from a file that nobody vouches for."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar, get_args

from transformer.analysis.attention_maps import Attention
from transformer.analysis.roles.definitions import ROLES, VERSION, Role

Name = TypeVar("Name", bound=str)
FORMAT = "headlight heads"
LARGEST_FILE = 40 * 2**20
"""Bytes of the largest file that is read."""
N_EXAMPLES = 8
MOST_HEADS, MOST_TEXT = 100_000, 100_000
_FILE_HINT = "Choose heads.json, which headlight analyze wrote."


class ReportError(ValueError):
    """A file is not the result of an analysis; the message is for users."""


@dataclass(frozen=True)
class Example:
    """A sentence in which a head plays a role strongly.

    Attributes:
        text: number of the sentence in the report's texts.
        query, key: positions of the strongest cell.
        query_token, key_token: their tokens; for alignment at the position that writes a word, its token.
        score: the role's score in this sentence.
    """

    text: int
    query: int
    key: int
    query_token: str
    key_token: str
    score: float


@dataclass(frozen=True)
class RoleScore:
    """One head's score in one role.

    Attributes:
        score, low, high: the score and its interval over sentences.
        beyond: the score without what position explains, in roles that are judged so.
        twin: the score of the same head with random weights.
        detail: the offset; for alignment, 1 if from the position that reads the word, else 0.
        n: sentences that show the role.
        examples: its strongest sentences, the strongest first.
    """

    score: float
    low: float
    high: float
    beyond: float
    twin: float
    detail: int
    n: int
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class HeadRoles:
    """One head's roles.

    Attributes:
        attention, layer, head: which head.
        learned: its learned roles, the main one first; empty for none.
        scores: its scores, also in roles that it has not learned.
        weights, writes: see `sample.Sample`.
    """

    attention: Attention
    layer: int
    head: int
    learned: tuple[Role, ...]
    scores: Mapping[Role, RoleScore]
    weights: tuple[float, ...]
    writes: tuple[float, ...]

    @property
    def role(self) -> Role | None:
        """The main learned role; None for none."""
        return self.learned[0] if self.learned else None


@dataclass(frozen=True)
class HeadReport:
    """What the heads of a model do.

    Attributes:
        model: its name.
        n_sentences, n_left_out: sentences analysed, and those that the model can't read.
        seed: seed of everything that is random.
        n_twins, n_twin_sentences: random models, and the sentences that they read.
        ids: equal for reports on the same token ids.
        chances: by attention and role: the largest score by chance (`verdicts.Chance.most`).
        not_measured: by role: why no head has a score.
        texts: source and target of the example sentences.
        row_lengths: by attention: keys of each sampled row.
        heads: all heads.
    """

    model: str
    n_sentences: int
    n_left_out: int
    seed: int
    n_twins: int
    n_twin_sentences: int
    ids: str
    chances: Mapping[Attention, Mapping[Role, float]]
    not_measured: Mapping[Role, str]
    texts: tuple[tuple[str, str], ...]
    row_lengths: Mapping[Attention, tuple[int, ...]]
    heads: tuple[HeadRoles, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values: dict[str, Any] = {"format": FORMAT, "version": VERSION, **asdict(self)}
        for head in values["heads"]:
            for score in head["scores"].values():
                score["examples"] = [tuple(one.values()) for one in score["examples"]]
        return values

    @classmethod
    def from_json(cls, content: bytes) -> HeadReport:
        """Read a file, checking every value.

        Raises:
            ReportError: it is too large, or not the result of an analysis.
        """
        if len(content) > LARGEST_FILE:
            raise ReportError(f"The file is larger than {LARGEST_FILE // 2**20} MB. {_FILE_HINT}")
        try:
            values = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise ReportError(f"The file is not JSON. {_FILE_HINT}") from error
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise ReportError(f"The file is not the result of an analysis. {_FILE_HINT}")
        if values.get("version") != VERSION:
            raise ReportError(
                "The file was written by another version of Headlight, which defines roles differently: "
                "analyse again."
            )
        try:
            return _report(values)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ReportError(f"The file is damaged ({error!r:.100}). Analyse again.") from error


def _report(values: dict[str, Any]) -> HeadReport:
    texts = tuple((_text(source), _text(target)) for source, target in values["texts"])
    lengths = {
        _attention(name): tuple(_count(one) for one in own) for name, own in values["row_lengths"].items()
    }
    if len(values["heads"]) > MOST_HEADS:
        raise ValueError("too many heads")
    heads = tuple(_head(one, texts) for one in values["heads"])
    if not heads or len({(one.attention, one.layer, one.head) for one in heads}) < len(heads):
        raise ValueError("no heads, or a head twice")
    for one in heads:
        if len(one.weights) != sum(lengths[one.attention]):
            raise ValueError("rows of another length")
    return HeadReport(
        model=_text(values["model"]),
        n_sentences=_count(values["n_sentences"]),
        n_left_out=_count(values["n_left_out"]),
        seed=_whole(values["seed"]),
        n_twins=_count(values["n_twins"]),
        n_twin_sentences=_count(values["n_twin_sentences"]),
        ids=_text(values["ids"]),
        chances={
            _attention(name): {_role(role): _number(most) for role, most in own.items()}
            for name, own in values["chances"].items()
        },
        not_measured={_role(role): _text(why) for role, why in values["not_measured"].items()},
        texts=texts,
        row_lengths=lengths,
        heads=heads,
    )


def _head(values: dict[str, Any], texts: tuple[tuple[str, str], ...]) -> HeadRoles:
    return HeadRoles(
        attention=_attention(values["attention"]),
        layer=_count(values["layer"]),
        head=_count(values["head"]),
        learned=tuple(map(_role, values["learned"])),
        scores={_role(role): _score(one, len(texts)) for role, one in values["scores"].items()},
        weights=tuple(map(_number, values["weights"])),
        writes=tuple(map(_number, values["writes"])),
    )


def _score(values: dict[str, Any], n_texts: int) -> RoleScore:
    examples = tuple(
        Example(_count(text), _count(query), _count(key), _text(first), _text(second), _number(score))
        for text, query, key, first, second, score in values["examples"]
    )
    if any(one.text >= n_texts for one in examples):
        raise ValueError("an example without its sentence")
    numbers = {name: _number(values[name]) for name in ("score", "low", "high", "beyond", "twin")}
    return RoleScore(**numbers, detail=_whole(values["detail"]), n=_count(values["n"]), examples=examples)


def _attention(value: object) -> Attention:
    return _one_of(get_args(Attention), value)


def _role(value: object) -> Role:
    return _one_of(ROLES, value)


def _one_of(names: tuple[Name, ...], value: object) -> Name:
    return names[names.index(value)]


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 2**63:
        raise ValueError("a number that is not whole")
    return value


def _count(value: object) -> int:
    if _whole(value) < 0:
        raise ValueError("a negative count")
    return _whole(value)


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError("a value that is not a finite number")
    return float(value)


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        raise ValueError("a value that is not a text")
    return value
