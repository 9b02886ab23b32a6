"""How good a translation model is: whole files translated in batches; BLEU and chrF."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from transformer.beam import beam_search
from transformer.checkpoints.folder import LoadedModel
from transformer.data import pad
from transformer.decoding import greedy_batch
from transformer.run import NO_WORDS, encode_sentence, target_limit
from transformer.text import BOS_ID, EOS_ID

BATCH_SIZE = 200


def translate_all(
    loaded: LoadedModel, sentences: Sequence[str], *, beam_size: int = 1, alpha: float = 1.0
) -> list[str]:
    """Translate typed sentences, in batches of similar length; the answer is in their order.

    Args:
        loaded: an encoder-decoder with its coders.
        sentences: as typed.
        beam_size: hypotheses that are followed at a time; 1 is greedy decoding.
        alpha: of the beam search's length penalty.

    Raises:
        SentenceError: for a sentence without words, or with more than the model has positions for.
    """
    device = loaded.model.generator.weight.device
    sources = [(*encode_sentence(loaded, loaded.source, text, "sentence").ids, EOS_ID) for text in sentences]
    order = sorted(range(len(sources)), key=lambda index: len(sources[index]))
    translated = [""] * len(sources)
    n_rows = max(1, BATCH_SIZE // beam_size)
    for start in range(0, len(order), n_rows):
        batch = order[start : start + n_rows]
        src = pad([sources[index] for index in batch]).to(device)
        for index, ids in zip(batch, _targets(loaded, src, beam_size, alpha), strict=True):
            translated[index] = loaded.target.decode(ids)
    return translated


def _targets(loaded: LoadedModel, src: Tensor, beam_size: int, alpha: float) -> list[Sequence[int]]:
    """The best target of each source (B, S)."""
    limit = target_limit(loaded, src.shape[1])
    if beam_size == 1:
        return list(
            greedy_batch(
                loaded.model, src, bos_id=BOS_ID, eos_id=EOS_ID, max_new_tokens=limit, never=NO_WORDS
            )
        )
    found = beam_search(
        loaded.model,
        src,
        bos_id=BOS_ID,
        eos_id=EOS_ID,
        max_new_tokens=limit,
        beam_size=beam_size,
        alpha=alpha,
        never=NO_WORDS,
    )
    return [best.ids for best, *_ in found]


def bleu_and_chrf(translated: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[float, float]:
    """Score translations against all their references, as sacrebleu does by default.

    BLEU: Papineni et al. 2002, with the tokenizer 13a and exponential smoothing; chrF: Popovic 2015, of
    character 6-grams, beta 2. Both are of the whole corpus, from 0 to 100.

    Args:
        translated: one a source.
        references: one or more a source.
    """
    import sacrebleu

    n_most = max(map(len, references))
    # a reference that comes twice counts once: so each source has equally many
    streams = [[own[min(i, len(own) - 1)] for own in references] for i in range(n_most)]
    bleu = sacrebleu.corpus_bleu(list(translated), streams)
    return bleu.score, sacrebleu.corpus_chrf(list(translated), streams).score
