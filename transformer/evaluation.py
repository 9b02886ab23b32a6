"""How good a translation model is: BLEU, chrF, exact matches, attention that follows alignments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.beam import beam_search
from transformer.checkpoints.folder import LoadedModel
from transformer.data import encode_pair, make_batch, pad
from transformer.decoding import greedy_batch
from transformer.run import NO_WORDS, encode_sentence, target_limit
from transformer.tasks import SentencePair
from transformer.text import BOS_ID, EOS_ID, Coder, SentenceCoder, TextError, Vocabulary
from transformer.trace import Recorder

BATCH_SIZE = 200
LONGEST_TRANSLATION = 60


@dataclass(frozen=True)
class Translation:
    """A pair and what the model made of its source, as words."""

    pair: SentencePair
    words: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """Whether every word is the expected one."""
        return self.words == self.pair.target


@dataclass(frozen=True)
class HeadAlignment:
    """How often a cross-attention head looks at a word that the one it helps to choose comes from.

    Attributes:
        layer, head: of the decoder, from 0.
        accuracy: the share of target words at which the source word with the head's largest weight is one of
            those that the gold alignment gives. Counted at the query that predicts the word, the one before.
    """

    layer: int
    head: int
    accuracy: float


def translations(loaded: LoadedModel, pairs: Sequence[SentencePair]) -> Iterator[Translation]:
    """Translate sources greedily, in batches, in their order."""
    device = loaded.model.generator.weight.device
    source = word_vocabulary(loaded.source)
    for start in range(0, len(pairs), BATCH_SIZE):
        batch = pairs[start : start + BATCH_SIZE]
        src = pad([(*source.encode(pair.source), EOS_ID) for pair in batch]).to(device)
        decoded = greedy_batch(
            loaded.model,
            src,
            bos_id=BOS_ID,
            eos_id=EOS_ID,
            max_new_tokens=LONGEST_TRANSLATION,
            never=NO_WORDS,
        )
        for pair, ids in zip(batch, decoded, strict=True):
            yield Translation(pair, tuple(map(loaded.target.token, ids)))


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


@torch.inference_mode()
def head_alignments(loaded: LoadedModel, pairs: Sequence[SentencePair]) -> list[HeadAlignment]:
    """Compare every cross-attention head with the gold alignments, the best head first."""
    device = loaded.model.generator.weight.device
    config = loaded.model.config
    source, target = word_vocabulary(loaded.source), word_vocabulary(loaded.target)
    hits = torch.zeros(config.n_decoder_layers, config.n_heads, dtype=torch.long)
    words = 0
    for start in range(0, len(pairs), BATCH_SIZE):
        batch = pairs[start : start + BATCH_SIZE]
        examples = [encode_pair(pair, source, target) for pair in batch]
        padded = make_batch(examples).to(device)
        recorder = Recorder(keep=lambda path: path.endswith("cross_attn.weights"))
        loaded.model(padded.src, padded.tgt, tap=recorder)
        gold = torch.zeros(
            len(batch), padded.tgt.shape[1], padded.src.shape[1], dtype=torch.bool
        )  # (B, Q, K)
        for b, pair in enumerate(batch):
            for i, j in pair.alignment:
                gold[b, j, i] = True  # query j, <bos> being 0, predicts target word j
        words += int(gold.any(dim=-1).sum())
        for layer in range(config.n_decoder_layers):
            weights = recorder.records[f"decoder.layers.{layer}.cross_attn.weights"].cpu()  # (B, H, Q, K)
            looked_at = weights.argmax(dim=-1, keepdim=True)  # (B, H, Q, 1)
            right = gold[:, None].expand_as(weights).gather(-1, looked_at)
            hits[layer] += right.sum(dim=(0, 2, 3))
    found = [
        HeadAlignment(layer, head, hits[layer, head].item() / words)
        for layer in range(config.n_decoder_layers)
        for head in range(config.n_heads)
    ]
    return sorted(found, key=lambda alignment: -alignment.accuracy)


def word_vocabulary(coder: Coder) -> Vocabulary:
    """The vocabulary of a model that reads whole words, as those of the built-in tasks do.

    Raises:
        TextError: for a coder of sub-words.
    """
    if not isinstance(coder, SentenceCoder):
        raise TextError(
            "The sentences of a built-in task are whole words: evaluate a model that reads those."
        )
    return coder.vocabulary
