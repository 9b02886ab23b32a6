"""Runs a sentence through a model: text to ids, ids to all recorded tensors, tensors to text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.decoding.beam_tree import BeamTree, beam_tree
from transformer.decoding.greedy import (
    DecodingStep,
    decoding_step,
    greedy,
    next_token_probabilities,
)
from transformer.decoding.request import Ending, Target
from transformer.decoding.sampling import sample
from transformer.loaded import GenerationSettings, LoadedModel
from transformer.model.trace import Trace
from transformer.model_input import (
    Beginning,
    Input,
    beginning,
    decoding_request,
    encode_continuation,
    encoder_input,
    padded,
)
from transformer.model_input import encode_sentence as encode_sentence  # re-exported
from transformer.text.coder import EncodedSentence
from transformer.text.words import clean
from transformer.tracing import trace_inputs

OnStep = Callable[[DecodingStep, int], None]
"""Called with each generated step and the largest possible number of steps."""


@dataclass(frozen=True)
class Run:
    """One sentence run through one model, with every recorded tensor.

    Attributes:
        source: the typed source or, without an encoder, the prompt.
        target: the tokens that follow the decoder's first; empty without a decoder.
        generated: whether the model chose the steps' tokens; otherwise they were given (teacher forcing).
        ending: why the target ended; None for a given target without an end, and without a decoder.
        steps: for a decoder, the next token and the best k after its first tokens and after each target
            token. For a masked language model, which has no decoder, the best tokens at each masked position
            or, without masks, the actual token at each position. Empty without a generator.
        translation: the output as text: the target, the prompt with its continuation, or the sentence with
            its masks filled.
        encoder_input: the encoder's input; None without an encoder.
        decoder_input: the decoder's input, including a prompt; None without a decoder.
        trace: trace of the forward pass over all of it, as a batch of one, on the CPU.
    """

    source: EncodedSentence
    target: EncodedSentence
    generated: bool
    ending: Ending | None
    steps: tuple[DecodingStep, ...]
    translation: str
    encoder_input: Input | None
    decoder_input: Input | None
    trace: Trace

    @property
    def finished(self) -> bool:
        """True if the target ended with an end token."""
        return self.ending == "end"

    @property
    def target_ids(self) -> tuple[int, ...]:
        """The decoder's input: T ids, beginning with <bos> or the prompt."""
        return () if self.decoder_input is None else self.decoder_input.ids

    @property
    def has_numbers(self) -> bool:
        """True if the probabilities are finite at every step; broken weights give NaN."""
        return all(math.isfinite(step.probability) for step in self.steps)

    @property
    def target_logits(self) -> Tensor:
        """Logits (target tokens + 1, V); row i is the one that target token i is chosen from."""
        return self.trace["logits"][0, len(self.target_ids) - len(self.target.ids) - 1 :]


def run_sentence(
    loaded: LoadedModel, text: str, target: str = "", *, top_k: int = 5, on_step: OnStep | None = None
) -> Run:
    """Run one sentence, and generate its target greedily unless one is given.

    Args:
        text: the typed source sentence or prompt.
        target: the typed target sentence or continuation; if blank, the model generates it, if it can. Not
            used without a decoder.
        top_k: number of best next tokens recorded at each step.
        on_step: called after each generated token; see `OnStep`.

    Raises:
        SentenceError: for a sentence without words, or with more tokens than the model has positions.
    """
    source = encode_sentence(loaded, "source", text, "sentence")
    if loaded.model.config.kind == "encoder-only":
        return read(loaded, source, top_k=top_k)
    if not clean(target).strip():
        if not loaded.model.config.has_generator:
            return force(loaded, source, loaded.target.describe_ids([]))
        return generate(loaded, source, top_k=top_k, on_step=on_step)
    if loaded.model.config.kind == "decoder-only":
        given = encode_continuation(loaded, source, text, target)
        return force(loaded, source, given, top_k=top_k, ends=False)
    given = encode_sentence(loaded, "target", target, "target sentence")
    return force(loaded, source, given, top_k=top_k)


def generate(
    loaded: LoadedModel,
    source: EncodedSentence,
    *,
    top_k: int = 5,
    on_step: OnStep | None = None,
    begin: Beginning | None = None,
) -> Run:
    """Generate a source's target greedily, and run both.

    Args:
        loaded: a model with a decoder and a generator.
        source: the source, or the prompt.
        top_k: number of best next tokens recorded at each step.
        on_step: called after each generated token; see `OnStep`.
        begin: start of the decoding, if not `beginning(loaded, source)`.
    """
    begin = begin or beginning(loaded, source)
    steps = []
    request = decoding_request(loaded, begin.decoder.ids, begin.limit, sources=begin.source_ids)
    for step in greedy(loaded.model, _source_ids(loaded, begin), request, top_k=top_k):
        steps.append(step)
        if on_step is not None:
            on_step(step, begin.limit)
    ending = steps[-1].ending
    chosen = [step.token_id for step in steps]
    target = loaded.target.describe_ids(chosen[:-1])
    whole = begin.decoder.followed_by(target)
    return Run(
        source=source,
        target=target,
        generated=True,
        ending=ending,
        steps=tuple(steps),
        translation=loaded.target.decode(
            (*begin.decoder.sentence.ids, *(chosen[:-1] if ending == "end" else chosen))
        ),
        encoder_input=begin.encoder,
        decoder_input=whole,
        trace=trace_inputs(loaded, begin.sources, [whole]),
    )


