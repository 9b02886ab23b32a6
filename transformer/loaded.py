"""A model in memory with its coders and settings, the basis of running, drawing and testing.

Independent of files: `transformer.checkpoints` opens and saves it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from transformer.experience import Experience
from transformer.model.transformer import Transformer
from transformer.text.coder import Coder
from transformer.text.vocabulary import BOS_ID, EOS_ID


@dataclass(frozen=True, kw_only=True)
class GenerationSettings:
    """A model's own decoding settings; the default is greedy decoding.

    Start ids, end ids and suppressed ids are not included: they apply to every decoding.

    Attributes:
        beam_size: number of hypotheses followed at once; 1 is greedy decoding.
        length_penalty: exponent of a hypothesis's length, which divides its log-probability: form "power" of
            `beam.length_penalty`.
        no_repeat_ngram_size: as in `DecodingRequest`; None if not set.
        forced_end_id: as in `DecodingRequest`.
        not_applied: other settings that Headlight ignores, as shown to users ("repetition_penalty 1.2").
    """

    beam_size: int = 1
    length_penalty: float = 1.0
    no_repeat_ngram_size: int | None = None
    forced_end_id: int | None = None
    not_applied: tuple[str, ...] = ()

    @property
    def are_greedy(self) -> bool:
        """True if the settings amount to plain greedy decoding."""
        return self.beam_size == 1 and not self.no_repeat_ngram_size and self.forced_end_id is None

    def __str__(self) -> str:
        """In words: "4 beams, log-probability / length^0.6, no 3 tokens in a row twice"."""
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
"""The settings of a model without any of its own."""


@dataclass(frozen=True, repr=False)
class LoadedModel:
    """A model with its coders, settings and statistics.

    Attributes:
        name: the name shown to users.
        model: the model in eval mode, with frozen parameters.
        source: the coder of the encoder's side; without an encoder, the same as `target`.
        target: the coder of the decoder's side; without a decoder, the same as `source`.
        card: its model card in Markdown.
        start_ids: ids that a target begins with in a model with an encoder.
        end_ids: ids that end a target; given targets end with the first.
        settings: its authors' decoding settings.
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

    def with_weights(self, model: Transformer, name: str | None = None) -> LoadedModel:
        """The same coders and settings with other weights, to which the calibrations don't apply."""
        seen = self.experience and replace(self.experience, calibrations=None)
        return replace(self, model=model, name=name or self.name, experience=seen)

    def __repr__(self) -> str:
        config = self.model.config
        layers = " + ".join(str(n) for n in (config.n_encoder_layers, config.n_decoder_layers) if n)
        return (
            f"<{type(self).__name__} {self.name!r}: {config.kind}, {layers} layers, {config.n_heads} heads, "
            f"d_model {config.d_model}>"
        )


def freeze(model: Transformer) -> Transformer:
    """Set eval mode and turn gradients off, as required for a model shared by many users."""
    return model.eval().requires_grad_(False)
