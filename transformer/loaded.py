"""A model in memory with its coders and settings. Running, drawing and testing stand on it.

It knows nothing of files: `transformer.checkpoints` opens and saves it.
"""

from __future__ import annotations

from dataclasses import dataclass

from transformer.experience import Experience
from transformer.model.transformer import Transformer
from transformer.text.coder import Coder
from transformer.text.vocabulary import BOS_ID, EOS_ID


@dataclass(frozen=True, kw_only=True)
class GenerationSettings:
    """The settings that a model came with; without any, greedy decoding.

    What a target begins with, ends with, and never has in it, is not here: that holds for every decoding.

    Attributes:
        beam_size: hypotheses that are followed at a time; 1 is greedy decoding.
        length_penalty: the exponent of a hypothesis's length, by which its log-probability is divided: in
            `beam.length_penalty` the form "power".
        no_repeat_ngram_size: as of `DecodingRequest`; None where they say nothing of it.
        forced_end_id: as of `DecodingRequest`.
        not_applied: what else they say, as a user reads it ("repetition_penalty 1.2"), and Headlight leaves
            out.
    """

    beam_size: int = 1
    length_penalty: float = 1.0
    no_repeat_ngram_size: int | None = None
    forced_end_id: int | None = None
    not_applied: tuple[str, ...] = ()

    @property
    def are_greedy(self) -> bool:
        """True if they amount to plain greedy decoding."""
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
"""The settings of a model that came without any."""


@dataclass(frozen=True, repr=False)
class LoadedModel:
    """A model with its coders, settings and statistics.

    Attributes:
        name: as shown to people.
        model: in eval mode, its parameters frozen.
        source: the coder of the encoder's side; without an encoder the same as `target`.
        target: the coder of the decoder's side; without a decoder the same as `source`.
        card: the text of its model card, Markdown.
        start_ids: what a decoder that has a source begins its target with.
        end_ids: the ids that end a target; the first is the one that a given target ends with.
        settings: its makers' decoding settings.
        experience: statistics of its training data; None if unknown.
    """

    name: str
    model: Transformer
    source: Coder
    target: Coder
    card: str = ""
    start_ids: tuple[int, ...] = (BOS_ID,)
    end_ids: tuple[int, ...] = (EOS_ID,)
    settings: GenerationSettings = NO_SETTINGS
    experience: Experience | None = None

    def __repr__(self) -> str:
        config = self.model.config
        layers = " + ".join(str(n) for n in (config.n_encoder_layers, config.n_decoder_layers) if n)
        return (
            f"<{type(self).__name__} {self.name!r}: {config.kind}, {layers} layers, {config.n_heads} heads, "
            f"d_model {config.d_model}>"
        )


def freeze(model: Transformer) -> Transformer:
    """Set eval mode and turn gradients off, as a model shared by many users needs."""
    return model.eval().requires_grad_(False)
