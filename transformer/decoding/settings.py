"""How the makers of a model decode with it, as they saved it beside its weights."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class GenerationSettings:
    """The settings that a model came with; without any, greedy decoding.

    What a target begins with, ends with, and never has in it, is not here: that holds for every decoding.

    Attributes:
        beam_size: hypotheses that are followed at a time; 1 is greedy decoding.
        length_penalty: the exponent of a hypothesis's length, by which its log-probability is divided: in
            `beam.length_penalty` the form "power".
        no_repeat_ngram_size, forced_end_id: as of `DecodingRequest`.
        not_applied: what else they say, as a user reads it ("repetition_penalty 1.2"), and Headlight leaves
            out.
    """

    beam_size: int = 1
    length_penalty: float = 1.0
    no_repeat_ngram_size: int = 0
    forced_end_id: int | None = None
    not_applied: tuple[str, ...] = ()

    @property
    def are_greedy(self) -> bool:
        """Whether they ask for nothing that greedy decoding is not."""
        return self.beam_size == 1 and not self.no_repeat_ngram_size and self.forced_end_id is None

    def __str__(self) -> str:
        """In words: 4 beams, log-probability / length^0.6, no 3 tokens twice."""
        words = ["greedy"]
        if self.beam_size > 1:
            words = [f"{self.beam_size} beams", f"log-probability / length^{self.length_penalty:g}"]
        if self.no_repeat_ngram_size:
            n = self.no_repeat_ngram_size
            words.append("no token twice" if n == 1 else f"no {n} tokens in a row twice")
        if self.forced_end_id is not None:
            words.append("an end forced at the limit")
        return ", ".join(words)


NO_SETTINGS = GenerationSettings()
"""Of a model that came without any."""
