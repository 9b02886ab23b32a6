"""Translates in batches, and scores translations with BLEU and chrF."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from transformer.decoding.beam import beam_search
from transformer.decoding.greedy import greedy_batch
from transformer.decoding.request import DecodingRequest, Target
from transformer.loaded import GenerationSettings, LoadedModel
from transformer.model_input import decoding_request, encode_sentence, padded, target_limit

BATCH_SIZE = 200


@dataclass(frozen=True)
class TranslationScores:
    """Corpus scores of translations against their references.

    Attributes:
        bleu: Papineni et al. 2002, 0 to 100.
        chrf: Popović 2015, 0 to 100.
        bleu_signature, chrf_signature: sacrebleu's settings (Post 2018); scores with the same signature are
            comparable.
        four_grams: number of 4-grams in the translations; without any, BLEU is 0 however good they are.
    """

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str
    four_grams: int


def translate_all(
    loaded: LoadedModel,
    sentences: Sequence[str],
    *,
    beam_size: int = 1,
    alpha: float = 1.0,
    settings: GenerationSettings | None = None,
    no_repeat: int | None = None,
) -> list[str]:
    """Translate typed sentences with an encoder-decoder, in order.

    Args:
        loaded: the model.
        sentences: the sentences as typed.
        beam_size: 1 for greedy decoding.
        alpha: exponent of the beam search's length penalty.
        settings: decoding settings, such as the model's own: see `decoding_request`.
        no_repeat: size of n-grams that must not repeat, if there are no settings: see `decoding_request`.

    Raises:
        SentenceError: for an empty sentence, or one with more tokens than the model has positions.
    """
    sources = [source_ids(loaded, text) for text in sentences]
    found = translate_ids(
        loaded, sources, beam_size=beam_size, alpha=alpha, settings=settings, no_repeat=no_repeat
    )
    translated = {index: loaded.target.decode(target.ids) for index, target in found}
    return [translated[index] for index in range(len(sources))]


def source_ids(loaded: LoadedModel, sentence: str, what: str = "sentence") -> tuple[int, ...]:
    """The ids that the model reads for a typed sentence.

    Raises:
        SentenceError: for an empty or too long sentence, which the message calls `what`.
    """
    return loaded.source.frame(encode_sentence(loaded, "source", sentence, what).ids)


def translate_ids(
    loaded: LoadedModel,
    sources: Sequence[Sequence[int]],
    *,
    beam_size: int = 1,
    alpha: float = 1.0,
    settings: GenerationSettings | None = None,
    no_repeat: int | None = None,
) -> Iterator[tuple[int, Target]]:
    """Translate sources in batches of similar length, shortest first; yield each index and target.

    Args:
        sources: ids from `source_ids`.
        loaded, beam_size, alpha, settings, no_repeat: as in `translate_all`.
    """
    order = sorted(range(len(sources)), key=lambda index: len(sources[index]))
    n_rows = max(1, BATCH_SIZE // beam_size)
    for start in range(0, len(order), n_rows):
        batch = order[start : start + n_rows]
        ids = [sources[index] for index in batch]
        limits = [target_limit(loaded, len(one)) for one in ids]
        request = decoding_request(
            loaded, loaded.start_ids, limits, settings=settings, no_repeat=no_repeat, sources=ids
        )
        yield from zip(batch, _targets(loaded, ids, request, beam_size, alpha), strict=True)


def _targets(
    loaded: LoadedModel,
    sources: Sequence[Sequence[int]],
    request: DecodingRequest,
    beam_size: int,
    alpha: float,
) -> list[Target]:
    """The best target of each source, which does not depend on the other sources in the batch."""
    src = padded(loaded, sources)
    if beam_size == 1:
        return greedy_batch(loaded.model, src, request)
    found = beam_search(loaded.model, src, request, beam_size=beam_size, alpha=alpha)
    return [Target(best.ids, best.ending) for best, *_ in found]


def score(translated: Sequence[str], references: Sequence[Sequence[str]]) -> TranslationScores:
    """Score translations against all their references with sacrebleu's defaults.

    Args:
        translated: one translation per source, at least one in all.
        references: one or more per source.
    """
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    n_most = max(map(len, references))
    none: Any = None  # sacrebleu allows it, but its types do not
    streams = [[own[i] if i < len(own) else none for own in references] for i in range(n_most)]
    bleu, chrf = BLEU(), CHRF()
    found = bleu.corpus_score(translated, streams)
    return TranslationScores(
        bleu=found.score,
        chrf=chrf.corpus_score(translated, streams).score,
        bleu_signature=str(bleu.get_signature()),
        chrf_signature=str(chrf.get_signature()),
        four_grams=found.totals[-1],
    )


def sentence_chrf(translated: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    """The chrF of each translation against its nearest reference."""
    from sacrebleu.metrics.chrf import CHRF

    chrf = CHRF()
    return [chrf.sentence_score(*pair).score for pair in zip(translated, references, strict=True)]
