"""The analysis of a model's heads: in parts, which several processes may share, and its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from torch import Tensor

from transformer.analysis.attention_maps import Attention
from transformer.analysis.interventions.outcomes import OnProgress
from transformer.analysis.roles import copying
from transformer.analysis.roles.definitions import ROLES, Role
from transformer.analysis.roles.examples import Examples
from transformer.analysis.roles.measuring import PART, attentions_of, measure, probe
from transformer.analysis.roles.report import HeadReport, HeadRoles, RoleScore
from transformer.analysis.roles.sample import sample
from transformer.analysis.roles.scoring import Score, scores
from transformer.analysis.roles.sentences import Sentence, ids_digest, prepare_all
from transformer.analysis.roles.sums import Sums
from transformer.analysis.roles.verdicts import chance, learned_roles
from transformer.checkpoints.random_model import random_model
from transformer.loaded import LoadedModel

TWIN_SENTENCES = 256
"""Sentences that the random models read; more would not change what their heads do."""
TWIN_HEADS, MOST_TWINS = 32, 4
"""Random heads of each attention that the chance level is taken from, and most random models for them."""
DIGITS = 5


class HeadAnalysis:
    """The analysis of one model's heads over some sentences.

    Args:
        loaded: the model.
        sentences: what it reads.
        n_left_out: sentences that it can't read.
        seed: seed of the random models, the repeated sequences and the bootstrap.
        part_size: sentences in a part.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        sentences: Sequence[Sentence],
        n_left_out: int = 0,
        seed: int = 0,
        part_size: int = PART,
    ) -> None:
        self.loaded = loaded
        self.sentences = sentences
        self.n_left_out = n_left_out
        self.seed = seed
        self.part_size = part_size
        self.n_parts = -(-len(sentences) // part_size)

    @cached_property
    def twins(self) -> list[LoadedModel]:
        """Models of the same configuration with random weights."""
        config = self.loaded.model.config
        fewest = min(attentions_of(config).values()) * config.n_heads
        device = next(self.loaded.model.parameters()).device
        n = min(MOST_TWINS, -(-TWIN_HEADS // fewest))
        return [self.loaded.with_weights(random_model(config, self.seed + 1 + i, device)) for i in range(n)]

    def part(self, number: int) -> dict[str, Tensor]:
        """The sums of one part: deterministic, and independent of the other parts."""
        first = number * self.part_size
        own = self.sentences[first : first + self.part_size]
        probes = probe(self.loaded, own, self.seed * 1_000_003 + first)
        models = [self.loaded, *(self.twins if first < TWIN_SENTENCES else [])]
        found: dict[str, Tensor] = {}
        for place, loaded in enumerate(models):
            for attention, sums in measure(loaded, own, probes).items():
                found |= sums.tensors(f"{place}.{attention}.")
        return found

    def report(self, parts: Sequence[Mapping[str, Tensor]]) -> HeadReport:
        """The report of all parts, in their order."""
        n_twins = len({name.split(".")[0] for name in parts[0]}) - 1
        sampled = sample(self.loaded, self.sentences)
        config = self.loaded.model.config
        examples = Examples(self.loaded, self.sentences)
        heads: list[HeadRoles] = []
        chances: dict[Attention, dict[Role, float]] = {}
        measured: set[Role] = set()
        for attention in attentions_of(config):
            models = [_joined(parts, place, attention) for place in range(n_twins + 1)]
            own, *twins = (scores(sums, attention, self.seed) for sums in models)
            by_chance = {role: chance([twin[role] for twin in twins if role in twin]) for role in own}
            chances[attention] = {role: _rounded(one.most) for role, one in by_chance.items()}
            measured |= own.keys()
            for number in range(models[0].profile.shape[1]):
                heads.append(
                    HeadRoles(
                        attention=attention,
                        layer=number // config.n_heads,
                        head=number % config.n_heads,
                        learned=tuple(learned_roles(own, by_chance, number)),
                        scores={
                            role: _role_score(
                                score,
                                twins[0].get(role, score),
                                number,
                                examples.of(models[0], attention, role, number, int(score.detail[number])),
                            )
                            for role, score in own.items()
                        },
                        weights=_plain(sampled[attention].weights[number]),
                        writes=_plain(sampled[attention].writes[number]),
                    )
                )
        return HeadReport(
            model=self.loaded.name,
            n_sentences=len(self.sentences),
            n_left_out=self.n_left_out,
            seed=self.seed,
            n_twins=n_twins,
            n_twin_sentences=min(len(self.sentences), -(-TWIN_SENTENCES // self.part_size) * self.part_size),
            ids=ids_digest(self.sentences),
            chances=chances,
            not_measured={role: self._why_not(role) for role in ROLES if role not in measured},
            texts=tuple(examples.texts),
            row_lengths={attention: own.row_lengths for attention, own in sampled.items()},
            heads=tuple(heads),
        )

    def _why_not(self, role: Role) -> str:
        """Why no head was measured in a role."""
        config = self.loaded.model.config
        if role == "copying" and copying.why_no_copying(self.loaded):
            return copying.why_no_copying(self.loaded)
        if role == "alignment" and config.kind != "encoder-decoder":
            return "the model has no cross-attention"
        if role == "alignment" and not config.has_generator:
            return "the model has no generator, so no output shows which source word it depends on"
        if role == "induction" and not config.n_decoder_layers:
            return "the model has no decoder"
        if role == "next" and not config.n_encoder_layers:
            return "a decoder does not see the next token"
        if role == "alignment":
            return "no output word lost 1 nat of log-probability without any one source word"
        return "no sentence has such tokens"


def analyze(
    loaded: LoadedModel,
    pairs: Sequence[tuple[str, str]],
    *,
    seed: int = 0,
    part_size: int = PART,
    on_progress: OnProgress | None = None,
) -> HeadReport:
    """What every head of a model does over some sentences, next to models with random weights.

    Args:
        loaded: the model.
        pairs: sources and targets; targets are only read by an encoder-decoder.
        seed, part_size: see `HeadAnalysis`.
        on_progress: called with the sentences done and in all; an exception ends the analysis.

    Raises:
        SentenceError: the model can read none of them.
    """
    sentences, n_left_out = prepare_all(loaded, pairs)
    analysis = HeadAnalysis(loaded, sentences, n_left_out, seed, part_size)
    parts = []
    for number in range(analysis.n_parts):
        parts.append(analysis.part(number))
        if on_progress is not None:
            on_progress(min((number + 1) * part_size, len(sentences)), len(sentences))
    return analysis.report(parts)


def _joined(parts: Sequence[Mapping[str, Tensor]], place: int, attention: Attention) -> Sums:
    prefix = f"{place}.{attention}."
    return Sums.joined([Sums.of(part, prefix) for part in parts if f"{prefix}rows" in part])


def _role_score(score: Score, twin: Score, head: int, examples: Sequence[object]) -> RoleScore:
    numbers = {
        name: _rounded(float(getattr(score, name)[head])) for name in ("score", "low", "high", "beyond")
    }
    return RoleScore(
        **numbers,
        twin=_rounded(float(twin.score[head])),
        detail=int(score.detail[head]),
        n=score.n,
        examples=tuple(examples),  # type: ignore[arg-type]
    )


def _plain(values: Tensor) -> tuple[float, ...]:
    return tuple(map(_rounded, values.tolist()))


def _rounded(value: float) -> float:
    return round(value, DIGITS)
