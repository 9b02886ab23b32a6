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
        rival: the question's rival there; None without one.
        difference: logit of the token minus that of the rival; None without one.
    """

    layer: int | None
    sublayer: str
    step: DecodingStep
    rival: DecodingStep | None
    difference: float | None


@torch.inference_mode()
def logit_lens(loaded: LoadedModel, run: Run, question: Question, *, top_k: int = 5) -> list[LensRow]:
    """Read the residual stream after each sublayer as if it were the last.

    It goes through the final norm, if any, and the generator (nostalgebraist 2020, "interpreting GPT: the
    logit lens"). The last row is the model's own output.

    Args:
        loaded: a model with a generator.
        run: its run.
        question: the word whose first token is followed, next to its rival if there is one.
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
    logits = model.propose(layers.finish(stream.to(model.generator.weight.device), NO_TAP))[:, 0].cpu()
    probabilities = next_token_probabilities(logits, suppressed_ids(loaded, run))
    rows = []
    for one, own, here in zip(points, logits.double(), probabilities, strict=True):
        layer = None if one.name == "resid_pre" else one.layer
        rival, difference = None, None
        if question.rival_id is not None:
            rival = decoding_step(row, question.rival_id, here, top_k)
            difference = float(own[token] - own[question.rival_id])
        step = decoding_step(row, token, here, top_k)
        rows.append(LensRow(layer, POINTS[one.name], step, rival, difference))
    return rows


@dataclass(frozen=True)
class DecoderLensRow:
    """What the decoder makes of one layer of the encoder.

    Attributes:
        layer: of the encoder; None for its input, the embeddings.
        text: what the decoder would write (greedily).
        log_probability: of the run's own target with its end, in nats.
        answer: the question's answer, while the decoder reads the run's own target.
    """

    layer: int | None
    text: str
    log_probability: float
    answer: float


def decoder_lens(
    loaded: LoadedModel, run: Run, question: Question, on_progress: OnProgress | None = None
) -> list[DecoderLensRow]:
    """Let the decoder read each layer of the encoder as if it were the last, through any final norm.

    DecoderLens (Langedijk et al. 2023, arXiv:2310.03686). The last row is the run's own.

    Args:
        loaded: a model that encodes, decodes and has a generator.
        run: its run.
        question: asked of each row.
        on_progress: as in `outcomes`.

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
    asked = [question, *word_questions(loaded, run)]
    answers = outcomes(loaded, run, variants, asked, on_progress)
    texts = _written(loaded, run, variants)
    return [
        DecoderLensRow(place, text, float(own[1:].sum()), float(own[0]))
        for place, text, own in zip([None, *range(n)], texts, answers, strict=True)
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