def read(loaded: LoadedModel, source: EncodedSentence, *, top_k: int = 5, whole: Input | None = None) -> Run:
    """Run a sentence in a model without a decoder.

    Args:
        loaded: the model.
        source: the sentence.
        top_k: number of best tokens recorded at each position.
        whole: the encoder's input, if not `encoder_input(source)`.
    """
    whole = whole or encoder_input(loaded, source)
    trace = trace_inputs(loaded, [whole], [])
    steps: tuple[DecodingStep, ...] = ()
    filled, has_masks = list(source.ids), False
    if loaded.model.config.has_generator:
        special_tokens = loaded.source.special_tokens
        probabilities = next_token_probabilities(trace["logits"][0], special_tokens.suppressed)  # (S, V)
        masks = [place for place, token in enumerate(source.ids) if token == special_tokens.mask]
        has_masks = bool(masks)
        for place in masks:
            filled[place] = int(probabilities[whole.first + place].argmax())
        steps = tuple(
            decoding_step(whole.first + place, filled[place], probabilities[whole.first + place], top_k)
            for place in masks or range(len(filled))
        )
    return Run(
        source=source,
        target=loaded.source.describe_ids([]),
        generated=has_masks,
        ending=None,
        steps=steps,
        translation=loaded.source.decode(filled),
        encoder_input=whole,
        decoder_input=None,
        trace=trace,
    )


def force(
    loaded: LoadedModel,
    source: EncodedSentence,
    target: EncodedSentence,
    *,
    top_k: int = 5,
    ends: bool = True,
    begin: Beginning | None = None,
) -> Run:
    """Run a source with a given target (teacher forcing), encoded from text or described from ids.

    Every step's "chosen" token is the given one.

    Args:
        loaded: a model with a decoder.
        source: the source, or the prompt.
        target: the tokens that follow the decoder's first.
        top_k: number of best next tokens recorded at each step.
        ends: whether the target ends after the last token; the last step is then the first of the model's
            `end_ids`, if it has any. If the target has one token more than there are positions, as a
            generated one may, its last token is in the last step but not read.
        begin: start of the decoding, if not `beginning(loaded, source)`.
    """
    begin = begin or beginning(loaded, source)
    is_cut = len(begin.decoder.ids) + len(target.ids) == loaded.model.config.max_len + 1
    fed = loaded.target.describe_ids(target.ids[:-1]) if is_cut else target
    whole = begin.decoder.followed_by(fed)
    trace = trace_inputs(loaded, begin.sources, [whole])
    steps = []
    if loaded.model.config.has_generator:
        rows = trace["logits"][0, len(begin.decoder.ids) - 1 :]
        probabilities = next_token_probabilities(rows, loaded.target.special_tokens.suppressed)  # (T, V)
        labels = (*target.ids, *loaded.end_ids[: int(ends and not is_cut)])
        steps = [decoding_step(i, label, probabilities[i], top_k) for i, label in enumerate(labels)]
    return Run(
        source=source,
        target=fed,
        generated=False,
        ending="end" if ends and not is_cut else None,
        steps=tuple(steps),
        translation=loaded.target.decode((*begin.decoder.sentence.ids, *target.ids)),
        encoder_input=begin.encoder,
        decoder_input=whole,
        trace=trace,
    )


def run_again(loaded: LoadedModel, run: Run, *, top_k: int = 5) -> Run:
    """Run the same source and target in another model of the same kind with the same coders."""
    if run.decoder_input is None:
        return read(loaded, run.source, top_k=top_k)
    return force(loaded, run.source, run.target, top_k=top_k, ends=run.finished)


def search(
    loaded: LoadedModel,
    source: EncodedSentence,
    *,
    beam_size: int,
    alpha: float,
    prefix: Sequence[int] = (),
    settings: GenerationSettings | None = None,
    no_repeat: int | None = None,
) -> BeamTree:
    """Search for the best `beam_size` targets of a source or prompt; the tree records every step.

    Args:
        beam_size: number of hypotheses followed at each step.
        alpha: exponent of the length penalty.
        prefix: ids that targets begin with, fewer than the limit of `beginning`.
        settings: decoding settings to apply, such as the model's own: see `decoding_request`.
        no_repeat: size of n-grams that must not repeat, if there are no settings: see `decoding_request`.
    """
    begin = beginning(loaded, source)
    request = decoding_request(
        loaded, begin.decoder.ids, begin.limit, prefix, settings, no_repeat, begin.source_ids
    )
    return beam_tree(loaded.model, _source_ids(loaded, begin), request, beam_size=beam_size, alpha=alpha)


def draw_target(
    loaded: LoadedModel,
    source: EncodedSentence,
    *,
    seed: int,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    prefix: Sequence[int] = (),
) -> Target:
    """Sample a target for a source; it includes the prefix.

    The same seed gives the same target, and n-grams may repeat. Other arguments as in
    `transformer.decoding.sampling.sample`.
    """
    begin = beginning(loaded, source)
    (target,) = sample(
        loaded.model,
        _source_ids(loaded, begin),
        decoding_request(loaded, begin.decoder.ids, begin.limit, prefix, no_repeat=0),
        generator=torch.Generator().manual_seed(seed),
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
    )
    return target


def _source_ids(loaded: LoadedModel, begin: Beginning) -> Tensor | None:
    return padded(loaded, [begin.encoder.ids]) if begin.encoder else None
