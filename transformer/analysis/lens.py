"""Lenses: what the model would write if it stopped at an earlier layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from transformer.analysis.interventions.edited_model import edited_model
from transformer.analysis.interventions.edits import held
from transformer.analysis.interventions.outcomes import OnProgress, Variant, by_row, outcomes
from transformer.analysis.interventions.questions import Question, suppressed_ids, word_questions
from transformer.analysis.residual import POINTS
from transformer.decoding.greedy import DecodingStep, decoding_step, greedy_batch, next_token_probabilities
from transformer.loaded import LoadedModel
from transformer.model.trace import NO_TAP, Stack
from transformer.model_input import beginning, decoding_request, padded
from transformer.run import Run


class LensRow(NamedTuple):
    """What the stream says at one point.

    Attributes:
        layer: of the last sublayer that was added; None for the embeddings.
        sublayer: that sublayer in words, or "input".
        step: the chosen token there, and the best k.
    """

    layer: int | None
    sublayer: str
    step: DecodingStep


@torch.inference_mode()
def logit_lens(loaded: LoadedModel, run: Run, question: Question, *, top_k: int = 5) -> list[LensRow]:
    """Read the residual stream after each sublayer as if it were the last.

    It goes through the final norm, if any, and the generator (nostalgebraist 2020, "interpreting GPT: the
    logit lens"). The last row is the model's own output.

    Args:
        loaded: a model with a generator.
        run: its run.
        question: the word whose first token is followed.
        top_k: number of best tokens in each row.

    Raises:
        ValueError: the model has no generator.
    """
    model = loaded.model
    _check_generator(loaded)
    stack: Stack = "decoder" if run.decoder_input is not None else "encoder"
    layers = model.decoder if stack == "decoder" else model.encoder
    row, token = question.rows[0], question.ids[0]
    points = [one for one in run.trace.residual(stack) if one.name != "resid_pre" or one.layer == 0]
    stream = torch.cat([one.value[:, row] for one in points])[:, None]  # (points, 1, D)
    logits = model.propose(layers.finish(stream.to(model.generator.weight.device), NO_TAP))[:, 0]
    probabilities = next_token_probabilities(logits.cpu(), suppressed_ids(loaded, run))
    steps = [decoding_step(row, token, own, top_k) for own in probabilities]
    return [
        LensRow(None if one.name == "resid_pre" else one.layer, POINTS[one.name], step)
        for one, step in zip(points, steps, strict=True)
    ]


@dataclass(frozen=True)
class DecoderLensRow:
    """What the decoder makes of one layer of the encoder.

    Attributes:
        layer: of the encoder; None for its input, the embeddings.
        text: what the decoder would write (greedily).
        log_probability: of the run's own target with its end, in nats.
    """

    layer: int | None
    text: str
    log_probability: float


def decoder_lens(
    loaded: LoadedModel, run: Run, on_progress: OnProgress | None = None
) -> list[DecoderLensRow]:
    """Let the decoder read each layer of the encoder as if it were the last, through any final norm.

    DecoderLens (Langedijk et al. 2023, arXiv:2310.03686). The last row is the run's own.

    Raises:
        ValueError: the model is no encoder-decoder, or has no generator.
    """
    config = loaded.model.config
    if config.kind != "encoder-decoder":
        raise ValueError(f"This {config.kind} model has no decoder that reads an encoder.")
    _check_generator(loaded)
    n = config.n_encoder_layers
    paths = ["encoder.layers.0.resid_pre", *(f"encoder.layers.{layer}.resid_post" for layer in range(n))]
    last = f"encoder.layers.{n - 1}.resid_post"
    variants: list[Variant] = [{last: held(run.trace[path])} for path in paths]
    chances = outcomes(loaded, run, variants, word_questions(loaded, run), on_progress).sum(dim=1)
    texts = _written(loaded, run, variants)
    return [
        DecoderLensRow(place, text, float(chance))
        for place, text, chance in zip([None, *range(n)], texts, chances, strict=True)
    ]


@torch.inference_mode()
def _written(loaded: LoadedModel, run: Run, variants: Sequence[Variant]) -> list[str]:
    """What each variant writes, all decoded as one batch."""
    begin = beginning(loaded, run.source)
    ids = begin.source_ids * len(variants)
    request = decoding_request(loaded, begin.decoder.ids, begin.limit, sources=ids)
    model = edited_model(loaded, by_row(variants)).model
    return [loaded.target.decode(target.ids) for target in greedy_batch(model, padded(loaded, ids), request)]


def _check_generator(loaded: LoadedModel) -> None:
    if not loaded.model.config.has_generator:
        raise ValueError("This model has no generator, so its layers can't be read as words.")
